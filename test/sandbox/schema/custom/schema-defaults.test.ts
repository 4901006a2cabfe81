import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { SchemaCatalogue } from "../../../../src/sandbox/schema/catalogue.ts"
import { customType } from "../../../../src/sandbox/schema/custom/custom-schema.ts"
import { applySchemaDefaults, dropNulls } from "../../../../src/sandbox/schema/custom/schema-defaults.ts"
import { anyJson } from "../arbitrary-objects.ts"

const type = customType({
  type: "object",
  properties: {
    spec: {
      type: "object",
      default: {},
      properties: {
        size: { type: "integer", default: 3 },
        note: { type: "string" },
        perhaps: { type: "string", nullable: true, default: "x" },
        parts: {
          type: "array",
          items: { type: "object", properties: { protocol: { type: "string", default: "TCP" } } },
        },
        named: {
          type: "object",
          additionalProperties: { type: "object", properties: { on: { type: "boolean", default: true } } },
        },
        options: {
          type: "object",
          default: { a: [1] },
          properties: { a: { type: "array", items: { type: "integer" } }, b: { type: "string", default: "b" } },
        },
      },
    },
  },
})

const defaulted = (value: unknown): unknown => {
  dropNulls(type, value)
  applySchemaDefaults(type, value)
  return value
}

describe("defaults of a structural schema", () => {
  test("fill in absent fields, also inside defaults, list items and map values", () => {
    expect(defaulted({})).toEqual({ spec: { size: 3, perhaps: "x", options: { a: [1], b: "b" } } })
    const value = {
      spec: { size: 5, perhaps: null, note: null, parts: [{}, { protocol: "UDP" }], named: { x: {} }, options: {} },
    }
    expect(defaulted(value)).toEqual({
      spec: {
        size: 5,
        perhaps: null,
        parts: [{ protocol: "TCP" }, { protocol: "UDP" }],
        named: { x: { on: true } },
        options: { b: "b" },
      },
    })
  })

  test("replace a null in a field that is not nullable", () => {
    expect(defaulted({ spec: { size: null } })).toMatchObject({ spec: { size: 3 } })
  })

  test("are copies", () => {
    const one = defaulted({}) as { spec: { options: { a: number[] } } }
    one.spec.options.a.push(2)
    expect(defaulted({})).toMatchObject({ spec: { options: { a: [1] } } })
  })

  test("change nothing the second time, whatever the value", () => {
    fc.assert(
      fc.property(anyJson, (spec) => {
        const value = defaulted({ spec })
        const text = JSON.stringify(value)
        expect(JSON.stringify(defaulted(value))).toBe(text)
      }),
    )
  })
})

test("defaults of a built-in kind are what OpenAPI states: zero values and the protocol of a port", () => {
  const pod = new SchemaCatalogue().of({ group: "", version: "v1", kind: "Pod" })
  if (pod === undefined) throw new Error("no Pod")
  const value = { spec: { containers: [{ name: "a", ports: [{ containerPort: 80 }] }] } }
  applySchemaDefaults(pod, value)
  expect(value).toEqual({
    metadata: {},
    spec: { containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "TCP" }], resources: {} }] },
    status: {},
  })
})
