/**
 * A controller host from the image, as `reel k8s --host` installs it: with the token of its ServiceAccount and nothing else it reconciles, each module as
 * its own account, nothing is refused, and no account has a right that its modules do not need.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { parse } from "yaml"
import { buildOddGuest } from "../../host/dispatcher/odd-guests.ts"
import { environmentOf } from "../../k8s/printed.ts"
import { type Container, StagedImage } from "../../k8s/staged-image.ts"
import { kubectl, kubectlJson } from "../command.ts"
import { at, textAt } from "../exact-json.ts"
import { type AuditedCluster, openAuditedCluster } from "./audited-cluster.ts"
import { apply, type KubernetesObject, only, parseObjects, printManifests } from "./installation.ts"
import { makeNamespace } from "./owners.ts"

const project = fileURLToPath(new URL("../../..", import.meta.url))
const examples = join(project, "examples/host")
const base = `kubereel-host-${process.pid}`
const work = `${base}-work`
const definition: KubernetesObject = parse(readFileSync(join(examples, "simplepod-crd.yaml"), "utf8"))

let audited: AuditedCluster
let image: StagedImage
let modules = ""
let objects: ReadonlyArray<KubernetesObject> = []

const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(modules, name), content)

/** Patches ConfigMaps that another account could not even read. What defineController returns is a plain record. */
const labels = `
export default (env) => ({
  name: "labels", for: { kind: "v1.ConfigMap", namespace: env.NAMESPACE }, owns: [], watches: [], reads: [], indexes: [],
  writes: [{ kind: "v1.ConfigMap", namespace: env.NAMESPACE, verbs: ["patch"] }], concurrency: 1,
  reconcile: async ({ object, cluster }) => {
    if (object === undefined || object.metadata.labels?.seen === "yes") return
    await cluster.patch(object, "merge", { metadata: { labels: { seen: "yes" } } })
  },
})
`

beforeAll(async () => {
  audited = await openAuditedCluster()
  image = await StagedImage.stage()
  const directory = await mkdtemp(join(tmpdir(), "kubereel-host-"))
  modules = join(directory, "modules")
  mkdirSync(modules)
  await makeNamespace(audited.cluster, work)
  await apply(audited.cluster, [definition])

  for (const name of ["simplepod.ts", "simplepod-controller.ts", "simplepod-types.ts"])
    write(name, readFileSync(join(examples, "typescript", name), "utf8"))
  write("simplepod.yaml", `name: simplepod\nserviceAccount: { namespace: ${base}, name: simplepod }\n`)
  write("labels.js", labels)
  write("labels.yaml", `name: labels\nenv: [{ name: NAMESPACE, value: ${work} }]\n`)
  write("odd.wasm", readFileSync(buildOddGuest(directory, { kind: "ConfigMap", namespace: work })))
  const rule = `{ namespace: ${work}, apiGroups: [""], resources: [configmaps], verbs: [list, watch] }`
  write(
    "odd.yaml",
    `name: odd\nabi: rust_v1alpha1\nserviceAccount: { namespace: ${work}, name: odd }\npermissions: [${rule}]\n`,
  )
  objects = await printManifests(audited.cluster, "--host", modules, "--name", base, "--namespace", base)
})
afterAll(async () => {
  await image?.[Symbol.asyncDispose]()
  if (audited !== undefined) {
    const { cluster } = audited
    await kubectl(cluster, "delete", "crd", "simplepods.slinky.dev", "--ignore-not-found", "--wait=false")
    for (const { kind, metadata } of objects.filter((each) => each.metadata.namespace === undefined))
      await kubectl(cluster, "delete", kind, metadata.name, "--ignore-not-found", "--wait=false")
    await kubectl(cluster, "delete", "namespace", work, "--ignore-not-found", "--wait=false")
  }
  await audited?.[Symbol.asyncDispose]()
  await rm(join(modules, ".."), { recursive: true, force: true })
})

const userOf = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`

/** The Deployment's container, with the files of its ConfigMaps. */
const start = async (): Promise<Container> => {
  const { cluster, authority, host, port } = audited
  const [container] = only(objects, "Deployment").spec.template.spec.containers
  const [, directory] = container.args
  const files = objects
    .filter(({ kind }) => kind === "ConfigMap")
    .flatMap(({ data = {}, binaryData = {} }) => [
      ...Object.entries(data as Record<string, string>),
      ...Object.entries(binaryData as Record<string, string>).map(
        ([name, text]) => [name, Buffer.from(text, "base64")] as const,
      ),
    ])
  return image.start({
    arguments: [...container.args, "--listen=127.0.0.1:0"],
    environment: { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, ...environmentOf(container) },
    files: Object.fromEntries(files.map(([name, content]) => [`${directory}/${name}`, content])),
    serviceAccount: {
      token: (await kubectl(cluster, "create", "token", base, "--namespace", base)).trim(),
      authority,
      namespace: base,
    },
    volumes: ["/var/lib/kubereel"],
  })
}

/** Of a SelfSubjectRulesReview, which is what "kubectl auth can-i --list" shows, as `verb group/resource name`. */
const rightsOf = async (user: string, namespace: string): Promise<ReadonlyArray<string>> => {
  const file = join(modules, "..", "review.json")
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } }
  writeFileSync(file, JSON.stringify(review))
  const found = at(
    await kubectlJson(audited.cluster, "create", "-f", file, "--validate=false", "--as", user),
    "status",
    "resourceRules",
  )
  return short(found as never)
}

interface Rule {
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly resourceNames?: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

const short = (rules: ReadonlyArray<Rule>): ReadonlyArray<string> =>
  rules
    .flatMap(({ apiGroups, resources, resourceNames = [""], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) => verbs.map((verb) => `${verb} ${group}/${resource} ${name}`.trim())),
        ),
      ),
    )
    // Everyone may ask what they may.
    .filter((right) => !/^create auth\w+\.k8s\.io\/selfsubject/.test(right))
    .sort()

test("the API server accepts all of it without a warning, and the overlay too", async () => {
  const { cluster } = audited
  const namespace = objects.filter(({ kind }) => kind === "Namespace")
  expect(await apply(cluster, namespace)).not.toMatch(/warning/i)
  expect(
    await apply(
      cluster,
      objects.filter(({ kind }) => kind !== "Deployment"),
    ),
  ).not.toMatch(/warning/i)
  const overlay = parseObjects(await kubectl(cluster, "kustomize", join(project, "k8s/overlays/host")))
  // Its own namespace does not exist, and a dry run makes none.
  const moved = overlay.map((each) => ({
    ...each,
    metadata: { ...each.metadata, ...(each.metadata.namespace !== undefined && { namespace: base }) },
  }))
  const file = join(modules, "..", "dry-run.json")
  for (const items of [objects, moved]) {
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }))
    const printed = await kubectl(
      cluster,
      "apply",
      "--server-side",
      "--dry-run=server",
      "--force-conflicts",
      "-f",
      file,
    )
    expect(printed.trim().split("\n")).toHaveLength(items.length)
    for (const line of printed.trim().split("\n")) expect(line).toMatch(/serverside-applied \(server dry run\)$/)
  }
})

test("each module reconciles as its account, and nothing is forbidden", async () => {
  const { cluster } = audited
  const container = await start()
  const [, address = ""] = await container.until(
    async () => /metrics: (http\S+)\/metrics/.exec(container.log) ?? undefined,
  )
  await container.until(async () => ((await fetch(`${address}/readyz`)).ok ? true : undefined))
  expect(await (await fetch(`${address}/readyz?verbose`)).text()).toContain("[+]modules: started, 0 refused\n")

  const simplePod = {
    apiVersion: "slinky.dev/v1",
    kind: "SimplePod",
    metadata: { name: "web", namespace: work },
    spec: { image: "nginx:1.27" },
  }
  await apply(cluster, [simplePod])
  await kubectl(cluster, "create", "configmap", "first", "--namespace", work)
  await container.until(async () => {
    const object = await kubectlJson(cluster, "get", "simplepods.slinky.dev", "web", "-n", work)
    return textAt(object, "status", "phase") === "Running" ? true : undefined
  })
  await container.until(async () => {
    const object = await kubectlJson(cluster, "get", "configmap", "first", "-n", work)
    return textAt(object, "metadata", "labels", "seen") === "yes" ? true : undefined
  })
  await container.until(async () =>
    /"message":"\w+ first[^"]*","module":"odd"/.test(container.log) ? true : undefined,
  )
  expect(container.log).not.toMatch(/forbidden|not run|refused/i)
  expect((await container.terminate()).code, container.log).toBe(0)

  const users = [userOf(base, base), userOf(base, "simplepod"), userOf(work, "odd")]
  for (const user of users) {
    const requests = await audited.requestsOf(user)
    // Whatever watches asks for the identity of the cluster, and continues without; the host has that right.
    const others = requests.filter(({ name }) => name !== "kube-system" || user === userOf(base, base))
    expect(others.filter(({ code }) => code === 401 || code === 403)).toEqual([])
    // The guest only watches, which the host does for it.
    expect(requests.length > 0).toBe(user !== userOf(work, "odd"))
  }
  const pods = (await audited.requestsOf(userOf(base, "simplepod"))).filter(({ resource }) => resource === "pods")
  expect(pods.map(({ verb }) => verb)).toContain("patch")
  const tokens = (await audited.requestsOf(userOf(base, base))).filter(({ resource }) => resource.endsWith("/token"))
  expect(new Set(tokens.map(({ namespace, name }) => `${namespace}/${name}`))).toEqual(
    new Set([`${base}/simplepod`, `${work}/odd`]),
  )
})

test("no account may do more than that", async () => {
  const watch = ["get", "list", "watch"]
  const ofSimplePods = [
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    { apiGroups: [""], resources: ["pods"], verbs: [...watch, "create", "patch", "delete"] },
    { apiGroups: ["slinky.dev"], resources: ["simplepods"], verbs: watch },
    { apiGroups: ["slinky.dev"], resources: ["simplepods/finalizers"], verbs: ["update"] },
    { apiGroups: ["slinky.dev"], resources: ["simplepods/status"], verbs: ["update", "patch"] },
  ]
  for (const namespace of [base, work, "default"])
    expect(await rightsOf(userOf(base, "simplepod"), namespace)).toEqual(short(ofSimplePods))

  const ofOdd = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }]
  expect(await rightsOf(userOf(work, "odd"), work)).toEqual(short(ofOdd))
  expect(await rightsOf(userOf(work, "odd"), "default")).toEqual([])

  const ofHost = [
    { apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] },
    { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
    { apiGroups: ["slinky.dev"], resources: ["simplepods"], verbs: ["list", "watch"] },
  ]
  const token = { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] }
  const host = userOf(base, base)
  expect(await rightsOf(host, "default")).toEqual(short(ofHost))
  expect(await rightsOf(host, base)).toEqual(short([...ofHost, { ...token, resourceNames: ["simplepod"] }]))
  expect(await rightsOf(host, work)).toEqual(
    short([
      ...ofHost,
      { ...token, resourceNames: ["odd"] },
      // The module without an account.
      { apiGroups: [""], resources: ["configmaps"], verbs: [...watch, "patch"] },
      { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    ]),
  )
})
