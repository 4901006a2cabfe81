/** Admission and conversion against a real API server: what kubectl sees, and what holds when the host has been killed. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import {
  type DefinedController,
  defineController,
  rulesOf,
  runControllers,
  webhookRulesOf,
} from "../../../src/host/controllers.ts"
import {
  ApiClient,
  type Credentials,
  type EndpointSource,
  impersonating,
  type Kind,
  kinds,
  loadCredentials,
  ResourceFinder,
} from "../../../src/kube/index.ts"
import { parseGvk } from "../../../src/kube/offline.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { kubectl as run } from "../command.ts"
import { freePorts } from "../free-ports.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))
const namespace = `admission-${process.pid}`
let cluster: TestCluster
let credentials: Credentials
let client: ApiClient

/** Standard output, or what kubectl says when it fails. */
const kubectl = (...words: ReadonlyArray<string>): Promise<string> =>
  run(cluster, ...words).catch((error: { stderr: string }) => error.stderr)
const configure = (name: string, colour: string, ...words: ReadonlyArray<string>): Promise<string> =>
  kubectl("-n", namespace, "create", "configmap", name, `--from-literal=colour=${colour}`, ...words)

beforeAll(async () => {
  cluster = await openTestCluster()
  credentials = await loadCredentials({ kubeconfig: cluster.kubeconfig, context: undefined })
  client = new ApiClient({ server: credentials, userAgent: "kubereel-admission-test" })
  await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
})
afterAll(async () => {
  const configurations = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
  await kubectl("delete", configurations, "-l", "app.kubernetes.io/managed-by=kubereel")
  await kubectl("delete", "namespace", namespace, "--wait=false")
  client?.close()
})

/** `reel host` with one script. Resolves when its webhooks are registered. */
const startHost = async (admission: string) => {
  const modules = temporaryDirectory()
  const script = `
    import { defineController } from "kubereel/host"
    export default defineController({
      name: "colours",
      for: { kind: "v1.ConfigMap", namespace: "${namespace}" },
      admission: ${admission},
      mutate: ({ object }) => { object.metadata.annotations = { ...object.metadata.annotations, "example.com/seen": "yes" } },
      validate: ({ object, userInfo, dryRun }) => {
        if (object.data?.colour === "red") return { message: userInfo.username + " may not paint it red", warnings: ["dry run: " + dryRun] }
        if (object.data?.colour === "grey") throw new Error("no palette")
      },
    })`
  writeFileSync(join(modules, "colours.ts"), script)
  writeFileSync(join(modules, "colours.yaml"), "name: colours\n")
  const [webhooks, listen] = [await freePorts(1), "127.0.0.1:0"]
  const host = spawn(
    process.execPath,
    [
      reel,
      "host",
      modules,
      "--kubeconfig",
      cluster.kubeconfig,
      "--listen",
      listen,
      "--webhook-address",
      `127.0.0.1:${webhooks}`,
    ],
    { stdio: ["ignore", "inherit", "pipe"] },
  )
  const exited = once(host, "exit")
  const kill = async (): Promise<void> => {
    host.kill("SIGKILL")
    await exited
  }
  onTestFinished(kill)
  let said = ""
  host.stderr.on("data", (text) => {
    said += String(text)
  })
  await eventually(async () => {
    const url = /metrics: (http:\S+)\/metrics/.exec(said)?.[1] ?? ""
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect(said).toContain("module colours started")
  })
  return kill
}

test("kubectl sees the refusal; when the host is killed, Fail still refuses and Ignore lets pass", async () => {
  const kill = await startHost(`{ failurePolicy: "Fail" }`)
  // API servers learn of a registration within moments.
  await eventually(async () =>
    expect(await configure("probe", "red", "--dry-run=server")).toContain("may not paint it red"),
  )
  expect(await configure("a", "red")).toMatch(
    /admission webhook "validate\.colours\.kubereel\.dev" denied the request: \S+ may not paint it red/,
  )
  expect(await configure("a", "blue", "--dry-run=server")).toContain("created (server dry run)")
  expect(await kubectl("-n", namespace, "get", "configmap", "a")).toContain("NotFound")
  expect(await configure("a", "blue")).toContain("configmap/a created")
  expect(await kubectl("-n", namespace, "get", "configmap", "a", "-o", "jsonpath={.metadata.annotations}")).toBe(
    '{"example.com/seen":"yes"}',
  )
  expect(await configure("b", "grey")).toContain("controller colours: validate failed: no palette")
  await kill()
  expect(await configure("b", "blue")).toMatch(
    /failed calling webhook "mutate\.colours\.kubereel\.dev".*connection refused/,
  )

  const killLax = await startHost(`{ failurePolicy: "Ignore" }`)
  await eventually(async () => expect(await configure("b", "red")).toContain("may not paint it red"))
  await eventually(async () => expect(await configure("b", "grey", "--dry-run=server")).toContain("created"))
  await killLax()
  expect(await configure("b", "red")).toContain("configmap/b created")
})

test("A controller converts between two versions, for kubectl and while it lists", async () => {
  const group = `v${process.pid}.example.com`
  const size = (type: string) => ({
    type: "object",
    properties: { spec: { type: "object", properties: { size: { type } } } },
  })
  const version = (name: string, type: string, storage: boolean) => ({
    ...{ name, storage, served: true },
    schema: { openAPIV3Schema: size(type) },
  })
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [version("v1", "integer", true), version("v2", "string", false)],
    },
  }
  await client.create(
    { ...configurationsOf("CustomResourceDefinition"), plural: "customresourcedefinitions" },
    definition,
  )
  onTestFinished(async () => void (await kubectl("delete", "customresourcedefinition", `widgets.${group}`)))
  const widgets = defineController({
    name: "widgets",
    for: `${group}/v2.Widget`,
    convert: ({ object, to }) => {
      const { spec } = object as never as { spec: { size: number | string } }
      if (spec.size === "13") throw new Error("unlucky")
      return { ...object, spec: { size: to === "v2" ? String(spec.size) : Number(spec.size) } } as typeof object
    },
  })
  const running = await serving(widgets, credentials)
  await eventually(() => expect(running.missingWebhooks).toEqual([]))
  const widget = (name: string, of: string, value: string) => {
    const file = join(temporaryDirectory(), "widget.json")
    const spec = { size: of === "v1" ? Number(value) : value }
    const body = { apiVersion: `${group}/${of}`, kind: "Widget", metadata: { name, namespace }, spec }
    writeFileSync(file, JSON.stringify(body))
    return kubectl("create", "-f", file)
  }
  await eventually(async () => expect(await widget("one", "v2", "7")).toContain("created"))
  expect(await widget("two", "v1", "8")).toContain("created")
  const sizes = (of: string) =>
    kubectl("-n", namespace, "get", `widgets.${of}.${group}`, "-o", "jsonpath={.items[*].spec.size}")
  await eventually(async () => expect([await sizes("v1"), await sizes("v2")]).toEqual(["7 8", "7 8"]))
  expect(await kubectl("-n", namespace, "get", `widgets.v2.${group}`, "one", "-o", "json")).toContain('"size": "7"')
  expect(await widget("three", "v2", "13")).toContain("controller widgets: convert failed: unlucky")
  expect(troubles.splice(0)).toEqual(expect.arrayContaining(["controller widgets: convert failed: unlucky"]))
})

const configurationsOf = (kind: string): Kind => ({
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind },
  plural: `${kind.toLowerCase()}s`,
  namespaced: false,
})

const serving = async (
  controller: DefinedController,
  server: EndpointSource,
  service?: { namespace: string; name: string; port: number },
) => {
  const running = await runControllers([controller], {
    server,
    admission: {
      host: "127.0.0.1",
      listen: { address: "127.0.0.1", port: 0 },
      service,
      ...(service && { prefix: service.name }),
    },
    onTrouble: (detail) => troubles.push(detail),
  })
  onTestFinished(() => running.close())
  return running
}
const troubles: string[] = []

test("The registration needs no permission beyond those of webhookRulesOf, and fills a Secret that is there", async () => {
  const service = { namespace, name: `hooks-${process.pid}`, port: 9443 }
  const controller = defineController({
    name: "refuser",
    for: "v1.ConfigMap",
    admission: { failurePolicy: "Ignore" },
    validate: () => undefined,
  })
  const finder = new ResourceFinder(client.connection)
  const kindOf = async (name: string): Promise<Kind> =>
    finder.find(parseGvk(name) ?? (Promise.reject(new Error(name)) as never))
  const names = { prefix: service.name, service }
  const scopes = [...(await rulesOf([controller], kindOf)), ...(await webhookRulesOf([controller], kindOf, names))]
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${service.name}-webhooks`, namespace },
    type: "Opaque",
  }
  const user = `refuser-${process.pid}`
  const file = join(temporaryDirectory(), "roles.json")
  const api = "rbac.authorization.k8s.io"
  const items = scopes.flatMap(({ namespace: of, rules }, index) => {
    const kind = of === undefined ? "ClusterRole" : "Role"
    const metadata = { name: `${user}-${index}`, labels: { for: user }, ...(of !== undefined && { namespace: of }) }
    const subjects = [{ apiGroup: api, kind: "User", name: user }]
    return [
      { apiVersion: `${api}/v1`, kind, metadata, rules },
      {
        apiVersion: `${api}/v1`,
        kind: `${kind}Binding`,
        metadata,
        roleRef: { apiGroup: api, kind, name: metadata.name },
        subjects,
      },
    ]
  })
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: [...items, secret] }))
  expect(await kubectl("create", "-f", file)).not.toContain("error")
  onTestFinished(async () => void (await kubectl("delete", "clusterrole,clusterrolebinding", "-l", `for=${user}`)))
  const running = await serving(
    controller,
    impersonating(credentials, { user, uid: undefined, groups: [], extra: [] }),
    service,
  )
  await eventually(() => expect([running.missingWebhooks, troubles]).toEqual([[], []]))
  const found = await kubectl("-n", namespace, "get", "secret", `${service.name}-webhooks`, "-o", "jsonpath={.data}")
  expect(Object.keys(JSON.parse(found)).sort()).toEqual(["ca.crt", "tls.crt", "tls.key"])
})
