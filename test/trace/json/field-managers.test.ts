import { expect, test } from "vitest"
import type { JsonObject, JsonValue } from "../../../src/trace/json/exact-json.ts"
import { managersBetween } from "../../../src/trace/json/field-managers.ts"

const entry = (manager: string, time: string, fields: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...{ manager, operation: "Update", apiVersion: "apps/v1", ...(time !== "" && { time: `2026-01-01T00:00:${time}Z` }) },
  ...{ fieldsType: "FieldsV1", fieldsV1: fields, ...more },
})
const fields = (...names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [`f:${name}`, {}])) as JsonObject
const object = (managedFields: ReadonlyArray<JsonValue>, members: JsonObject = {}): JsonObject => ({
  metadata: { managedFields },
  ...members,
})
/** µs since the Unix epoch of the same minute. */
const at = (second: number): number => Date.UTC(2026, 0, 1, 0, 0, 0, second * 1000) * 1000
const names = (before: JsonObject | undefined, after: JsonObject, time?: number) =>
  managersBetween(before, after, time)?.map(({ manager, subresource }) => `${manager} ${subresource}`.trim())

const status = { subresource: "status" }
const scale = { subresource: "scale" }
const kubectl = entry("kubectl", "00", fields("a", "b"))
const controller = entry("controller", "05", fields("c"), status)

test("a manager wrote a change if its entry is new, or has a later time", () => {
  expect(names(object([kubectl]), object([kubectl, controller]))).toEqual(["controller status"])
  const later = entry("kubectl", "30", fields("a", "b"))
  expect(names(object([kubectl, controller]), object([later, controller]))).toEqual(["kubectl"])
})

test("one that only lost fields did not write: another took them, or a field is gone", () => {
  const less = entry("kubectl", "00", fields("a"))
  const other = entry("edit", "09", fields("b"))
  expect(names(object([kubectl]), object([less, other]))).toEqual(["edit"])
  expect(names(object([kubectl]), object([less]))).toEqual([])
  const nested = (...inner: ReadonlyArray<string>) =>
    entry("kubectl", "00", { "f:labels": { ".": {}, ...fields(...inner) } })
  expect(names(object([nested("x", "y")]), object([nested("x")]))).toEqual([])
  // The map itself is still a field of the entry.
  const mapAlone = entry("kubectl", "00", fields("labels"))
  expect(names(object([nested("x")]), object([mapAlone]))).toEqual([])
  const memberAlone = entry("kubectl", "00", { "f:labels": fields("x") })
  expect(names(object([memberAlone]), object([mapAlone]))).toEqual(["kubectl"])
})

test("one that owns a map and nothing in it did not write what others own there, also within the same second", () => {
  const whole = entry("apply", "00", { "f:spec": { ".": {}, ...fields("size") } })
  const [mapAlone, patch] = [entry("apply", "00", fields("spec")), entry("patch", "00", { "f:spec": fields("size") })]
  const [one, two, three] = [1, 2, 3].map((size) => ({ spec: { size } }))
  expect(names(object([whole], one), object([mapAlone, patch], two), at(0.5))).toEqual(["patch"])
  expect(names(object([mapAlone, patch], two), object([mapAlone, patch], three), at(0.9))).toEqual(["patch"])
})

test("a second write within the same second is known by the fields that it added", () => {
  expect(names(object([kubectl]), object([entry("kubectl", "00", fields("a", "b", "d"))]))).toEqual(["kubectl"])
  expect(names(object([kubectl]), object([kubectl]))).toEqual([])
})

test("or by the values of its fields, if the change was recorded within that second", () => {
  const before = object([kubectl, controller], { a: 1, b: { x: [1] }, c: 1 })
  const changed = (members: JsonObject) => object([kubectl, controller], { a: 1, b: { x: [1] }, c: 1, ...members })
  expect(names(before, changed({ a: 2 }), at(0.9))).toEqual(["kubectl"])
  expect(names(before, changed({ b: { x: [2] } }), at(1.9))).toEqual(["kubectl"])
  expect(names(before, changed({ c: 2 }), at(5.2))).toEqual(["controller status"])
  expect(names(before, changed({}), at(0.9))).toEqual([])
  // Then its entry would have a later time. The API server itself counts an eviction down in a PodDisruptionBudget's status.
  expect(names(before, changed({ a: 2 }), at(4))).toEqual([])
  expect(names(before, changed({ c: 2 }), at(0.5))).toEqual([])
})

test("kubectl's second change of scale is named, whose entry has no time and no new field", () => {
  const scaler = entry("kubectl", "", { "f:spec": fields("replicas") }, scale)
  const deployment = (replicas: number, ...more: ReadonlyArray<JsonObject>) =>
    object([entry("apply", "03", fields("spec")), ...more], { spec: { replicas } })
  expect(names(deployment(1), deployment(2, scaler))).toEqual(["kubectl scale"])
  expect(names(deployment(2, scaler), deployment(3, scaler))).toEqual(["kubectl scale"])
  expect(names(deployment(2, scaler), deployment(2, scaler))).toEqual([])
  // Another program sets replicas, and so the entry goes.
  const edit = entry("edit", "20", { "f:spec": fields("replicas") })
  expect(names(deployment(2, scaler), deployment(5, edit))).toEqual(["edit"])
})

test("values are found in items of lists, by their keys", () => {
  const key = 'k:{"name":"web"}'
  const writer = entry("kubectl", "", { "f:containers": { [key]: { ".": {}, "f:image": {} } } })
  const pod = (image: string, other: string) =>
    object([writer], {
      containers: [
        { name: "log", image: other },
        { name: "web", image },
      ],
    })
  expect(names(pod("a", "x"), pod("b", "x"))).toEqual(["kubectl"])
  expect(names(pod("a", "x"), pod("a", "y"))).toEqual([])
})

test("an owner of a map that was empty has not written what others put into it", () => {
  const creator = entry("create", "", { "f:securityContext": {} })
  const edit = entry("edit", "20", { "f:securityContext": fields("runAsUser") })
  const before = object([creator], { securityContext: {} })
  expect(names(before, object([creator, edit], { securityContext: { runAsUser: 1 } }))).toEqual(["edit"])
})

test("of a new object all are named, those without a time first, then the last writer", () => {
  const scaler = entry("kubectl", "", {}, scale)
  expect(names(undefined, object([kubectl, controller, scaler]))).toEqual([
    "kubectl scale",
    "controller status",
    "kubectl",
  ])
})

test("nothing is known without managedFields in one of the states", () => {
  expect(managersBetween(object([kubectl]), { metadata: {} })).toBeUndefined()
  expect(managersBetween({ metadata: {} }, object([kubectl]))).toBeUndefined()
  expect(managersBetween(undefined, { metadata: {} })).toBeUndefined()
})

test("names that the API server makes up for old fields are no programs", () => {
  const madeUp = ["ancient-changes", "before-first-apply"].map((name) => entry(name, "09", fields("a")))
  expect(names(undefined, object([kubectl, ...madeUp]))).toEqual(["kubectl"])
  expect(names(object([kubectl]), object(madeUp))).toEqual([])
})

test("an applier has one entry, whatever the API version it applies", () => {
  const apply = (apiVersion: string) => entry("ci", "00", fields("a"), { operation: "Apply", apiVersion })
  expect(names(object([apply("autoscaling/v1")]), object([apply("autoscaling/v2")]))).toEqual([])
})

test("foreign data of any shape names nobody and does no harm", () => {
  const strange = [
    1,
    "x",
    null,
    {},
    { manager: "a", fieldsV1: [1], time: 5 },
    { manager: "a", fieldsV1: { "k:{": {}, "i:x": 1 } },
  ]
  expect(names(object(strange as ReadonlyArray<JsonValue>), object(strange as ReadonlyArray<JsonValue>))).toEqual([])
})
