import { expect, test } from "vitest"
import type { JsonObject } from "../../../src/trace/json/exact-json.ts"
import { managersBetween } from "../../../src/trace/json/field-managers.ts"

const entry = (manager: string, time: string, fields: ReadonlyArray<string>, subresource?: string): JsonObject => ({
  ...{ manager, operation: "Update", apiVersion: "apps/v1", time, fieldsType: "FieldsV1" },
  fieldsV1: Object.fromEntries(fields.map((field) => [`f:${field}`, {}])),
  ...(subresource !== undefined && { subresource }),
})
const object = (...managedFields: ReadonlyArray<JsonObject>): JsonObject => ({ metadata: { managedFields } })
const names = (before: JsonObject | undefined, after: JsonObject) =>
  managersBetween(before, after)?.map(({ manager, subresource }) => `${manager} ${subresource}`.trim())

const kubectl = entry("kubectl", "2026-01-01T00:00:00Z", ["a"])
const controller = entry("controller", "2026-01-01T00:00:05Z", ["b"], "status")

test("who changed an object is whose entry is new or has another time", () => {
  expect(names(object(kubectl), object(kubectl, controller))).toEqual(["controller status"])
  const later = entry("kubectl", "2026-01-01T00:01:00Z", ["a"])
  expect(names(object(kubectl, controller), object(later, controller))).toEqual(["kubectl"])
})

test("a second write within the same second is known by the fields that it set", () => {
  expect(names(object(kubectl), object(entry("kubectl", "2026-01-01T00:00:00Z", ["a", "c"])))).toEqual(["kubectl"])
  expect(names(object(kubectl), object(kubectl))).toEqual([])
})

test("of a new object all are named, the last writer first; without managedFields nothing is known", () => {
  expect(names(undefined, object(kubectl, controller))).toEqual(["controller status", "kubectl"])
  expect(managersBetween(object(kubectl), { metadata: {} })).toBeUndefined()
})
