/** What the manifests guarantee about the pod, and what is printed if there cannot be any. */
import { appendFileSync } from "node:fs"
import { afterAll, describe, expect, test } from "vitest"
import { recordCommand } from "../../src/cli/record.ts"
import { capturedTerminal } from "../cli/captured-terminal.ts"
import { environmentOf, printed } from "./printed.ts"
import { ConfigurationFile, clusterIdentity, rightsOf } from "./rights.ts"

const configuration = new ConfigurationFile()
afterAll(() => configuration.close())

describe("the pod", () => {
  const pod = async (...words: ReadonlyArray<string>) =>
    (await printed("--offline", ...words)).one("Deployment").spec.template.spec

  test("is started with arguments that reel record accepts", async () => {
    for (const words of [
      [],
      ["--auth", "none"],
      ["--auth", "token", "--token-secret", "who/may"],
      ["--allow-target", "s3://traces/team-a", "--allow-target", "gs://traces/"],
      ["--volume-claim", "--fsync", "always", "--record-namespace", "a,b", "--secrets-in-plain-text", "--bind", "::"],
      ["--redact-key-secret", "who/key"],
      ["--retain-for", "30d,v1.Event=1d", "--retain-bytes", "v1.Event=1Gi"],
      ["--name", "one", "--lease", "shared"],
    ]) {
      const [command, ...rest] = (await pod(...words)).containers[0].args
      expect(command).toBe("record")
      const terminal = capturedTerminal()
      const code = await recordCommand(async () => async () => 0).run(rest, terminal)
      expect({ code, error: terminal.standardError.text() }).toEqual({ code: 0, error: "" })
    }
  })

  test("meets the restricted standard, and more", async () => {
    const { securityContext, containers } = await pod()
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
    expect(securityContext.runAsUser).toBeGreaterThan(0)
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
  })

  test("requests more memory for more kinds and objects, and its limit is above its request", async () => {
    const bytes = (quantity: string): number => Number(/^(\d+)Mi$/.exec(quantity)?.[1])
    const small = (await pod("-c", configuration.write("v1.ConfigMap: {}"), "--expected-objects", "100")).containers[0]
      .resources
    const large = (await pod("--expected-objects", "200000")).containers[0].resources
    // 271 MB, measured for three kinds.
    expect(small.requests.memory).toBe("272Mi")
    expect(bytes(large.requests.memory)).toBeGreaterThan(bytes(small.requests.memory) + 200)
    for (const { requests, limits } of [small, large])
      expect(bytes(limits.memory)).toBeGreaterThan(bytes(requests.memory) + 128)
    expect(small.limits).not.toHaveProperty("cpu")
  })

  test("never loses a recording in an emptyDir to a drain, and continues elsewhere with a claim", async () => {
    const without = await printed("--offline", "--size", "5Gi")
    expect(without.one("PodDisruptionBudget").spec.maxUnavailable).toBe(0)
    expect(without.one("Deployment").spec.template.spec.volumes[1]).toEqual({
      name: "recording",
      emptyDir: { sizeLimit: "5Gi" },
    })
    const requests = (output: Awaited<ReturnType<typeof printed>>) =>
      output.one("Deployment").spec.template.spec.containers[0].resources.requests
    // Reserved by the node, so that a full disk does not end it; no more, so that nodes with small disks fit.
    expect(requests(without)["ephemeral-storage"]).toBe("2Gi")
    expect(requests(await printed("--offline", "--size", "500Mi"))["ephemeral-storage"]).toBe("500Mi")
    const claimed = await printed("--offline", "--volume-claim", "--size", "5Gi", "--storage-class", "fast")
    expect(claimed.one("PodDisruptionBudget").spec.maxUnavailable).toBe(1)
    expect(requests(claimed)).not.toHaveProperty("ephemeral-storage")
    expect(claimed.one("PersistentVolumeClaim").spec).toEqual({
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "5Gi" } },
      storageClassName: "fast",
    })
  })

  test("keeps four fifths of its volume, unless told otherwise", async () => {
    const retention = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
      (await pod(...words)).containers[0].args.filter((word: string) => word.startsWith("--retain"))
    expect(await retention("--size", "5Gi")).toEqual(["--retain-bytes=4096Mi"])
    expect(await retention("--size", "70Mi")).toEqual([])
    expect(await retention("--retain-bytes", "none", "--retain-for", "30d")).toEqual(["--retain-for=30d"])
    expect(await retention("--retain-bytes", "2Gi,v1.Event=1Gi")).toEqual([
      "--retain-bytes=2Gi",
      "--retain-bytes=v1.Event=1Gi",
    ])
    expect(await retention("--retain-bytes", "v1.Event=1Gi")).toEqual([
      "--retain-bytes=8192Mi",
      "--retain-bytes=v1.Event=1Gi",
    ])
    const limited = configuration.write("v1.Pod: {}")
    appendFileSync(limited, "retainBytes: 3Gi\n")
    expect(await retention("-c", limited)).toEqual([])
  })

  test("is told the limit of its emptyDir, which only the kubelet knows otherwise", async () => {
    const environment = async (...words: ReadonlyArray<string>) =>
      environmentOf((await printed("--offline", ...words)).one("Deployment").spec.template.spec.containers[0])
    expect(await environment("--size", "5Gi")).toMatchObject({ KUBEREEL_VOLUME_BYTES: String(5 * 2 ** 30) })
    expect(await environment("--volume-claim")).not.toHaveProperty("KUBEREEL_VOLUME_BYTES")
  })

  test("gets the configuration as it was written", async () => {
    const file = configuration.write("v1.Pod: {}   # the lives of all", "v1.ConfigMap: {}")
    expect((await printed("--offline", "-c", file)).one("ConfigMap").data["tracer.yml"]).toBe(
      "trackedObjects:\n  v1.Pod: {}   # the lives of all\n  v1.ConfigMap: {}\n",
    )
  })
})

test("can be reached from the configured addresses", async () => {
  const { one } = await printed("--offline", "--auth", "none", "--allow-from", "10.0.0.0/24,2001:db8::/64")
  expect(one("NetworkPolicy").spec.ingress[0].from.slice(1)).toEqual([
    { ipBlock: { cidr: "10.0.0.0/24" } },
    { ipBlock: { cidr: "2001:db8::/64" } },
  ])
})

describe("with a Lease", () => {
  test("two recorders share its Service, which leads to the one that is ready, and nothing else", async () => {
    const [one, two] = await Promise.all(
      ["one", "two"].map((name) => printed("--offline", "--name", name, "--lease", "shared", "--volume-claim")),
    )
    const names = (given = one) => given?.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`) ?? []
    expect(names().filter((name) => names(two).includes(name))).toEqual(["Namespace kubereel", "Service shared"])
    const [service] = one?.named("Service", "shared") ?? []
    expect(two?.named("Service", "shared")).toEqual([service])
    for (const each of [one, two]) {
      const { labels } = each?.one("Deployment").spec.template.metadata ?? {}
      expect(labels).toMatchObject(service?.spec.selector)
      const [container] = each?.one("Deployment").spec.template.spec.containers ?? []
      expect(container.args).toContain("--lease=kubereel/shared")
      expect(container.readinessProbe.httpGet.path).toBe("/readyz")
      expect(container.livenessProbe.httpGet.path).toBe("/healthz")
    }
  })

  test("the account may hold that one, and users may export from whoever records", async () => {
    const { named } = await printed("--offline", "--lease", "shared")
    const roles = named("Role", "kubereel-lease")
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(["kubereel"])
    expect(roles.flatMap(rightsOf)).toEqual([
      "get,update coordination.k8s.io/leases shared",
      "create coordination.k8s.io/leases",
    ])
    expect(named("Role", "kubereel-export").flatMap(rightsOf)).toContain(
      "create,delete,get /services/proxy kubereel:http shared:http",
    )
    expect((await printed("--offline")).named("Role", "kubereel-lease")).toEqual([])
  })

  test("that has the recorder's own name, its Service would be in the way of the recorder's", async () => {
    expect(await printed("--offline", "--lease", "kubereel")).toMatchObject({
      code: 2,
      text: "",
      error: expect.stringContaining("--lease must not be the --name, kubereel"),
    })
  })
})

describe("unless --auth is none", () => {
  test("there is a Role for users who may export, bound to no one", async () => {
    const { named } = await printed("--offline")
    const roles = named("Role", "kubereel-export")
    expect(roles.flatMap(rightsOf)).toEqual([
      "create,get kubereel.dev/exports",
      "create,delete,get /services/proxy kubereel:http",
    ])
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(["kubereel"])
    expect(named("RoleBinding", "kubereel-export")).toEqual([])
    const pinners = named("ClusterRole", "kubereel-pins").map(({ rules }) => rules)
    expect(pinners).toEqual([[{ nonResourceURLs: ["/v1/pins"], verbs: ["create", "delete", "get"] }]])
    expect(named("ClusterRoleBinding", "kubereel-pins")).toEqual([])
  })

  test("anyone can connect, and Prometheus presents its token", async () => {
    const { one } = await printed("--offline", "--monitoring")
    expect(one("NetworkPolicy").spec.ingress).toEqual([{ ports: [{ protocol: "TCP", port: 7777 }] }])
    expect(one("ServiceMonitor").spec.endpoints[0].bearerTokenFile).toMatch(/token$/)
    expect(
      (await printed("--offline", "--auth", "none", "--monitoring")).one("ServiceMonitor").spec.endpoints[0],
    ).not.toHaveProperty("bearerTokenFile")
  })

  test("without it there are none of these objects", async () => {
    const { named } = await printed("--offline", "--auth", "none")
    expect([...named("Role", "kubereel-export"), ...named("ClusterRole", "kubereel-pins")]).toEqual([])
  })
})

describe("--auth token", () => {
  test("mounts the tokens of a Secret where the recorder reads them for each request", async () => {
    const { one } = await printed("--offline", "--auth", "token", "--name", "second")
    const { volumes, containers } = one("Deployment").spec.template.spec
    const [{ args, volumeMounts }] = containers
    const mounted = volumeMounts.find(({ name }: { name: string }) => name === "tokens")
    expect(args).toEqual(expect.arrayContaining(["--auth=token", `--token-file=${mounted.mountPath}/tokens`]))
    // A single mounted file (subPath) would never change.
    expect(mounted).toEqual({ name: "tokens", mountPath: expect.any(String), readOnly: true })
    expect(volumes.find(({ name }: { name: string }) => name === "tokens").secret).toEqual({
      secretName: "second-tokens",
      // 0440, of the pod's group.
      defaultMode: 288,
      items: [{ key: "tokens", path: "tokens" }],
    })
  })

  test("accepts another Secret, and gives Prometheus a token from it", async () => {
    const { one, objects } = await printed("--offline", "--auth", "token", "--token-secret", "who/may", "--monitoring")
    expect(one("Deployment").spec.template.spec.containers[0].args).toContain("--token-file=/etc/kubereel-tokens/may")
    expect(one("ServiceMonitor").spec.endpoints[0].authorization).toEqual({
      credentials: { name: "who", key: "metrics" },
    })
    // Tokens need no reviews, and the manifests contain none.
    expect(objects.map(({ kind }) => kind)).not.toContain("Secret")
    expect(JSON.stringify(one("ClusterRole").rules)).not.toContain("reviews")
    expect(objects.filter(({ kind }) => kind === "Role").map(({ metadata }) => metadata.name)).not.toContain(
      "kubereel-export",
    )
  })

  test.each([
    [["--token-secret", "who"], "--token-secret is for --auth token"],
    [["--auth", "token", "--token-secret", "Who/may"], "must be the name of a Secret"],
    [["--auth", "token", "--token-secret", "who/../may"], "must be the name of a Secret"],
    [["--auth", "token", "--token-secret", "who/.."], "must be the name of a Secret"],
  ])("refuses %j", async (words, reason) => {
    const { code, error, text } = await printed("--offline", ...words)
    expect({ code, text }).toEqual({ code: 2, text: "" })
    expect(error).toContain(reason)
  })
})

describe("--allow-target", () => {
  const places = ["--allow-target", "s3://traces/team-a", "--allow-target", "gs://traces/"]

  test("is passed to the recorder, and the network policy permits the connection", async () => {
    const { one } = await printed("--offline", ...places, "--target-port", "443,9000")
    expect(one("Deployment").spec.template.spec.containers[0].args).toEqual(
      expect.arrayContaining(["--allow-target=s3://traces/team-a", "--allow-target=gs://traces/"]),
    )
    expect(one("NetworkPolicy").spec.egress).toEqual([
      { ports: [443, 6443, 9000].map((port) => ({ protocol: "TCP", port })) },
      { ports: ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 })) },
    ])
    const without = (await printed("--offline")).one("NetworkPolicy").spec.egress
    expect(without).toEqual([{ ports: [443, 6443].map((port) => ({ protocol: "TCP", port })) }])
  })

  test("comes with the environment from a Secret", async () => {
    const [container] = (await printed("--offline", ...places, "--target-secret", "store")).one("Deployment").spec
      .template.spec.containers
    expect(container.envFrom).toEqual([{ secretRef: { name: "store" } }])
    const { code, error } = await printed("--offline", "--target-secret", "store")
    expect(code).toBe(2)
    expect(error).toContain("--target-secret is for the stores of --allow-target")
  })

  test.each(["s3:/traces", "ftp://traces", "/tmp", "s3://tra*"])("rejects %s", async (place) => {
    const { code, error } = await printed("--offline", "--allow-target", place)
    expect(code).toBe(2)
    expect(error).toContain(place)
  })
})

describe("another name and namespace", () => {
  test("apply to all objects", async () => {
    const { objects } = await printed(
      "--offline",
      "--name",
      "second",
      "-n",
      "elsewhere",
      "--monitoring",
      "--volume-claim",
    )
    expect(objects.filter(({ metadata }) => !metadata.name.startsWith("second")).map(({ kind }) => kind)).toEqual([
      "Namespace",
    ])
    expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set([undefined, "elsewhere"]))
  })
})

describe("unprintable manifests", () => {
  test("omit only a kind that is not built in, without a cluster, and the exit code says so", async () => {
    const file = configuration.write("example.com/v1.Widget: {}", "v1.ConfigMap: {}")
    const { code, error, named } = await printed("--offline", "-c", file)
    expect(code).toBe(3)
    expect(error).toContain(
      `"example.com/v1.Widget": example.com/v1.Widget is not built into Kubernetes 1.34. The roles have no rule for it`,
    )
    expect(named("ClusterRole", "kubereel").flatMap(rightsOf).slice(0, 2)).toEqual([
      "list,watch /configmaps",
      clusterIdentity,
    ])
  })

  test("a configuration with mistakes yields none", async () => {
    const { code, text, error } = await printed("--offline", "-c", configuration.write("v1.Pod: {detect: some}"))
    expect({ code, text }).toEqual({ code: 2, text: "" })
    expect(error).toContain("tracer.yml:2:20")
  })

  test.each([
    [["--size", "10"], "--size"],
    [["--namespace", "Not_a_name"], "--namespace"],
    [["--owner-kind", "Rollout"], "--owner-kind"],
    [["--api-server-port", "0"], "--api-server-port"],
    [["--allow-from", "10.0.0.0"], "--allow-from"],
    [["--allow-from", "10.0.0.0/33"], "--allow-from"],
  ])("is anything with %j", async (words, named) => {
    const { code, text, error } = await printed("--offline", ...words)
    expect({ code, text }).toEqual({ code: 2, text: "" })
    expect(error).toContain(named)
  })
})
