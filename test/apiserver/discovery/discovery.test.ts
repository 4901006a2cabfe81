import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { KindConflictError, UnknownKindError } from "../../../src/apiserver/index.ts"
import type { JsonObject, StoredAs } from "../../../src/apiserver/kinds/resources.ts"
import { get, getJson, Watch } from "../../sandbox/client.ts"
import { openForFile } from "../../sandbox/opened-sandbox.ts"
import { recordedAnswer, shape } from "../../sandbox/recorded-answer.ts"

const sandbox = await openForFile()

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

const recordedDocument = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../data/apiserver/discovery/${name}.json`, import.meta.url), "utf8"))

/** Without the subresources and kinds that this server does not have. */
const withoutUnserved = (real: ResourceList, ours: ResourceList): ResourceList => ({
  ...real,
  resources: real.resources.filter(({ name }) => ours.resources.some((resource) => resource.name === name)),
})

test.each([
  ["/api/v1", "discovery-core-v1", ["componentstatuses"]],
  ["/apis/apps/v1", "discovery-apps-v1", []],
  ["/apis/batch/v1", "discovery-batch-v1", []],
])("every kind of %s is described exactly as the real server does", async (path, name, missing) => {
  const real = JSON.parse(recordedAnswer(name).text) as ResourceList
  const ours = await document(path)
  expect(ours).toEqual(withoutUnserved(real, ours))
  const kinds = (list: ResourceList): ReadonlyArray<string> =>
    list.resources.map((resource) => resource.name).filter((full) => !full.includes("/"))
  expect(kinds(real).filter((kind) => !kinds(ours).includes(kind))).toEqual(missing)
})

test.each([
  "policy/v1",
  "rbac.authorization.k8s.io/v1",
  "coordination.k8s.io/v1",
  "scheduling.k8s.io/v1",
  "storage.k8s.io/v1",
  "autoscaling/v1",
  "autoscaling/v2",
  "events.k8s.io/v1",
  "apiextensions.k8s.io/v1",
])("the document of %s is the real server's", async (groupVersion) => {
  expect(await document(`/apis/${groupVersion}`)).toEqual(recordedDocument(groupVersion.replace("/", "-")))
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
  const real = JSON.parse(recordedAnswer("discovery-apis").text) as typeof groups
  const served = groups.groups.map(({ name }) => name)
  expect(served).toEqual(real.groups.map(({ name }) => name).filter((name) => served.includes(name)))
  expect(served).toHaveLength(19)
})

describe("aggregated discovery", () => {
  const accept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

  interface Aggregated {
    readonly items: ReadonlyArray<{
      readonly metadata: { readonly name?: string }
      readonly versions: ReadonlyArray<{
        readonly version: string
        readonly resources: ReadonlyArray<{
          readonly resource: string
          readonly subresources?: ReadonlyArray<{ readonly subresource: string }>
        }>
      }>
    }>
  }

  /** The real document reduced to what this server has, which must then be equal. */
  const reducedTo = (ours: Aggregated, real: Aggregated): Aggregated => {
    const find = (name: string | undefined) => ours.items.find(({ metadata }) => metadata.name === name)
    const items = real.items
      .filter(({ metadata }) => find(metadata.name) !== undefined)
      .map((group) => ({
        ...group,
        versions: group.versions.flatMap((version) => {
          const served = find(group.metadata.name)?.versions.find((candidate) => candidate.version === version.version)
          const resources = version.resources.flatMap(({ subresources, ...resource }) => {
            const own = served?.resources.find((candidate) => candidate.resource === resource.resource)
            const kept = subresources?.filter(({ subresource }) =>
              own?.subresources?.some((candidate) => candidate.subresource === subresource),
            )
            return own === undefined
              ? []
              : [kept === undefined || kept.length === 0 ? resource : { ...resource, subresources: kept }]
          })
          return served === undefined ? [] : [{ ...version, resources }]
        }),
      }))
    return { ...real, items }
  }

  test.each(["api", "apis"])("of /%s is the real server's for what is served", async (name) => {
    const answer = await get(`${sandbox.url}/${name}`, { Accept: accept })
    const ours = JSON.parse(answer.text) as Aggregated
    expect(ours).toEqual(reducedTo(ours, recordedDocument(`aggregated-${name}`) as Aggregated))
    expect(ours.items).toHaveLength(name === "api" ? 1 : 19)
    const real = recordedAnswer("discovery-aggregated")
    for (const header of ["content-type", "cache-control", "vary"])
      expect(answer.headers[header]).toBe(real.headers[header])
    expect(answer.headers.etag).toMatch(/^"[0-9A-F]{128}"$/)
  })

  test("is not sent again to a client that has it, until a kind is added", async () => {
    const { etag = "" } = (await get(`${sandbox.url}/apis`, { Accept: accept })).headers
    const again = await get(`${sandbox.url}/apis`, { Accept: accept, "If-None-Match": etag })
    expect([again.status, again.text]).toEqual([304, ""])
    sandbox.register(probes)
    const after = await get(`${sandbox.url}/apis`, { Accept: accept, "If-None-Match": etag })
    expect([after.status, after.headers.etag === etag]).toEqual([200, false])
    sandbox.unregister(probes.gvk)
  })

  test("of version v2beta1 is gone, as in 1.34; other paths ignore the request for it", async () => {
    const beta = { Accept: "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList" }
    expect((await get(`${sandbox.url}/apis`, beta)).status).toBe(406)
    expect((await get(`${sandbox.url}/version`, beta)).status).toBe(200)
    expect(JSON.parse((await get(`${sandbox.url}/apis/apps/v1`, { Accept: accept })).text)).toMatchObject({
      kind: "APIResourceList",
    })
  })
})

/** The real server lists the custom kinds of a version in no particular order. */
const sorted = (list: ResourceList): ResourceList => ({
  ...list,
  resources: list.resources.toSorted((left, right) => (left.kind < right.kind ? -1 : left.kind > right.kind ? 1 : 0)),
})

const sortResources = (key: string, value: unknown): unknown =>
  key === "resources"
    ? (value as Array<{ readonly resource: string }>).toSorted((a, b) => (a.resource < b.resource ? -1 : 1))
    : value

test("custom kinds are described as the real server does, versions in the order of preference", async () => {
  const group = "read-side.example.com"
  const names = { plural: "widgets", namespaced: true, shortNames: ["wi"], categories: ["all", "toys"] }
  const gvk = (version: string) => ({ group, version, kind: "Widget" })
  const as = (version: string) => (object: JsonObject) => ({ ...object, apiVersion: `${group}/${version}` })
  const storedAs = (version: string): StoredAs => ({ gvk: gvk("v1"), toStored: as("v1"), fromStored: as(version) })
  sandbox.register({ gvk: gvk("v1"), ...names, subresources: ["status", "scale"] })
  sandbox.register({ gvk: { group, version: "v1", kind: "Gadget" }, plural: "gadgets", namespaced: false })
  sandbox.register({ gvk: gvk("v2alpha1"), ...names, subresources: ["status"], storedAs: storedAs("v2alpha1") })
  sandbox.register({ gvk: gvk("v1beta1"), ...names, storedAs: storedAs("v1beta1") })
  for (const version of ["v1", "v1beta1", "v2alpha1"])
    expect(sorted(await document(`/apis/${group}/${version}`))).toEqual(
      sorted(recordedDocument(`${group}-${version}`) as ResourceList),
    )
  expect(await document(`/apis/${group}`)).toEqual(recordedDocument(group))
  const accept = { Accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" }
  const ours = JSON.parse((await get(`${sandbox.url}/apis`, accept)).text) as { items: ReadonlyArray<object> }
  const real = recordedDocument("aggregated-apis") as { items: ReadonlyArray<{ metadata: { name: string } }> }
  const reference = real.items.find(({ metadata }) => metadata.name === group)
  expect(JSON.parse(JSON.stringify(ours.items.at(-1)), sortResources)).toEqual(
    JSON.parse(JSON.stringify(reference), sortResources),
  )

  sandbox.put(gvk("v1beta1"), { metadata: { name: "a" }, spec: { x: 1 } })
  const seen = JSON.parse((await get(`${sandbox.url}/apis/${group}/v2alpha1/widgets`)).text) as { items: object[] }
  expect(seen.items).toMatchObject([{ apiVersion: `${group}/v2alpha1`, metadata: { name: "a" }, spec: { x: 1 } }])
  for (const version of ["v1beta1", "v2alpha1", "v1"]) sandbox.unregister(gvk(version))
  sandbox.unregister({ group, version: "v1", kind: "Gadget" })
})

test("/api returns the address that the client used", async () => {
  expect((await get(`${sandbox.url}/api`)).text).toContain(`"serverAddress":"127.0.0.1:${sandbox.port}"`)
})

test("each group has its own document; an unknown one is not found", async () => {
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

test("verbs that a kind does not have are neither discovered nor allowed", async () => {
  const gvk = { group: "", version: "v1", kind: "Question" }
  sandbox.register({ gvk, plural: "questions", namespaced: true, verbs: ["create"] })
  const found = (await document("/api/v1")).resources.find(({ name }) => name === "questions")
  expect(found?.verbs).toEqual(["create"])
  expect((await get(`${sandbox.url}/api/v1/questions`)).status).toBe(405)
  expect((await get(`${sandbox.url}/api/v1/questions?watch=1`)).status).toBe(405)
  sandbox.unregister(gvk)
})

test("the server reports that it is healthy", async () => {
  for (const path of ["/healthz", "/readyz", "/livez"]) expect((await get(sandbox.url + path)).text).toBe("ok")
})
