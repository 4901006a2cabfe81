import { describe, expect, it } from "vitest"
import { applyServerSide } from "../../../../src/sandbox/patch/apply/apply-server-side.ts"
import type { JsonObject, JsonValue } from "../../../../src/sandbox/patch/json/json-value.ts"
import type { ManagedFields } from "../../../../src/sandbox/patch/managed-fields/managed-fields-entry.ts"
import { type TrackedUpdate, trackUpdate } from "../../../../src/sandbox/patch/managed-fields/track-update.ts"
import { SchemaCatalogue } from "../../../../src/sandbox/schema/catalogue.ts"
import { thingType } from "../thing-type.ts"

const catalogue = new SchemaCatalogue()
const configMapType = catalogue.of({ group: "", version: "v1", kind: "ConfigMap" })
const deploymentType = catalogue.of({ group: "apps", version: "v1", kind: "Deployment" })
if (configMapType === undefined || deploymentType === undefined) throw new Error("types missing")

const time = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`

const configMap = (data: JsonObject, managedFields?: ManagedFields | JsonValue): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "c",
    uid: "1",
    ...(managedFields === undefined ? {} : { managedFields: managedFields as JsonValue }),
  },
  data,
})

const write = (before: JsonObject | undefined, after: JsonObject, rest: Partial<TrackedUpdate> = {}): ManagedFields =>
  trackUpdate({
    type: configMapType,
    before,
    after,
    manager: "m",
    apiVersion: "v1",
    operation: "Update",
    time: time(0),
    ...rest,
  })

const summary = (entries: ManagedFields): string[] =>
  entries.map(({ manager, time: at, fieldsV1 }) => `${manager} ${at?.slice(17, 19)} ${JSON.stringify(fieldsV1)}`)

describe("an update", () => {
  const created = configMap({ a: "1", b: "1" }, write(undefined, configMap({ a: "1", b: "1" })))

  it("gives the writer what it changed and takes it from all others", () => {
    const entries = write(created, configMap({ a: "2", c: "1" }), { manager: "n", time: time(1) })
    expect(summary(entries)).toEqual(['m 00 {"f:data":{}}', 'n 01 {"f:data":{"f:a":{},"f:c":{}}}'])
  })

  it("that only removes leaves the writer as it was", () => {
    const entries = write(created, configMap({ a: "1" }), { time: time(1) })
    expect(summary(entries)).toEqual(['m 00 {"f:data":{".":{},"f:a":{}}}'])
  })

  it("that changes nothing shares the stored entries", () => {
    const stored = (created.metadata as JsonObject).managedFields
    expect(write(created, configMap({ a: "1", b: "1" }), { time: time(9), manager: "n" })).toBe(stored)
    const sentBack = JSON.parse(JSON.stringify(created)) as JsonObject
    expect(write(created, sentBack, { time: time(9), manager: "n" })).toBe(stored)
  })

  it("leaves fields that the server writes without an owner", () => {
    const after = {
      ...created,
      metadata: { name: "other", uid: "2", generation: 4, resourceVersion: "9", labels: { l: "1" } },
    }
    expect(summary(write(created, after, { manager: "n" }))).toEqual([
      'm 00 {"f:data":{".":{},"f:a":{},"f:b":{}}}',
      'n 00 {"f:metadata":{"f:labels":{".":{},"f:l":{}}}}',
    ])
  })

  it("of another version has its own entry, an apply of another version has not", () => {
    const entries = write(created, configMap({ a: "2", b: "1" }), { apiVersion: "v2", time: time(1) })
    expect(entries.map(({ manager, apiVersion }) => [manager, apiVersion])).toEqual([
      ["m", "v1"],
      ["m", "v2"],
    ])
    const apply = (live: JsonObject | undefined, apiVersion: string): JsonObject => {
      const applied = { ...configMap({ a: "1" }), apiVersion }
      const answer = applyServerSide({
        type: configMapType,
        live,
        applied,
        manager: "m",
        force: false,
        apiVersion,
        time: time(0),
      })
      if ("object" in answer) return answer.object
      throw answer
    }
    const { managedFields } = apply(apply(undefined, "v1"), "v2").metadata as { managedFields: ManagedFields }
    expect(managedFields.map(({ manager, apiVersion }) => [manager, apiVersion])).toEqual([["m", "v2"]])
  })

  it("merges the oldest updaters when there are more than ten", () => {
    let object = configMap({ a: "1" }, write(undefined, configMap({ a: "1" }), { manager: "m0" }))
    for (let index = 1; index <= 12; index++) {
      const data = { ...(object.data as JsonObject), [`k${index}`]: "1" }
      object = configMap(data, write(object, configMap(data), { manager: `m${index}`, time: time(index) }))
    }
    const lines = summary((object.metadata as { managedFields: ManagedFields }).managedFields)
    expect(lines).toHaveLength(10)
    expect(lines.slice(0, 2)).toEqual([
      'ancient-changes 03 {"f:data":{".":{},"f:a":{},"f:k1":{},"f:k2":{},"f:k3":{}}}',
      'm4 04 {"f:data":{"f:k4":{}}}',
    ])
  })

  it.each([[[]], [[{}]]])("with managedFields %j ends all tracking", (managedFields) => {
    const reset = configMap({ a: "3" }, write(created, configMap({ a: "3" }, managedFields)))
    expect((reset.metadata as JsonObject).managedFields).toEqual([])
    expect(write(configMap({ a: "3" }), configMap({ a: "4" }))).toEqual([])
  })

  it("may set managedFields, which are sorted", () => {
    const sent = [
      {
        manager: "x",
        operation: "Update",
        apiVersion: "v1",
        time: "2026-11-21T01:00:00+01:00",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:z": {}, "f:q": {}, ".": {} }, "v:3.0": {}, 'k:{"b":1,"a":"<"}': { ".": {} } },
      },
    ]
    expect(JSON.stringify(write(created, configMap({ a: "1", b: "1" }, sent)))).toBe(
      JSON.stringify([
        {
          manager: "x",
          operation: "Update",
          apiVersion: "v1",
          time: "2026-11-21T00:00:00Z",
          fieldsType: "FieldsV1",
          fieldsV1: { "f:data": { ".": {}, "f:q": {}, "f:z": {} }, 'k:{"a":"\\u003c","b":1}': {}, "v:3": {} },
        },
      ]),
    )
  })

  it.each([
    [[{ manager: "x", operation: "Delete", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} }]],
    [[{ manager: "x", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV2", fieldsV1: {} }]],
    [[{ manager: "x", operation: "Update", apiVersion: "", fieldsType: "FieldsV1", fieldsV1: {} }]],
    [[{ manager: "x", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: { nonsense: {} } }]],
  ])("with managedFields that cannot be read keeps the stored ones", (sent) => {
    expect(write(created, configMap({ a: "1", b: "1" }, sent))).toBe((created.metadata as JsonObject).managedFields)
  })

  it("of a subresource cannot set managedFields", () => {
    const entries = write(created, configMap({ a: "1", b: "1" }, []), { subresource: "status" })
    expect(entries).toBe((created.metadata as JsonObject).managedFields)
  })

  it("does not count fields that the endpoint resets", () => {
    const before = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: { replicas: 0 },
      status: {},
    }
    const after = { ...before, spec: { replicas: 1 }, status: { replicas: 7 } }
    const entries = write(before, after, { type: deploymentType, resetFields: [["status"]] })
    expect(summary(entries)).toEqual(['m 00 {"f:spec":{"f:replicas":{}}}'])
  })

  it("that creates a custom object owns its parts too, unlike one of a built-in kind", () => {
    const after = { apiVersion: "x/v1", kind: "Thing", metadata: { name: "t" }, spec: { nested: { a: 1 } } }
    expect(summary(write({}, after, { type: thingType }))).toEqual([
      'm 00 {"f:spec":{".":{},"f:nested":{".":{},"f:a":{}}}}',
    ])
    const deployment = { ...after, kind: "Deployment", spec: { replicas: 0, strategy: { type: "Recreate" } } }
    expect(summary(write(undefined, deployment, { type: deploymentType }))).toEqual([
      'm 00 {"f:spec":{"f:replicas":{},"f:strategy":{"f:type":{}}}}',
    ])
  })
})
