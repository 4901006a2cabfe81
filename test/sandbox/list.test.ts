import { beforeEach, describe, expect, test } from "vitest"
import type { Sandbox } from "../../src/library/sandbox.ts"
import { type ApiObject, get, getJson } from "./client.ts"
import { open as start } from "./opened-sandbox.ts"

const names = (list: ApiObject): ReadonlyArray<string> =>
  list.items.map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`)

const fill = (sandbox: Sandbox, count: number): void => {
  for (let index = 0; index < count; index++) {
    const metadata = { name: `cm-${index}`, namespace: index % 2 === 0 ? "even" : "odd", labels: { n: String(index) } }
    sandbox.put("v1.ConfigMap", { metadata })
  }
}

const pages = async (base: string): Promise<ReadonlyArray<ApiObject>> => {
  const found: ApiObject[] = []
  let token = ""
  do {
    const page = await getJson(`${base}&continue=${token}`)
    found.push(page)
    token = page.metadata.continue ?? ""
  } while (token !== "")
  return found
}

describe("a list", () => {
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = await start()
    fill(sandbox, 7)
  })
  const at = (query: string): string => `${sandbox.url}/api/v1/configmaps?${query}`

  test("shows all namespaces in the order of the keys, or one namespace", async () => {
    const expected = ["even/cm-0", "even/cm-2", "even/cm-4", "even/cm-6", "odd/cm-1", "odd/cm-3", "odd/cm-5"]
    expect(names(await getJson(at("")))).toEqual(expected)
    expect(names(await getJson(`${sandbox.url}/api/v1/namespaces/odd/configmaps`))).toEqual(expected.slice(4))
    expect(names(await getJson(`${sandbox.url}/api/v1/namespaces/od/configmaps`))).toEqual([])
  })

  test("carries the newest revision of the whole server, not of the kind", async () => {
    const { metadata } = sandbox.put("v1.Secret", { metadata: { name: "s" } })
    expect((await getJson(at(""))).metadata.resourceVersion).toBe(metadata.resourceVersion)
  })

  test("has items without apiVersion and kind", async () => {
    const [item] = (await getJson(at(""))).items
    expect(Object.keys(item ?? {})).toEqual(["metadata"])
  })

  test("of a custom kind has items with them, and its metadata after the items", async () => {
    sandbox.register({
      gvk: { group: "x.example.com", version: "v1", kind: "Probe" },
      plural: "probes",
      namespaced: true,
    })
    sandbox.put("x.example.com/v1.Probe", { spec: { x: 1 }, metadata: { name: "a" } })
    const { text } = await get(`${sandbox.url}/apis/x.example.com/v1/probes`)
    // As recorded from Kubernetes 1.34.4, where the empty continue token is written out too.
    expect(text).toMatch(
      /^\{"apiVersion":"x\.example\.com\/v1","items":\[\{"apiVersion":"x\.example\.com\/v1","kind":"Probe","metadata":\{"creationTimestamp":"[^"]+","generation":1,"name":"a","namespace":"default","resourceVersion":"1010","uid":"[^"]+"\},"spec":\{"x":1\}\}\],"kind":"ProbeList","metadata":\{"continue":"","resourceVersion":"1010"\}\}$/,
    )
  })

  test("in pages shows the state of the first page to the last one", async () => {
    const first = await getJson(at("limit=3"))
    sandbox.delete("v1.ConfigMap", "odd", "cm-5")
    sandbox.put("v1.ConfigMap", { metadata: { name: "cm-7", namespace: "odd" } })
    sandbox.put("v1.ConfigMap", { metadata: { name: "cm-6", namespace: "even", labels: { changed: "yes" } } })
    const second = await getJson(at(`limit=3&continue=${first.metadata.continue}`))
    const third = await getJson(at(`limit=3&continue=${second.metadata.continue}`))
    expect([first, second, third].flatMap(names)).toEqual([
      "even/cm-0",
      "even/cm-2",
      "even/cm-4",
      "even/cm-6",
      "odd/cm-1",
      "odd/cm-3",
      "odd/cm-5",
    ])
    expect(second.items[0]?.metadata.labels).toEqual({ n: "6" })
    expect([first, second, third].map(({ metadata }) => metadata.resourceVersion)).toEqual(["1009", "1009", "1009"])
    expect([first, second, third].map(({ metadata }) => metadata.remainingItemCount)).toEqual([4, 1, undefined])
    expect(third.metadata.continue).toBeUndefined()
  })

  test("in pages of one namespace stays inside it", async () => {
    const found = await pages(`${sandbox.url}/api/v1/namespaces/even/configmaps?limit=1`)
    expect(found.flatMap(names)).toEqual(["even/cm-0", "even/cm-2", "even/cm-4", "even/cm-6"])
  })

  test("ignores the limit when any version will do", async () => {
    expect((await getJson(at("resourceVersion=0&limit=2"))).items).toHaveLength(7)
  })

  test("not older than a version shows the newest state, in pages if requested", async () => {
    const page = await getJson(at("resourceVersion=1003&resourceVersionMatch=NotOlderThan&limit=2"))
    expect([page.items.length, page.metadata.resourceVersion]).toEqual([2, "1009"])
  })

  test("at exactly a version shows the state at that version", async () => {
    const list = await getJson(at("resourceVersion=1005&resourceVersionMatch=Exact"))
    expect([names(list), list.metadata.resourceVersion]).toEqual([["even/cm-0", "even/cm-2", "odd/cm-1"], "1005"])
  })

  test("with a limit and a version but no match means exactly that version", async () => {
    expect((await getJson(at("resourceVersion=1005&limit=9"))).metadata.resourceVersion).toBe("1005")
    expect((await getJson(at("resourceVersion=1005"))).metadata.resourceVersion).toBe("1009")
  })

  test.each([
    ["labelSelector=n in (1,2)", ["even/cm-2", "odd/cm-1"]],
    ["labelSelector=n=3", ["odd/cm-3"]],
    ["labelSelector=n>4", ["even/cm-6", "odd/cm-5"]],
    ["labelSelector=!n", []],
    ["fieldSelector=metadata.name=cm-4", ["even/cm-4"]],
    ["fieldSelector=metadata.namespace=odd,metadata.name!=cm-1", ["odd/cm-3", "odd/cm-5"]],
    ["labelSelector=n notin (0,1,2,3)&fieldSelector=metadata.namespace=even", ["even/cm-4", "even/cm-6"]],
  ])("selects by %s", async (query, expected) => {
    expect(names(await getJson(at(query.replaceAll(" ", "%20"))))).toEqual(expected)
  })

  test("in pages with a selector has no count of remaining items", async () => {
    const found = await pages(at("limit=2&labelSelector=n%20notin%20(2,3)"))
    expect(found.flatMap(names)).toEqual(["even/cm-0", "even/cm-4", "even/cm-6", "odd/cm-1", "odd/cm-5"])
    expect(found[0]?.metadata.remainingItemCount).toBeUndefined()
  })

  test.each([
    ["limit=abc", 400, []],
    ["resourceVersion=abc", 400, []],
    ["resourceVersion=99999999999999999999999", 400, []],
    ["labelSelector=a%3D%3D%3Db", 400, []],
    ["fieldSelector=spec.foo%3Dx", 400, []],
    ["resourceVersionMatch=NotOlderThan", 422, ["FieldValueForbidden resourceVersionMatch"]],
    ["resourceVersion=0&resourceVersionMatch=Exact", 422, ["FieldValueForbidden resourceVersionMatch"]],
    ["limit=1&resourceVersion=100&resourceVersionMatch=Foo", 422, ["FieldValueNotSupported resourceVersionMatch"]],
    [
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
      422,
      ["FieldValueForbidden resourceVersionMatch", "FieldValueForbidden sendInitialEvents"],
    ],
  ])("with %s is refused as by the real server", async (query, status, expected) => {
    const answer = await get(at(query))
    const { reason, details } = JSON.parse(answer.text) as {
      reason: string
      details?: { causes: ReadonlyArray<{ reason: string; field: string }> }
    }
    expect([answer.status, reason]).toEqual([status, status === 400 ? "BadRequest" : "Invalid"])
    expect((details?.causes ?? []).map((cause) => `${cause.reason} ${cause.field}`)).toEqual(expected)
  })

  test("may not name a version together with a continue token", async () => {
    const token = (await getJson(at("limit=1"))).metadata.continue
    const answer = await get(at(`limit=1&resourceVersion=1001&continue=${token}`))
    expect((JSON.parse(answer.text) as ApiObject).message).toBe(
      "specifying resource version is not allowed when using continue",
    )
  })
})

test("an expired continue token is 410 with a token for the rest as it is now", async () => {
  const sandbox = await start({ historyLimit: 2 })
  fill(sandbox, 5)
  const base = `${sandbox.url}/api/v1/configmaps?limit=2`
  const first = await getJson(base)
  for (const name of ["x", "y", "z"]) sandbox.put("v1.ConfigMap", { metadata: { name, namespace: "odd" } })
  const answer = await get(`${base}&continue=${first.metadata.continue}`)
  const failure = JSON.parse(answer.text) as ApiObject
  expect([answer.status, failure.reason, failure.code]).toEqual([410, "Expired", 410])
  const rest = await getJson(`${sandbox.url}/api/v1/configmaps?limit=9&continue=${failure.metadata.continue}`)
  expect(names(rest)).toEqual(["even/cm-4", "odd/cm-1", "odd/cm-3", "odd/x", "odd/y", "odd/z"])
  expect(rest.metadata.resourceVersion).toBe(sandbox.resourceVersion)
})

test("a list of many megabytes arrives whole, in pieces", async () => {
  const sandbox = await start({ ledger: "none" })
  const filler = "x".repeat(3000)
  for (let index = 0; index < 2000; index++)
    sandbox.put("v1.Pod", { metadata: { name: `pod-${index}` }, spec: { filler } })
  const { headers, text } = await get(`${sandbox.url}/api/v1/pods`)
  expect(headers["transfer-encoding"]).toBe("chunked")
  const list = JSON.parse(text) as ApiObject
  expect(new Set(list.items.map(({ metadata }) => metadata.name)).size).toBe(2000)
  expect(Object.keys(list.items[7] ?? {})).toEqual(["metadata", "spec"])
})

describe("reading one object", () => {
  test("returns it with its type, as it was put", async () => {
    const sandbox = await start()
    const stored = sandbox.put("apps/v1.Deployment", {
      metadata: { name: "web", namespace: "a", annotations: { note: "schön ☃ 𝄞" } },
      spec: { replicas: 3 },
    })
    const { text } = await get(`${sandbox.url}/apis/apps/v1/namespaces/a/deployments/web`)
    expect(JSON.parse(text)).toEqual(stored)
    expect(JSON.parse((await get(`${sandbox.url}/apis/apps/v1/namespaces/a/deployments/web/status`)).text)).toEqual(
      stored,
    )
    expect((await get(`${sandbox.url}/apis/apps/v1/namespaces/b/deployments/web`)).status).toBe(404)
  })

  test("of a cluster-scoped kind needs no namespace, and allows none", async () => {
    const sandbox = await start()
    expect((await getJson(`${sandbox.url}/api/v1/namespaces/kube-system`)).metadata.uid).toBe(sandbox.clusterUid)
    expect((await get(`${sandbox.url}/api/v1/namespaces/kube-system/status`)).status).toBe(200)
    expect((await get(`${sandbox.url}/api/v1/namespaces/kube-system/nodes`)).status).toBe(404)
    expect((await get(`${sandbox.url}/api/v1/configmaps/x`)).status).toBe(404)
    expect((await get(`${sandbox.url}/api/v1/namespaces/a/configmaps/x/status`)).status).toBe(404)
  })
})

test("a server may re-format all JSON without changing its meaning", async () => {
  const [plain, pretty] = [await start(), await start({ pretty: true })]
  for (const sandbox of [plain, pretty]) fill(sandbox, 3)
  const { text } = await get(`${pretty.url}/api/v1/configmaps`)
  expect(text).toContain('{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1005"}')
  expect(names(JSON.parse(text) as ApiObject)).toEqual(names(await getJson(`${plain.url}/api/v1/configmaps`)))
})
