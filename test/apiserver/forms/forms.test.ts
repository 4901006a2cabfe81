/** Content negotiation over HTTP. */

import { readFileSync } from "node:fs"
import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { parseAccept } from "../../../src/apiserver/forms/accept.ts"
import type { Resource } from "../../../src/apiserver/kinds/resources.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { type Answer, get, Watch } from "../../sandbox/client.ts"
import { openForFile } from "../../sandbox/opened-sandbox.ts"
import { withoutWording } from "../../sandbox/without-wording.ts"

const clock = new ManualClock()
const widget: Resource = {
  gvk: { group: "read-side.example.com", version: "v1", kind: "Widget" },
  plural: "widgets",
  namespaced: true,
  selectableFields: ["spec.color"],
}

const sandbox = await openForFile({ revision: 100, clock })
beforeAll(async () => {
  sandbox.register(widget)
  sandbox.register({ ...widget, gvk: { ...widget.gvk, version: "v1beta1" }, selectableFields: [] })
  sandbox.register({ gvk: { ...widget.gvk, kind: "Gadget" }, plural: "gadgets", namespaced: false })
  sandbox.put({ ...widget.gvk, kind: "Gadget" }, { metadata: { name: "read-side-g" } })
})

const as = (kind: string): string => `application/json;as=${kind};v=v1;g=meta.k8s.io`

const ask = (path: string, accept?: string): Promise<Answer> =>
  get(sandbox.url + path, accept === undefined ? {} : { Accept: accept })

const parsed = async <T>(path: string, accept?: string): Promise<T> => JSON.parse((await ask(path, accept)).text) as T

interface Table {
  readonly kind: string
  readonly columnDefinitions: ReadonlyArray<{ readonly name: string }> | null
  readonly rows: ReadonlyArray<{ readonly cells: ReadonlyArray<unknown>; readonly object: object | null }>
}

interface Refusal {
  readonly path: string
  readonly accept?: string
  readonly status: number
  readonly body: object
}

const refusals = JSON.parse(
  readFileSync(new URL("../../data/apiserver/read-refusals.json", import.meta.url), "utf8"),
) as ReadonlyArray<Refusal>

test.each(refusals)("$path ($accept) is refused as the real server does", async ({ path, accept, status, body }) => {
  const answer = await ask(path, accept)
  expect({ status: answer.status, body: withoutWording(JSON.parse(answer.text)) }).toEqual({
    status,
    body: withoutWording(body),
  })
})

const notAcceptable =
  "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/json;stream=watch"

describe("an Accept header", () => {
  test.each([
    ["", "NamespaceList"],
    ["*/*", "NamespaceList"],
    ["application/*, application/json", "NamespaceList"],
    ["application/vnd.kubernetes.protobuf,application/json", "NamespaceList"],
    [`${as("Table")},application/json`, "Table"],
    [`application/json,${as("Table")}`, "NamespaceList"],
    [`application/json;q=0.5,${as("Table")};q=0.9`, "Table"],
    [`application/json;as=Table;v=v2;g=meta.k8s.io,${as("PartialObjectMetadataList")}`, "PartialObjectMetadataList"],
    [`application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,${as("Table")}`, "Table"],
    // What kubectl sends.
    [`${as("Table")},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`, "Table"],
  ])("%j gets a %s", async (accept, kind) => {
    const answer = await ask("/api/v1/namespaces", accept)
    expect(answer.headers["content-type"]).toBe("application/json")
    expect((JSON.parse(answer.text) as Table).kind).toBe(kind)
  })

  test.each([
    ["application/xml", notAcceptable],
    ["text/html, application/*", notAcceptable],
    [
      "application/vnd.kubernetes.protobuf",
      "only the following media types are accepted: application/json, application/yaml",
    ],
    [
      "application/json;as=Table;v=v1;g=nope",
      "only the following media types are accepted: application/json, application/yaml",
    ],
  ])("%j gets a 406 that names what there is", async (accept, message) => {
    const answer = await ask("/api/v1/namespaces", accept)
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([406, { reason: "NotAcceptable", message }])
  })

  test("of any text is read without failing, best clauses first", () => {
    const unit = fc.constantFrom("application", "/", "json", ";", "q=", "0.1", "1", ",", "*", " ", "as=Table", "=")
    fc.assert(
      fc.property(fc.string({ unit }), (header) => {
        const qualities = parseAccept(header).map(({ parameters }) => Number(parameters.get("q") ?? "1"))
        const known = qualities.map((quality) => (Number.isFinite(quality) ? quality : 1))
        expect(known).toEqual(known.toSorted((left, right) => right - left))
      }),
    )
  })
})

describe("a table", () => {
  const path = "/api/v1/namespaces/default/pods"
  beforeAll(() => {
    sandbox.put("v1.Pod", {
      metadata: { name: "a" },
      spec: { containers: [{ name: "c" }] },
      status: { phase: "Pending" },
    })
  })

  test("shows ages by the server's own clock", async () => {
    const age = async (): Promise<unknown> => (await parsed<Table>(path, as("Table"))).rows[0]?.cells[4]
    expect(await age()).toBe("0s")
    clock.advance(310_000)
    expect(await age()).toBe("5m10s")
  })

  test.each([
    ["", "PartialObjectMetadata"],
    ["?includeObject=Metadata", "PartialObjectMetadata"],
    ["?includeObject=Object", "Pod"],
    ["?includeObject=None", undefined],
  ])("with %j has rows with %s", async (query, kind) => {
    const [row] = (await parsed<Table>(path + query, as("Table"))).rows
    expect((row?.object as { kind: string } | null | undefined)?.kind).toBe(kind)
  })

  test("of one object is a table of one row, under the version of the object", async () => {
    const table = await parsed<Table & { metadata: object }>(`${path}/a`, as("Table"))
    const version = sandbox.get("v1.Pod", "default", "a")?.metadata.resourceVersion
    expect([table.kind, table.metadata, table.rows.length]).toEqual(["Table", { resourceVersion: version }, 1])
  })

  test("in pages has a token for the next page", async () => {
    const page = await parsed<{ metadata: object }>("/api/v1/namespaces?limit=1", as("Table"))
    expect(page.metadata).toMatchObject({ continue: expect.stringMatching(/./), remainingItemCount: 1 })
  })

  test("watched is one of a row per event; the first names the columns, the bookmark has an empty row", async () => {
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    const watch = await Watch.open(`${sandbox.url}${path}?${query}`, { Accept: as("Table") })
    const next = async (): Promise<{ type: string; object: Table }> =>
      (await watch.next()) as unknown as { type: string; object: Table }
    const first = await next()
    expect([first.type, first.object.columnDefinitions?.[0]?.name]).toEqual(["ADDED", "Name"])
    const bookmark = await next()
    expect(bookmark).toMatchObject({
      type: "BOOKMARK",
      object: {
        columnDefinitions: null,
        rows: [
          {
            cells: ["", "0/0", "", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"],
            object: { metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
          },
        ],
      },
    })
    sandbox.put("v1.Pod", { metadata: { name: "a" }, status: { phase: "Running" } })
    sandbox.delete("v1.Pod", "default", "a")
    const [changed, deleted] = [await next(), await next()]
    expect([changed.type, changed.object.columnDefinitions, changed.object.rows[0]?.cells[2]]).toEqual([
      "MODIFIED",
      null,
      "Running",
    ])
    expect([deleted.type, deleted.object.rows[0]?.cells[0]]).toEqual(["DELETED", "a"])
    sandbox.bookmarkNow("pods")
    expect((await next()).object.kind).toBe("Table")
    watch.close()
  })
})

describe("metadata only", () => {
  test("of a custom object is in the order of ObjectMeta, without other members", async () => {
    const path = "/apis/read-side.example.com/v1/gadgets/read-side-g"
    const { text } = await ask(path, as("PartialObjectMetadata"))
    expect(text).toMatch(
      /^\{"kind":"PartialObjectMetadata","apiVersion":"meta\.k8s\.io\/v1","metadata":\{"name":"read-side-g","uid":"[^"]+","resourceVersion":"\d+","creationTimestamp":"[^"]+"\}\}$/,
    )
  })

  test("is watched event by event, with bookmarks of the same form", async () => {
    const watch = await Watch.open(
      `${sandbox.url}/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=${sandbox.resourceVersion}`,
      {
        Accept: as("PartialObjectMetadata"),
      },
    )
    sandbox.put("v1.ConfigMap", { metadata: { name: "c" }, data: { secret: "x" } })
    expect(await watch.next()).toMatchObject({ type: "ADDED", object: { kind: "PartialObjectMetadata" } })
    sandbox.bookmarkNow("configmaps")
    expect(await watch.next()).toMatchObject({ type: "BOOKMARK", object: { kind: "PartialObjectMetadata" } })
    expect(watch.lines.join("")).not.toContain("secret")
    watch.close()
  })
})

test("a watch with a field selector sees an object added, changed and deleted as the field changes", async () => {
  const query = "watch=1&resourceVersion=1&fieldSelector=spec.nodeName%3Dn1"
  sandbox.put("v1.Pod", { metadata: { name: "f" }, spec: { nodeName: "" } })
  const watch = await Watch.open(
    `${sandbox.url}/api/v1/pods?${query.replace("=1&field", `=${sandbox.resourceVersion}&field`)}`,
  )
  sandbox.put("v1.Pod", { metadata: { name: "f" }, spec: { nodeName: "n1" } })
  sandbox.put("v1.Pod", { metadata: { name: "f" }, spec: { nodeName: "n1" }, status: { phase: "Running" } })
  const { metadata } = sandbox.put("v1.Pod", { metadata: { name: "f" }, spec: { nodeName: "n2" } })
  const events = await watch.take(3)
  expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"])
  expect(events[2]?.object).toMatchObject({
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { nodeName: "n1" },
  })
  watch.close()
  const list = await parsed<{ items: object[] }>("/api/v1/pods?fieldSelector=spec.nodeName%3Dn2")
  expect(list.items).toHaveLength(1)
})

test("custom objects are selected by the fields that their definition names", async () => {
  sandbox.put(widget.gvk, { metadata: { name: "red" }, spec: { color: "red" } })
  sandbox.put(widget.gvk, { metadata: { name: "blue" }, spec: { color: "blue" } })
  sandbox.put(widget.gvk, { metadata: { name: "none" } })
  const names = async (selector: string): Promise<ReadonlyArray<string>> => {
    const path = `/apis/read-side.example.com/v1/widgets?fieldSelector=${encodeURIComponent(selector)}`
    return (await parsed<{ items: Array<{ metadata: { name: string } }> }>(path)).items.map(
      ({ metadata }) => metadata.name,
    )
  }
  expect(await names("spec.color=red")).toEqual(["red"])
  expect(await names("spec.color!=red")).toEqual(["blue", "none"])
  expect(await names("spec.color=")).toEqual(["none"])
})

test("an Event is one object in both of its kinds", async () => {
  const namespace = "/namespaces/default/events"
  const watch = await Watch.open(
    `${sandbox.url}/apis/events.k8s.io/v1${namespace}?watch=1&resourceVersion=${sandbox.resourceVersion}`,
  )
  const involvedObject = { kind: "Pod", name: "p", namespace: "default" }
  sandbox.put("v1.Event", { metadata: { name: "e" }, involvedObject, message: "m", reason: "R", count: 2 })
  const expected = {
    regarding: involvedObject,
    note: "m",
    reason: "R",
    deprecatedCount: 2,
    apiVersion: "events.k8s.io/v1",
  }
  expect(await parsed(`/apis/events.k8s.io/v1${namespace}/e`)).toMatchObject(expected)
  expect(await watch.next()).toMatchObject({ type: "ADDED", object: expected })
  watch.close()
  const list = await parsed<{ kind: string; items: object[] }>(`/apis/events.k8s.io/v1${namespace}`)
  expect([list.kind, Object.keys(list.items[0] ?? {}).includes("kind")]).toEqual(["EventList", false])

  sandbox.put("events.k8s.io/v1.Event", { metadata: { name: "n" }, regarding: involvedObject, note: "new" })
  expect(await parsed(`/api/v1${namespace}/n`)).toMatchObject({ apiVersion: "v1", involvedObject, message: "new" })
  expect(sandbox.get("events.k8s.io/v1.Event", "default", "n")).toMatchObject({
    regarding: involvedObject,
    note: "new",
  })
  const cells = async (group: string): Promise<unknown> =>
    (await parsed<Table>(`${group}${namespace}`, as("Table"))).rows.map((row) => row.cells)
  expect(await cells("/apis/events.k8s.io/v1")).toEqual(await cells("/api/v1"))
})
