import { afterAll, beforeAll, expect, test } from "vitest"
import { formatGvk } from "../../src/kube/gvk.ts"
import { builtinResources } from "../../src/sandbox/builtin-resources.ts"
import { KindConflictError, Sandbox, UnknownKindError } from "../../src/sandbox/index.ts"
import { get, getJson, Watch } from "./client.ts"
import { recordedAnswer, shape } from "./recorded-answer.ts"

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await Sandbox.start()
})
afterAll(() => sandbox.close())

interface DiscoveredResource {
  readonly name: string
  readonly kind: string
  readonly verbs: ReadonlyArray<string>
}
interface ResourceList {
  readonly groupVersion: string
  readonly resources: ReadonlyArray<DiscoveredResource>
}

const document = async (path: string): Promise<ResourceList> =>
  JSON.parse((await get(sandbox.url + path)).text) as ResourceList

const probes = {
  gvk: { group: "sandbox.example.com", version: "v1", kind: "Probe" },
  plural: "probes",
  namespaced: true,
}

test.each([
  ["/api/v1", "discovery-core-v1"],
  ["/apis/apps/v1", "discovery-apps-v1"],
  ["/apis/batch/v1", "discovery-batch-v1"],
])("every kind of %s is described exactly as the real server does", async (path, name) => {
  const real = JSON.parse(recordedAnswer(name).text) as ResourceList
  const ours = await document(path)
  expect({ ...ours, resources: [] }).toEqual({ ...real, resources: [] })
  const plurals = builtinResources.filter(({ gvk }) => ours.groupVersion === formatGvk(gvk).replace(/\.[^.]*$/, ""))
  const expected = real.resources.filter(({ name: full }) =>
    plurals.some(({ plural, subresources = [] }) =>
      [plural, ...subresources.map((below) => `${plural}/${below}`)].includes(full),
    ),
  )
  expect(expected.length).toBeGreaterThan(1)
  expect(ours.resources).toEqual(expected)
})

test("the lists of versions and groups have the real server's shape", async () => {
  for (const [path, name] of [
    ["/api", "discovery-api"],
    ["/apis", "discovery-apis"],
  ] as const) {
    const ours: unknown = JSON.parse((await get(sandbox.url + path)).text)
    expect(shape(ours)).toEqual(shape(JSON.parse(recordedAnswer(name).text)))
  }
  const groups = (await getJson(`${sandbox.url}/apis`)) as unknown as { groups: Array<{ name: string }> }
  expect(groups.groups.map(({ name }) => name)).toEqual(["apps", "batch", "coordination.k8s.io"])
})

test("/api tells the client the address it came to", async () => {
  expect((await get(`${sandbox.url}/api`)).text).toContain(`"serverAddress":"127.0.0.1:${sandbox.port}"`)
})

test("one group has a document of its own; an unknown one is not found", async () => {
  expect(JSON.parse((await get(`${sandbox.url}/apis/apps`)).text)).toEqual({
    kind: "APIGroup",
    apiVersion: "v1",
    name: "apps",
    versions: [{ groupVersion: "apps/v1", version: "v1" }],
    preferredVersion: { groupVersion: "apps/v1", version: "v1" },
  })
  expect((await get(`${sandbox.url}/apis/nope`)).status).toBe(404)
  expect((await get(`${sandbox.url}/apis/apps/v2`)).status).toBe(404)
})

test("a kind appears when it is registered and its group disappears when it is not", async () => {
  expect((await get(`${sandbox.url}/apis/sandbox.example.com/v1/probes`)).status).toBe(404)
  sandbox.register(probes)
  const list = await document("/apis/sandbox.example.com/v1")
  expect(list.resources.map(({ name, kind }) => `${name} ${kind}`)).toEqual(["probes Probe"])
  sandbox.put(probes.gvk, { metadata: { name: "a" }, spec: { x: 1 } })
  const watch = await Watch.open(`${sandbox.url}/apis/sandbox.example.com/v1/probes?watch=1&resourceVersion=1000`)
  expect((await watch.next()).type).toBe("ADDED")

  sandbox.unregister("sandbox.example.com/v1.Probe")
  // As with the deletion of a CustomResourceDefinition: the objects go first, then the stream ends properly.
  expect((await watch.next()).type).toBe("DELETED")
  expect(await watch.ended).toBe("clean")
  expect((await get(`${sandbox.url}/apis/sandbox.example.com/v1`)).text).toBe("404 page not found\n")
  expect((await get(`${sandbox.url}/apis/sandbox.example.com/v1/probes`)).status).toBe(404)
  expect(() => sandbox.put(probes.gvk, { metadata: { name: "a" } })).toThrow(UnknownKindError)
})

test("a kind or a path that is taken cannot be registered", () => {
  expect(() => sandbox.register({ ...probes, gvk: { group: "", version: "v1", kind: "Pod" } })).toThrow(
    KindConflictError,
  )
  const samePath = { gvk: { group: "", version: "v1", kind: "Pea" }, plural: "pods", namespaced: true }
  expect(() => sandbox.register(samePath)).toThrow(KindConflictError)
})

test("verbs that a kind lacks are neither discovered nor allowed", async () => {
  const gvk = { group: "", version: "v1", kind: "Binding" }
  sandbox.register({ gvk, plural: "bindings", namespaced: true, verbs: ["create"] })
  const found = (await document("/api/v1")).resources.find(({ name }) => name === "bindings")
  expect(found?.verbs).toEqual(["create"])
  expect((await get(`${sandbox.url}/api/v1/bindings`)).status).toBe(405)
  expect((await get(`${sandbox.url}/api/v1/bindings?watch=1`)).status).toBe(405)
  sandbox.unregister(gvk)
})

test("the server says that it is well", async () => {
  for (const path of ["/healthz", "/readyz", "/livez"]) expect((await get(sandbox.url + path)).text).toBe("ok")
})
