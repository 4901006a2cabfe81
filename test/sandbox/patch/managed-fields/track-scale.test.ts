/** The owners of the replicas after writes to `/scale`: the steps of a real server (Kubernetes 1.34.4), entry by entry. */

import { expect, test } from "vitest"
import type { JsonObject } from "../../../../src/sandbox/patch/json/json-value.ts"
import { type TrackedScale, trackScale } from "../../../../src/sandbox/patch/managed-fields/track-scale.ts"

const scaled = (entries: unknown): JsonObject => ({ metadata: { managedFields: entries } }) as unknown as JsonObject
const update = { operation: "Update", apiVersion: "apps/v1", fieldsType: "FieldsV1" }
const replicas = { "f:spec": { "f:replicas": {} } }
const created = scaled([
  { ...update, manager: "me", time: "t", fieldsV1: { "f:spec": { "f:paused": {}, "f:replicas": {} } } },
])
const after = (before: JsonObject, rest: Partial<TrackedScale>): JsonObject =>
  scaled(trackScale({ before, manager: "me", apiVersion: "apps/v1", ...rest }))
const paused = { ...update, manager: "me", time: "t", fieldsV1: { "f:spec": { "f:paused": {} } } }

test("the same replicas again go to an entry without a time, and the next time lose their owner", () => {
  const once = after(created, { change: "unchanged" })
  expect(once).toEqual(scaled([{ ...update, manager: "me", fieldsV1: replicas }, paused]))
  const twice = after(once, { change: "changed" })
  expect(twice).toEqual(scaled([paused]))
  expect(after(twice, { change: "changed" })).toEqual(twice)
})

test("other replicas go to the writer's scale entry; 0, which a Scale does not write, has no owner", () => {
  const scale = { ...update, manager: "me", fieldsV1: replicas, subresource: "scale" }
  expect(after(created, {})).toEqual(scaled([scale, paused]))
  expect(after(created, { change: "removed" })).toEqual(scaled([paused]))
})

test("an applier keeps unchanged replicas, and an apply takes them from any owner", () => {
  const applied = scaled([{ ...update, operation: "Apply", manager: "ap", time: "t", fieldsV1: replicas }])
  expect(after(applied, { change: "unchanged" })).toEqual(applied)
  const taken = { ...update, operation: "Apply", manager: "me", fieldsV1: replicas, subresource: "scale" }
  expect(after(created, { operation: "Apply" })).toEqual(scaled([taken, paused]))
})
