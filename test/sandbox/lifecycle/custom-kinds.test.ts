/** Kinds that a CustomResourceDefinition adds, changes and removes. */

import { expect, test } from "vitest"
import type { Sandbox } from "../../../src/library/sandbox.ts"
import { Watch } from "../client.ts"
import { open } from "../opened-sandbox.ts"
import { applyPatch, bodyOf, mergePatch, send, sendFor, strategicPatch } from "../writes/write-client.ts"

const start = (): Promise<Sandbox> => open({ bookmarkInterval: 0 })

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const widgets = "/apis/example.com/v1/namespaces/default/widgets"

const spec = (properties: object) => ({
  type: "object",
  properties: {
    spec: { type: "object", properties },
    status: { type: "object", properties: { size: { type: "integer" } } },
  },
})

const definition = (properties: object = { size: { type: "integer" }, color: { type: "string", default: "red" } }) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: spec(properties) },
        subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
      },
      { name: "v1alpha1", served: true, storage: false, schema: { openAPIV3Schema: spec(properties) } },
    ],
  },
})

const widget = (name: string, size: unknown = 1) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec: { size },
})

const conditions = (status: Readonly<Record<string, unknown>>): ReadonlyArray<string> =>
  (status.conditions as ReadonlyArray<{ type: string; status: string }>).map((one) => `${one.type}=${one.status}`)

test("a kind is served as soon as its definition is created", async () => {
  const sandbox = await start()
  expect((await send(sandbox, "GET", widgets)).status).toBe(404)
  await sendFor(sandbox, 201, "POST", definitions, definition())
  const { status } = await sendFor(sandbox, 200, "GET", `${definitions}/widgets.example.com`)
  expect(conditions(status)).toEqual(["NamesAccepted=True", "Established=True"])
  expect(status).toMatchObject({ acceptedNames: { plural: "widgets", singular: "widget" }, storedVersions: ["v1"] })
  const made = await sendFor(sandbox, 201, "POST", widgets, widget("a"))
  expect(made.spec).toEqual({ size: 1, color: "red" })
  const discovered = (await send(sandbox, "GET", "/apis/example.com/v1")).text
  for (const name of ['"widgets"', '"widgets/status"', '"widgets/scale"', '"wd"']) expect(discovered).toContain(name)
  expect((await send(sandbox, "GET", "/openapi/v3")).text).toContain("apis/example.com/v1")
})

test("objects are pruned, defaulted and checked against the schema", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", definitions, definition())
  const pruned = await send(sandbox, "POST", widgets, { ...widget("a"), spec: { size: 1, nope: true } })
  expect([pruned.status, pruned.warnings, bodyOf(pruned).spec]).toEqual([
    201,
    ['unknown field "spec.nope"'],
    { color: "red", size: 1 },
  ])
  const wrong = await send(sandbox, "POST", widgets, widget("b", "big"))
  expect([wrong.status, bodyOf(wrong).message]).toEqual([
    422,
    'Widget.example.com "b" is invalid: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
  ])
  expect((await send(sandbox, "PATCH", `${widgets}/a`, { spec: { size: "x" } }, mergePatch)).status).toBe(422)
  expect((await send(sandbox, "PATCH", `${widgets}/a`, {}, strategicPatch)).status).toBe(415)
  expect((await send(sandbox, "PUT", `${widgets}/a`, widget("a", 2))).status).toBe(422)
})

test("status, scale and apply work as for built-in kinds", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", definitions, definition())
  const path = `${widgets}/a?fieldManager=m`
  await sendFor(sandbox, 201, "PATCH", path, JSON.stringify(widget("a", 3)), applyPatch)
  const both = { spec: { size: 9 }, status: { size: 2 } }
  const updated = await sendFor(sandbox, 200, "PATCH", `${widgets}/a/status`, both, mergePatch)
  expect([updated.spec.size, updated.status, updated.metadata.generation]).toEqual([3, { size: 2 }, 1])
  const scale = await sendFor(sandbox, 200, "PATCH", `${widgets}/a/scale`, { spec: { replicas: 5 } }, mergePatch)
  expect([scale.spec, scale.status]).toEqual([{ replicas: 5 }, { replicas: 2 }])
  expect(sandbox.get("example.com/v1.Widget", "default", "a")?.spec).toEqual({ color: "red", size: 5 })
})

test("a member with any name is a part of the object: a change of it is a new generation", async () => {
  const sandbox = await start()
  const { metadata, ...open } = definition()
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
  const versions = [{ name: "v1", served: true, storage: true, schema }]
  await sendFor(sandbox, 201, "POST", definitions, { ...open, metadata, spec: { ...open.spec, versions } })
  await sendFor(sandbox, 201, "POST", widgets, { ...widget("a"), "*": 1, "a.b": 1 })
  for (const [member, generation] of [
    ["*", 2],
    ["a.b", 3],
  ] as const) {
    const changed = await sendFor(sandbox, 200, "PATCH", `${widgets}/a`, { [member]: 2 }, mergePatch)
    expect(changed).toMatchObject({ [member]: 2, metadata: { generation } })
  }
})

test("all versions show the same objects", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", definitions, definition())
  const alpha = widgets.replace("/v1/", "/v1alpha1/")
  await sendFor(sandbox, 201, "POST", alpha, { ...widget("a"), apiVersion: "example.com/v1alpha1" })
  const stored = JSON.parse((await send(sandbox, "GET", `${widgets}/a`)).text)
  expect(stored).toMatchObject({ apiVersion: "example.com/v1", spec: { size: 1 } })
  const seen = JSON.parse((await send(sandbox, "PATCH", `${alpha}/a`, { spec: { size: 2 } }, mergePatch)).text)
  expect(seen).toMatchObject({ apiVersion: "example.com/v1alpha1", spec: { size: 2 } })
  await sendFor(sandbox, 200, "DELETE", `${alpha}/a`)
  expect((await send(sandbox, "GET", `${widgets}/a`)).status).toBe(404)
})

test("a changed schema applies from the next write; the watches of the kind end", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", definitions, definition())
  await sendFor(sandbox, 201, "POST", widgets, widget("a"))
  const watch = await Watch.open(`${sandbox.url}/apis/example.com/v1/widgets?watch=1`)
  await watch.next()
  const current = await sendFor(sandbox, 200, "GET", `${definitions}/widgets.example.com`)
  const changed = { ...current, spec: definition({ size: { type: "integer", maximum: 5 } }).spec }
  await sendFor(sandbox, 200, "PUT", `${definitions}/widgets.example.com`, changed)
  expect(await watch.ended).toBe("clean")
  expect((await send(sandbox, "PATCH", `${widgets}/a`, { spec: { size: 6 } }, mergePatch)).status).toBe(422)
  await sendFor(sandbox, 200, "PATCH", `${widgets}/a`, { spec: { size: 5 } }, mergePatch)
})

test("a deleted definition is removed with its objects, those with finalizers last", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", definitions, definition())
  await sendFor(sandbox, 201, "POST", widgets, widget("a"))
  const kept = { ...widget("b"), metadata: { name: "b", finalizers: ["x.io/y"] } }
  await sendFor(sandbox, 201, "POST", widgets, kept)
  const going = await sendFor(sandbox, 200, "DELETE", `${definitions}/widgets.example.com`)
  expect(conditions(going.status)).toContain("Terminating=True")
  expect((await sendFor(sandbox, 200, "GET", widgets)).items.map(({ metadata }) => metadata.name)).toEqual(["b"])
  await sendFor(sandbox, 200, "PATCH", `${widgets}/b`, { metadata: { finalizers: null } }, mergePatch)
  expect((await send(sandbox, "GET", `${definitions}/widgets.example.com`)).status).toBe(404)
  expect((await send(sandbox, "GET", widgets)).text).toBe("404 page not found\n")
  await sendFor(sandbox, 201, "POST", definitions, definition())
  await sendFor(sandbox, 201, "POST", widgets, widget("a"))
})

test("a definition whose path is taken is not established", async () => {
  const sandbox = await start()
  sandbox.register({ gvk: { group: "example.com", version: "v1", kind: "Other" }, plural: "widgets", namespaced: true })
  await sendFor(sandbox, 201, "POST", definitions, definition())
  const { status } = await sendFor(sandbox, 200, "GET", `${definitions}/widgets.example.com`)
  expect(conditions(status)).toEqual(["NamesAccepted=False", "Established=False"])
})

test("a replaced history has the kinds of its own definitions", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", definitions, definition())
  await sendFor(sandbox, 201, "POST", widgets, widget("a"))
  const after = BigInt(sandbox.resourceVersion)
  await sendFor(sandbox, 200, "DELETE", `${widgets}/a`)
  sandbox.faults.restart({ revision: after })
  expect((await sendFor(sandbox, 200, "GET", widgets)).items).toHaveLength(1)
  sandbox.faults.restart({ revision: "new" })
  expect((await send(sandbox, "GET", widgets)).status).toBe(404)
  await sendFor(sandbox, 201, "POST", definitions, definition())
  expect((await sendFor(sandbox, 200, "GET", widgets)).items).toEqual([])
})

test("every response about a deprecated version has a warning, in the definition's words or the server's own", async () => {
  const sandbox = await start()
  const [v1, v1alpha1] = definition().spec.versions
  const versions = [
    v1,
    { ...v1alpha1, deprecated: true },
    { ...v1alpha1, name: "v2", deprecated: true },
    { ...v1alpha1, name: "v3alpha1", deprecated: true, deprecationWarning: "use something else" },
  ]
  const deprecating = { ...definition(), spec: { ...definition().spec, versions } }
  await sendFor(sandbox, 201, "POST", definitions, deprecating)
  await sendFor(sandbox, 201, "POST", widgets, widget("a"))
  const warningsOf = async (version: string): Promise<ReadonlyArray<string>> =>
    (await send(sandbox, "GET", `/apis/example.com/${version}/namespaces/default/widgets/a`)).warnings
  expect(await warningsOf("v1")).toEqual([])
  expect(await warningsOf("v1alpha1")).toEqual(["example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget"])
  // No newer version is served.
  expect(await warningsOf("v2")).toEqual(["example.com/v2 Widget is deprecated"])
  expect(await warningsOf("v3alpha1")).toEqual(["use something else"])
})
