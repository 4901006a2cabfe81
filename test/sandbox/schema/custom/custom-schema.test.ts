import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { explained, type StructuralSchema } from "../../../../src/apiserver/index.ts"
import { checkCustomValue } from "../../../../src/sandbox/schema/custom/custom-schema.ts"
import { anyJson } from "../arbitrary-objects.ts"

const leaf: fc.Arbitrary<StructuralSchema> = fc.constantFrom<StructuralSchema>(
  { type: "string", pattern: "^(a+)$", minLength: 1, maxLength: 3 },
  { type: "string", pattern: "(?<broken" },
  { type: "string", format: "date-time" },
  { type: "integer", minimum: 1, maximum: 5, format: "int32" },
  { type: "number", multipleOf: 0.5, exclusiveMinimum: true, minimum: 0 },
  { type: "boolean", nullable: true },
  { "x-kubernetes-int-or-string": true },
  { "x-kubernetes-preserve-unknown-fields": true },
  { enum: ["a", 1, null, { a: 1 }] },
)
const anySchema = fc.letrec<{ schema: StructuralSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(fc.constantFrom("spec", "name", "__proto__", "constructor"), tie("schema")),
      required: fc.subarray(["spec", "constructor"]),
    }),
    fc.record({ type: fc.constant("object"), additionalProperties: tie("schema"), maxProperties: fc.constant(2) }),
    fc.record({
      type: fc.constant("array"),
      items: tie("schema"),
      maxItems: fc.nat(3),
      "x-kubernetes-list-type": fc.constantFrom("atomic" as const, "set" as const, "map" as const),
      "x-kubernetes-list-map-keys": fc.constant(["name"]),
    }),
    fc.record({ anyOf: fc.array(tie("schema"), { maxLength: 2 }), not: tie("schema") }),
  ),
})).schema

describe("values of custom kinds", () => {
  test("are validated without an exception, whatever schema and value are", () => {
    fc.assert(
      fc.property(anySchema, anyJson, (schema, value) => {
        const problems = checkCustomValue(schema, value)
        expect(explained(problems).summary).toBeTypeOf("string")
        expect(checkCustomValue(schema, value)).toEqual(problems)
      }),
    )
  })

  test("of any depth are validated as deep as their schema goes", () => {
    const deep: unknown = JSON.parse("[".repeat(9_000) + "]".repeat(9_000))
    expect(checkCustomValue({ "x-kubernetes-preserve-unknown-fields": true }, deep)).toEqual([])
    expect(checkCustomValue({ type: "string" }, deep)).toHaveLength(1)
    expect(checkCustomValue({ enum: ["a"] }, deep)).toHaveLength(1)
  })

  test("lack a required property that is only inherited", () => {
    const schema: StructuralSchema = { type: "object", required: ["constructor", "toString"] }
    expect(checkCustomValue(schema, {}).map(({ field }) => field)).toEqual(["constructor", "toString"])
  })

  test("without a schema are all valid", () => {
    expect(checkCustomValue(undefined, { spec: 5 })).toEqual([])
  })
})
