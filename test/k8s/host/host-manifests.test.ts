/** What the manifests of a controller host guarantee: the rights of each account, the pod, and what is said if there cannot be any. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeEach, describe, expect, test } from "vitest"
import { hostMetrics } from "../../../src/cli/host/host-metrics.ts"
import { hostCommand } from "../../../src/cli/host.ts"
import hostAlerts from "../../../src/k8s/monitoring/host-alerts.json" with { type: "json" }
import { capturedTerminal } from "../../cli/captured-terminal.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { imageNeeded, type Printed, type PrintedObject, printed } from "../printed.ts"
import { clusterIdentity, rightsOf } from "../rights.ts"

const crd = fileURLToPath(new URL("../../../examples/host/simplepod-crd.yaml", import.meta.url))

let directory = ""
beforeEach(() => {
  directory = join(temporaryDirectory(), "modules")
  mkdirSync(directory)
})
const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(directory, name), content)
const print = (...words: ReadonlyArray<string>): Promise<Printed> => printed("--host", directory, "--offline", ...words)

/** What defineController returns is a plain record, so this needs no library. */
const script = (more = ""): string => `
export default (env) => ({
  name: "pods", for: { kind: "v1.Pod", namespace: env.NAMESPACE }, owns: [], watches: [], reads: [], indexes: [],
  writes: [{ kind: "v1.Pod", verbs: ["patch"], namespace: env.NAMESPACE }], concurrency: 1, reconcile: () => undefined, ${more}
})
`
const guest = (name: string, ...lines: ReadonlyArray<string>): void => {
  write(`${name}.wasm`, Buffer.from([0, 97, 115, 109, 1, 0, 0, 0]))
  write(`${name}.yaml`, [`name: ${name}`, "abi: rust_v1alpha1", ...lines, ""].join("\n"))
}
const account = (namespace: string, name: string): string =>
  `serviceAccount: { namespace: ${namespace}, name: ${name} }`

/** `Role/NAMESPACE` or `ClusterRole`, with the rights that an account has by it. */
const granted = ({ objects }: Printed, namespace: string, name: string): Readonly<Record<string, unknown>> => {
  const isBound = ({ kind, subjects }: PrintedObject): boolean =>
    kind.endsWith("Binding") &&
    JSON.stringify(subjects) === JSON.stringify([{ kind: "ServiceAccount", name, namespace }])
  return Object.fromEntries(
    objects.filter(isBound).map(({ roleRef, metadata }) => {
      const role = objects.find(
        (each) =>
          each.kind === roleRef.kind &&
          each.metadata.name === roleRef.name &&
          each.metadata.namespace === metadata.namespace,
      )
      const place = metadata.namespace === undefined ? roleRef.kind : `${roleRef.kind}/${metadata.namespace}`
      return [place, role && rightsOf(role)]
    }),
  )
}

describe("webhooks", () => {
  const asking = `validate: () => "no", convert: ({ object }) => object, for: { kind: "slinky.dev/v1.SimplePod", namespace: "shop" },`

  test("have a Service, a Secret that the host may fill, a port in the policy, and rights by name", async () => {
    write("pods.js", script(asking))
    write("pods.yaml", `name: pods\n${account("shop", "pods")}\n`)
    const found = await print("--crd", crd, "--name", "rules", "--namespace", "hosts")
    const of = (kind: string): PrintedObject => found.objects.find((each) => each.kind === kind) as PrintedObject
    expect(of("Service")).toMatchObject({
      metadata: { name: "rules", namespace: "hosts" },
      spec: {
        ports: [{ port: 9443, targetPort: 9443 }],
        selector: { "app.kubernetes.io/instance": "rules" },
        // A webhook that cannot be registered must not take the others with it.
        publishNotReadyAddresses: true,
      },
    })
    expect(of("Secret")).toMatchObject({ metadata: { name: "rules-webhooks", namespace: "hosts" } })
    expect(of("Secret")).not.toHaveProperty("data")
    expect(JSON.stringify(of("Deployment"))).toContain("--webhook-address=rules.hosts.svc:9443")
    expect(of("NetworkPolicy")).toMatchObject({ spec: { ingress: [{ ports: [{ protocol: "TCP", port: 9443 }] }] } })
    const { ClusterRole: cluster, "Role/hosts": own } = granted(found, "hosts", "rules")
    const configurations = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    expect(own).toEqual(["get,update /secrets rules-webhooks"])
    expect(cluster).toEqual(
      expect.arrayContaining([
        "patch apiextensions.k8s.io/customresourcedefinitions simplepods.slinky.dev",
        ...configurations.map((plural) => `create,patch,delete admissionregistration.k8s.io/${plural} rules-pods`),
      ]),
    )
    expect(JSON.stringify(granted(found, "shop", "pods"))).not.toMatch(/webhook|secrets|customresource/)
  })

  test("leave no trace where no script has any", async () => {
    write("pods.js", script())
    write("pods.yaml", "name: pods\n")
    const { objects } = await print()
    expect(objects.map(({ kind }) => kind)).not.toContain("Service")
    expect(JSON.stringify(objects)).not.toContain("webhook")
  })
})

describe("the rights", () => {
  test("of a module's account are what it needs, and those of the host what is done with it", async () => {
    write("pods.js", script())
    write("pods.yaml", `name: pods\n${account("shop", "pods")}\nenv: [{ name: NAMESPACE, value: shop }]\n`)
    guest(
      "keys",
      account("lab", "keys"),
      "permissions:",
      '  - { namespace: lab, apiGroups: [""], resources: [secrets, secrets/none], verbs: [get, list, watch] }',
      "  - { apiGroups: [apps], resources: [deployments], verbs: [get] }",
    )
    const output = await print()
    expect(output.error).toBe(imageNeeded("reel k8s --host"))
    expect(granted(output, "shop", "pods")).toEqual({
      "Role/shop": ["create,patch /events", "get,list,watch,patch /pods"],
    })
    expect(granted(output, "lab", "keys")).toEqual({
      ClusterRole: ["get apps/deployments"],
      "Role/lab": ["get,list,watch /secrets", "get,list,watch /secrets/none"],
    })
    expect(granted(output, "kubereel-host", "kubereel-host")).toEqual({
      ClusterRole: [clusterIdentity, "create authorization.k8s.io/subjectaccessreviews"],
      "Role/lab": ["list,watch /secrets", "create /serviceaccounts/token keys"],
      "Role/shop": ["list,watch /pods", "create /serviceaccounts/token pods"],
    })
    expect(JSON.stringify(output.objects)).not.toContain("impersonate")
    const accounts = output.objects.filter(({ kind }) => kind === "ServiceAccount")
    expect(accounts.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      "kubereel-host/kubereel-host",
      "lab/keys",
      "shop/pods",
    ])
    expect(accounts.every(({ automountServiceAccountToken }) => automountServiceAccountToken === false)).toBe(true)
  })

  test("of modules without an account are the host's, which then asks for no tokens and reviews nothing", async () => {
    write("pods.js", script())
    write("pods.yaml", "name: pods\npermissions: [{ apiGroups: [apps], resources: [deployments], verbs: [get] }]\n")
    const output = await print("--name", "second", "--namespace", "elsewhere")
    expect(granted(output, "elsewhere", "second")).toEqual({
      ClusterRole: ["create,patch /events", clusterIdentity, "get,list,watch,patch /pods", "get apps/deployments"],
    })
  })

  test("of modules of one namespace need no ClusterRole", async () => {
    write("pods.js", script())
    write("pods.yaml", "name: pods\nenv: [{ name: NAMESPACE, value: shop }]\n")
    const output = await print()
    expect(granted(output, "kubereel-host", "kubereel-host")).toEqual({
      "Role/shop": ["create,patch /events", "get,list,watch,patch /pods"],
    })
  })

  test("of an account that several modules share are those of all of them; an account default is left as it is", async () => {
    const needs = (resource: string) => [
      account("shop", "default"),
      `permissions: [{ apiGroups: [""], resources: [${resource}], verbs: [list, watch] }]`,
    ]
    guest("one", ...needs("pods"))
    guest("other", ...needs("services"))
    const output = await print()
    expect(granted(output, "shop", "default")).toEqual({ ClusterRole: ["list,watch /pods", "list,watch /services"] })
    expect(output.one("ServiceAccount").metadata.name).toBe("kubereel-host")
    expect(granted(output, "kubereel-host", "kubereel-host")).toMatchObject({
      "Role/shop": ["create /serviceaccounts/token default"],
    })
  })

  test("of a guest without permissions are not guessed", async () => {
    guest("odd", account("shop", "odd"))
    const output = await print()
    expect(output.code).toBe(3)
    expect(output.error).toMatch(/odd\.yaml has no permissions, so its module gets none/)
    expect(granted(output, "shop", "odd")).toEqual({})
    guest("odd", account("shop", "odd"), "permissions: []")
    expect(await print()).toMatchObject({ code: 0, error: imageNeeded("reel k8s --host") })
  })

  test("of kinds that only a definition knows are found with it", async () => {
    write("pods.js", script().replaceAll("v1.Pod", "slinky.dev/v1.SimplePod"))
    write("pods.yaml", "name: pods\n")
    const { code, error, text } = await print()
    expect({ code, text }).toEqual({ code: 1, text: "" })
    // Once, though it is watched and written.
    expect(error.match(/slinky\.dev\/v1\.SimplePod/g)).toHaveLength(2)
    expect(error).toContain("install it, or name its definition with --crd FILE")
    const output = await print("--crd", crd)
    expect(granted(output, "kubereel-host", "kubereel-host")).toEqual({
      ClusterRole: ["create,patch /events", clusterIdentity, "get,list,watch,patch slinky.dev/simplepods"],
    })
  })
})

describe("the pod", () => {
  const pod = async (...words: ReadonlyArray<string>) => (await print(...words)).one("Deployment").spec.template.spec

  beforeEach(() => {
    write("pods.js", script())
    write("pods.yaml", "name: pods\n")
  })

  test("is started with arguments that reel host accepts", async () => {
    write("pods.js", script("checkpoint: true"))
    for (const words of [[], ["--bind", "::", "--workers", "4"], ["--modules", "image"], ["--modules", "claim/code"]]) {
      const [name, ...rest] = (await pod(...words)).containers[0].args
      expect(name).toBe("host")
      const terminal = capturedTerminal()
      // Mistakes in the arguments would be found before the directory of modules, which only the image has, and end with 2.
      expect(
        await hostCommand(() => import("../../../src/cli/host-replay.ts")).run(
          [...rest, "--kubeconfig", "/nowhere"],
          terminal,
        ),
      ).toBe(1)
      expect(terminal.standardError.text()).toMatch(/cannot read the modules of \/\S+: ENOENT/)
    }
  })

  test("meets the restricted standard, and writes to nothing", async () => {
    const { securityContext, containers, volumes } = await pod()
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
    const writable = containers[0].volumeMounts.filter(({ readOnly = false }) => !readOnly)
    expect(writable).toEqual([])
    expect(volumes.map(({ name }: { readonly name: string }) => name)).toEqual(["modules"])
  })

  test("has what modules may take within its limits", async () => {
    const limits = async () => Number.parseInt((await pod()).containers[0].resources.limits.memory, 10)
    const before = await limits()
    guest("large", "permissions: []", "limits: { memory: 1Gi }")
    guest("usual", "permissions: []")
    expect((await limits()) - before).toBe(1024 + 256 + 4)
  })

  test("has the directory's modules, and what scripts import, as they are", async () => {
    guest("odd", "permissions: []")
    write("shared.ts", "export const shared = 1\n")
    write("pods.test.js", "")
    write("README.md", "")
    const output = await print()
    const maps = output.objects.filter(({ kind }) => kind === "ConfigMap")
    expect(maps.map(({ metadata, data, binaryData }) => [metadata.name, data, binaryData])).toEqual([
      [
        "kubereel-host-module-odd",
        { "odd.yaml": "name: odd\nabi: rust_v1alpha1\npermissions: []\n" },
        { "odd.wasm": "AGFzbQEAAAA=" },
      ],
      ["kubereel-host-module-pods", { "pods.js": script(), "pods.yaml": "name: pods\n" }, undefined],
      ["kubereel-host-imports", { "shared.ts": "export const shared = 1\n" }, undefined],
    ])
    const { volumes, containers } = output.one("Deployment").spec.template.spec
    expect(volumes[0].projected.sources).toEqual(maps.map(({ metadata: { name } }) => ({ configMap: { name } })))
    const [, moduleDirectory] = containers[0].args
    expect(containers[0].volumeMounts[0]).toEqual({ name: "modules", mountPath: moduleDirectory, readOnly: true })
  })

  test("may have them from its image, or from a claim", async () => {
    const inImage = await print("--modules", "image", "--image", "registry.example.com/controllers:3")
    expect(inImage.objects.map(({ kind }) => kind)).not.toContain("ConfigMap")
    const [container] = inImage.one("Deployment").spec.template.spec.containers
    expect(container).toMatchObject({ image: "registry.example.com/controllers:3" })
    expect(container.args[1]).toBe("/modules")
    expect((await pod("--modules", "claim/code")).volumes[0]).toEqual({
      name: "modules",
      persistentVolumeClaim: { claimName: "code", readOnly: true },
    })
  })

  test("keeps checkpoints on a claim, so that they outlive it; without a module that has one there is none", async () => {
    expect((await print()).objects.map(({ kind }) => kind)).not.toContain("PersistentVolumeClaim")
    write("pods.js", script("checkpoint: true"))
    guest("keys", "permissions: []", "checkpoint: true")
    const output = await print("--size", "2Gi", "--storage-class", "fast")
    expect({ code: output.code, error: output.error }).toEqual({ code: 0, error: imageNeeded("reel k8s --host") })
    expect(output.one("PersistentVolumeClaim")).toMatchObject({
      metadata: { name: "kubereel-host-state", namespace: "kubereel-host" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "fast",
        resources: { requests: { storage: "2Gi" } },
      },
    })
    const { containers, volumes } = output.one("Deployment").spec.template.spec
    expect(volumes.at(-1)).toEqual({ name: "state", persistentVolumeClaim: { claimName: "kubereel-host-state" } })
    const [, mountPath] = /^--state-directory=(.+)$/.exec(containers[0].args.at(-1)) ?? []
    expect(containers[0].volumeMounts.at(-1)).toEqual({ name: "state", mountPath })
  })

  test("may keep checkpoints on an emptyDir, and it is said what that loses", async () => {
    write("pods.yaml", "name: pods\ncheckpoint: true\n")
    const output = await print("--state", "empty-dir")
    expect(output.error).toContain("checkpoints of pods are lost with each pod")
    expect(output.objects.map(({ kind }) => kind)).not.toContain("PersistentVolumeClaim")
    expect(output.one("Deployment").spec.template.spec.volumes.at(-1)).toEqual({
      name: "state",
      emptyDir: { sizeLimit: "1Gi" },
    })
    expect((await print("--state", "nowhere")).error).toContain("must be claim or empty-dir")
  })

  test("can be reached by Prometheus only, and reaches the API server, unless scripts need more", async () => {
    const policy = async (...words: ReadonlyArray<string>) => (await print(...words)).one("NetworkPolicy").spec
    const ports = (...all: ReadonlyArray<number>) => all.map((port) => ({ protocol: "TCP", port }))
    expect(await policy()).toMatchObject({ ingress: [], egress: [{ ports: ports(443, 6443) }] })
    expect((await policy("--egress-port", "5432", "--api-server-port", "16443")).egress).toEqual([
      { ports: ports(16_443, 5432) },
      { ports: ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 })) },
    ])
    expect((await policy("--monitoring", "--monitoring-namespace", "watch")).ingress).toEqual([
      {
        from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "watch" } } }],
        ports: ports(7790),
      },
    ])
  })
})

describe("a directory that cannot run is refused, and nothing is printed:", () => {
  const refused = async (...words: ReadonlyArray<string>): Promise<string> => {
    const { code, text, error } = await print(...words)
    expect({ code, text }).toEqual({ code: 1, text: "" })
    return error
  }

  test("one with files that are no modules, with all of them named", async () => {
    write("nameless.yaml", "abi: rust_v1alpha1\n")
    write("nameless.js", script())
    write("broken.js", "export default 7")
    write("broken.yaml", "name: broken\n")
    guest("first", "permissions: []")
    write("second.js", script())
    write("second.yaml", "name: first\n")
    const error = await refused()
    expect(error).toMatch(/nameless\.yaml:1:1: .*name/)
    expect(error).toMatch(/broken\.js does not export by default what defineController/)
    expect(error).toMatch(/second\.yaml.*first\.yaml/)
  })

  test("an empty one, and none", async () => {
    expect(await refused()).toContain("has no modules")
    expect((await printed("--host", join(directory, "none"), "--offline")).error).toContain("ENOENT")
  })

  test("one with a module that no ConfigMap holds, which an image or a claim does", async () => {
    guest("large", "permissions: []")
    write("large.wasm", new Uint8Array(1024 * 1024))
    expect(await refused()).toMatch(/module large has 1\.0 MB, and a ConfigMap holds 1 MiB: .*--modules image/)
    expect((await print("--modules", "image")).code).toBe(0)
    write("large.wasm", new Uint8Array(300 * 1024))
    expect((await print()).error).toContain("apply it with kubectl apply --server-side")
  })

  test("a definition that is none", async () => {
    write("pods.js", script())
    write("pods.yaml", "name: pods\n")
    expect(await refused("--crd", join(directory, "pods.yaml"))).toContain(
      "pods.yaml has no CustomResourceDefinition with a served version",
    )
    expect(await refused("--crd", join(directory, "none.yaml"))).toContain("none.yaml cannot be read: ENOENT")
  })
})

test("options of the recorder are not those of a host", async () => {
  const { code, error } = await print("--volume-claim")
  expect(code).toBe(2)
  expect(error).toContain("reel k8s --host: unknown option --volume-claim")
  expect((await printed("--host")).error).toContain("--host needs a value")
  expect((await print("--modules", "nowhere")).error).toContain("must be config-maps, image or claim/NAME")
})

test("alerts and the dashboard are about metrics that a host has", async () => {
  const metrics = hostMetrics({ modules: [], workers: [], requests: [], scripts: [], hub: undefined, refused: 0 })
  const names = new Set(metrics.map(({ name }) => name))
  write("pods.js", script())
  write("pods.yaml", "name: pods\n")
  const { objects } = await print("--monitoring")
  const [text] = objects.flatMap(({ kind, data }) => (kind === "ConfigMap" ? (data["kubereel-host.json"] ?? []) : []))
  const panels: ReadonlyArray<{ readonly targets: typeof hostAlerts }> = JSON.parse(text).panels
  expect(panels.length).toBeGreaterThan(4)
  for (const { expr } of [...hostAlerts, ...panels.flatMap(({ targets }) => targets)]) {
    const used = expr.match(/kubereel_[a-z_]+/g) ?? []
    expect(
      used.filter((name) => !names.has(name)),
      expr,
    ).toEqual([])
    expect(used).not.toEqual([])
  }
})
