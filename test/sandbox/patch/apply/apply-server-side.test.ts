import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { applyServerSide } from "../../../../src/sandbox/patch/apply/apply-server-side.ts"
import type { JsonObject, JsonValue } from "../../../../src/sandbox/patch/json/json-value.ts"
import { difference, type FieldSet, union } from "../../../../src/sandbox/patch/managed-fields/field-set.ts"
import { fieldsOf } from "../../../../src/sandbox/patch/managed-fields/fields-of.ts"
import type { ManagedFieldsEntry } from "../../../../src/sandbox/patch/managed-fields/managed-fields-entry.ts"
import { ApplyConflict } from "../../../../src/sandbox/patch/patch-failure.ts"
import { SchemaCatalogue } from "../../../../src/sandbox/schema/catalogue.ts"
import { applyStrategicMergePatch } from "../../../../src/sandbox/writes/request/patched-document.ts"
import { rounds } from "../../../harness/effort.ts"
import { thingType } from "../thing-type.ts"

const deploymentType = new SchemaCatalogue().of({ group: "apps", version: "v1", kind: "Deployment" })
if (deploymentType === undefined) throw new Error("no type of Deployments")

const thing = (spec: JsonValue, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "patchprobe.example.com/v1",
  kind: "Thing",
  metadata: { name: "t", ...metadata },
  spec,
})

interface Applying {
  readonly live?: JsonObject | undefined
  readonly manager?: string
  readonly force?: boolean
  readonly time?: string
}

const tryThing = (
  applied: JsonObject,
  { live, manager = "m", force = true, time = "2026-01-01T00:00:00Z" }: Applying = {},
) => applyServerSide({ type: thingType, live, applied, manager, force, apiVersion: "patchprobe.example.com/v1", time })

const applyThing = (applied: JsonObject, how: Applying = {}): JsonObject => {
  const answer = tryThing(applied, how)
  if ("object" in answer) return answer.object
  throw answer
}

const entriesOf = (object: JsonObject): ReadonlyArray<ManagedFieldsEntry> =>
  ((object.metadata as JsonObject).managedFields ?? []) as unknown as ReadonlyArray<ManagedFieldsEntry>

const port = fc.record(
  { port: fc.constantFrom(80, 443, 8080), protocol: fc.constantFrom("TCP", "UDP"), name: fc.constantFrom("a", "b") },
  { requiredKeys: ["port"] },
)
const spec = fc.record(
  {
    text: fc.constantFrom("a", "b"),
    list: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
    set: fc.uniqueArray(fc.constantFrom("x", "y", "z")),
    ports: fc.uniqueArray(port, { selector: (item) => `${item.port} ${item.protocol ?? "TCP"}`, maxLength: 3 }),
    labels: fc.dictionary(fc.constantFrom("p", "q"), fc.constantFrom("1", "2"), { noNullPrototype: true }),
    whole: fc.dictionary(fc.constantFrom("p", "q"), fc.constantFrom("1", "2"), { noNullPrototype: true }),
    nested: fc.record(
      { a: fc.integer({ min: 0, max: 2 }), b: fc.record({ c: fc.constant("k") }) },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>

describe("server-side apply", () => {
  it("of the same configuration changes nothing the second time, times included", () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = applyThing(thing(first), { manager: "other" })
        const once = applyThing(thing(second), { live })
        expect(applyThing(thing(second), { live: once, time: "2027-01-01T00:00:00Z" })).toEqual(once)
      }),
      { numRuns: rounds(300) },
    )
  })

  it("of nothing removes what no other manager owns", () => {
    fc.assert(
      fc.property(spec, (content) => {
        const live = applyThing(thing(content))
        const emptied = applyThing(
          { apiVersion: "patchprobe.example.com/v1", kind: "Thing", metadata: { name: "t" } },
          { live },
        )
        expect(entriesOf(emptied)).toEqual([])
        const left = fieldsOf(thingType, emptied)
        const applied = fieldsOf(thingType, thing(content))
        // Empty sets and keyed lists have no owner, so they are never removed.
        const own: FieldSet = { "f:apiVersion": {}, "f:kind": {}, "f:metadata": { "f:name": {} } }
        expect(difference(left, own)).toEqual(difference(left, union(own, applied)))
      }),
      { numRuns: rounds(300) },
    )
  })

  it("of two managers makes each own what it applied, without further fields", () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = applyThing(thing(first), { manager: "a" })
        const answer = tryThing(thing(second), { live, manager: "b", force: false })
        if (!("object" in answer)) {
          expect(answer.conflictCauses.length).toBeGreaterThan(0)
          return
        }
        const ownedBy = (manager: string): FieldSet =>
          entriesOf(answer.object).find((entry) => entry.manager === manager)?.fieldsV1 ?? {}
        const unowned: FieldSet = {
          "f:apiVersion": {},
          "f:kind": {},
          "f:metadata": { "f:managedFields": {}, "f:name": {} },
        }
        expect(ownedBy("a")).toEqual(difference(fieldsOf(thingType, thing(first)), unowned))
        expect(ownedBy("b")).toEqual(difference(fieldsOf(thingType, thing(second)), unowned))
        const all = union(union(ownedBy("a"), ownedBy("b")), unowned)
        expect(difference(fieldsOf(thingType, answer.object), all)).toEqual({})
      }),
      { numRuns: rounds(300) },
    )
  })

  it("with force leaves no field with two values' owners", () => {
    const live = applyThing(thing({ text: "a", number: 1 }), { manager: "a" })
    const refused = tryThing(thing({ text: "b", number: 1 }), { live, manager: "b", force: false })
    expect(refused).toBeInstanceOf(ApplyConflict)
    expect(refused).toMatchObject({
      message: 'Apply failed with 1 conflict: conflict with "a": .spec.text',
      conflictCauses: [{ reason: "FieldManagerConflict", message: 'conflict with "a"', field: ".spec.text" }],
    })
    const forced = applyThing(thing({ text: "b", number: 1 }), { live, manager: "b" })
    expect(entriesOf(forced).map(({ manager, fieldsV1 }) => [manager, fieldsV1])).toEqual([
      ["a", { "f:spec": { "f:number": {} } }],
      ["b", { "f:spec": { "f:number": {}, "f:text": {} } }],
    ])
  })

  it("keeps unowned fields beside those that it removes", () => {
    const created = applyThing(thing({ text: "a", number: 1 }, { labels: { l: "1" } }))
    const written = { ...(created.metadata as JsonObject), uid: "1", resourceVersion: "2", generation: 1 }
    const live = { ...created, metadata: written, spec: { ...(created.spec as JsonObject), flag: true } }
    const answer = applyThing(thing({ text: "a" }), { live })
    expect(answer).toEqual({
      ...thing({ text: "a", flag: true }, { uid: "1", resourceVersion: "2", generation: 1 }),
      metadata: {
        name: "t",
        uid: "1",
        resourceVersion: "2",
        generation: 1,
        managedFields: [expect.objectContaining({ fieldsV1: { "f:spec": { "f:text": {} } } })],
      },
    })
  })

  it("gives no time to a manager whose first configuration changes nothing", () => {
    const live = applyThing(thing({ text: "a" }), { manager: "a" })
    const [, entry] = entriesOf(
      applyThing(thing({ text: "a" }), { live, manager: "b", time: "2027-01-01T00:00:00Z" }),
    ).toSorted((left, right) => ((left.manager ?? "") < (right.manager ?? "") ? -1 : 1))
    expect(entry).toMatchObject({ manager: "b", operation: "Apply" })
    expect(entry).not.toHaveProperty("time")
  })

  it("names the owner of fields from before tracking", () => {
    const live = { ...thing({ text: "a", number: 1 }), metadata: { name: "t", uid: "1" } }
    expect(
      entriesOf(applyThing(thing({ text: "b" }), { live })).map(({ manager, fieldsV1 }) => [manager, fieldsV1]),
    ).toEqual([
      ["m", { "f:spec": { "f:text": {} } }],
      ["before-first-apply", { "f:spec": { ".": {}, "f:number": {} } }],
    ])
  })

  it("treats keys like __proto__ as any other", () => {
    const free = JSON.parse(`{"free":{"__proto__":{"polluted":true},"constructor":1}}`) as JsonObject
    const live = applyThing(thing(free))
    expect(JSON.stringify(live.spec)).toBe(JSON.stringify(free))
    const emptied = applyThing(thing({ text: "a" }), { live })
    expect(JSON.stringify(emptied.spec)).toBe(`{"text":"a"}`)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe("server-side apply refuses, as the server does,", () => {
  const header = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" } }
  const pod = (containers: JsonValue): JsonObject => ({ ...header, spec: { template: { spec: { containers } } } })

  it.each<[JsonObject, number, string]>([
    [{ ...header, metadata: { name: "d", managedFields: [{}] } }, 400, "metadata.managedFields must be nil"],
    [{ ...header, metadata: { name: "d", managedFields: [] } }, 400, "metadata.managedFields must be nil"],
    [{ ...header, apiVersion: "apps/v1beta1" }, 400, "invalid object type: apps/v1beta1, Kind=Deployment"],
    [{ kind: "Deployment" }, 400, "invalid object type: /, Kind=Deployment"],
    [{}, 400, "invalid object type: /, Kind="],
    [{ ...header, spec: { nope: 1 } }, 500, ".spec.nope: field not declared in schema"],
    [{ ...header, spec: { paused: "x" } }, 500, ".spec.paused: expected boolean, got string"],
    [{ ...header, spec: { replicas: "x" } }, 500, ".spec.replicas: expected number, got string"],
    [{ ...header, spec: { template: { spec: { schedulerName: { a: 1 } } } } }, 500, ".schedulerName: expected string"],
    [{ ...header, spec: { template: { spec: [1, "b"] } } }, 500, ".spec.template.spec: expected object, got array"],
    [pod({ a: [1, { b: 2 }] }), 500, ".spec.template.spec.containers: expected list, got object"],
    [pod([null]), 500, ".spec.template.spec.containers: item 0"],
    [pod([3]), 500, ".spec.template.spec.containers: item 0"],
    [
      pod([{ name: "a" }, { name: "a", image: 3 }]),
      500,
      'duplicate entries for key [name="a"]; .spec.template.spec.containers[name="a"].image: expected string, got number',
    ],
    [
      { ...header, metadata: { name: "d", finalizers: ["a", "a"] } },
      500,
      '.metadata.finalizers: duplicate entries for key [="a"]',
    ],
    [{ ...header, metadata: { name: "d", finalizers: ["a", null] } }, 500, ".metadata.finalizers: item 1"],
    [{ ...header, metadata: { name: "d", finalizers: [{ a: 1 }] } }, 500, ".metadata.finalizers: item 0"],
    [{ ...header, metadata: { name: "d", finalizers: [["a"]] } }, 500, ".metadata.finalizers: item 0"],
  ])("%j", (applied, code, message) => {
    const request = {
      type: deploymentType,
      live: undefined,
      applied,
      manager: "m",
      force: false,
      time: "2026-01-01T00:00:00Z",
    }
    let failure: unknown
    try {
      applyServerSide({ ...request, apiVersion: "apps/v1", kind: "Deployment" })
    } catch (cause) {
      failure = cause
    }
    expect(failure).toMatchObject({
      code,
      message: expect.stringContaining(message),
      reason: code === 400 ? "BadRequest" : undefined,
    })
  })
})

describe("kubectl apply --server-side", () => {
  const type = new SchemaCatalogue().of({ group: "", version: "v1", kind: "ConfigMap" })
  if (type === undefined) throw new Error("no type of ConfigMaps")
  const header = { apiVersion: "v1", kind: "ConfigMap" }
  const annotation = "kubectl.kubernetes.io/last-applied-configuration"
  const live = {
    ...header,
    metadata: {
      name: "c",
      uid: "1",
      annotations: { [annotation]: `${JSON.stringify({ ...header, data: { a: "1" }, metadata: { name: "c" } })}\n` },
      managedFields: [
        {
          manager: "kubectl-client-side-apply",
          operation: "Update",
          apiVersion: "v1",
          time: "2026-01-01T00:00:00Z",
          fieldsType: "FieldsV1",
          fieldsV1: {
            "f:data": { ".": {}, "f:a": {} },
            "f:metadata": { "f:annotations": { ".": {}, [`f:${annotation}`]: {} } },
          },
        },
      ],
    },
    data: { a: "1" },
  }
  const apply = (data: JsonObject, manager: string, object: JsonObject = live) =>
    applyServerSide({
      type,
      live: object,
      applied: { ...header, metadata: { name: "c" }, data },
      manager,
      force: false,
      apiVersion: "v1",
      time: "2026-01-02T00:00:00Z",
    })

  it("takes over what kubectl apply set, and keeps its annotation up to date", () => {
    const answer = apply({ a: "<2>" }, "kubectl")
    if (!("object" in answer)) throw answer
    expect(answer.object).toMatchObject({
      data: { a: "<2>" },
      metadata: {
        annotations: {
          [annotation]:
            '{"apiVersion":"v1","data":{"a":"\\u003c2\\u003e"},"kind":"ConfigMap","metadata":{"name":"c"}}\n',
        },
      },
    })
    expect(entriesOf(answer.object).map(({ manager, fieldsV1 }) => [manager, JSON.stringify(fieldsV1)])).toEqual([
      ["kubectl", '{"f:data":{"f:a":{}}}'],
      ["kubectl-client-side-apply", `{"f:data":{},"f:metadata":{"f:annotations":{".":{},"f:${annotation}":{}}}}`],
    ])
  })

  it("conflicts if the field has changed since, and for every other manager", () => {
    expect(apply({ a: "2" }, "someone")).toMatchObject({
      message: 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.a',
    })
    expect(apply({ a: "2" }, "kubectl", { ...live, data: { a: "3" } })).toBeInstanceOf(ApplyConflict)
  })
})

describe("a strategic merge patch", () => {
  it("with the present values changes nothing", () => {
    const container = fc.record({ name: fc.constantFrom("a", "b", "c"), image: fc.constantFrom("x", "y") })
    const podSpec = fc.record({
      containers: fc.uniqueArray(container, { selector: ({ name }) => name, minLength: 1 }),
      nodeSelector: fc.dictionary(fc.constantFrom("k", "l"), fc.constantFrom("1", "2"), { noNullPrototype: true }),
    })
    fc.assert(
      fc.property(podSpec, (content) => {
        const document = { spec: { replicas: 1, template: { spec: content } } }
        expect(applyStrategicMergePatch(document, {}, deploymentType)).toEqual(document)
        expect(applyStrategicMergePatch(document, document, deploymentType)).toEqual(document)
      }),
    )
  })

  it("treats __proto__ as a member like any other", () => {
    const patch = JSON.parse(`{"metadata":{"annotations":{"__proto__":"x"}}}`) as JsonValue
    const patched = applyStrategicMergePatch({ metadata: { annotations: { a: "1" } } }, patch, deploymentType)
    expect(JSON.stringify(patched)).toBe(`{"metadata":{"annotations":{"a":"1","__proto__":"x"}}}`)
  })
})
