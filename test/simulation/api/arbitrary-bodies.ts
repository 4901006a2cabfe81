/** Random spec and status of a schema: right ones, and ones with faults. */
import fc from "fast-check"
import type { StructuralSchema } from "../../../src/apiserver/index.ts"
import { anyJson } from "../../sandbox/schema/arbitrary-objects.ts"

/**
 * Values of a schema. `faults`: out of how many values one is wrong, by its type, its bounds or a missing member; 0 for none. Rules in CEL are not kept.
 */
export const bodyOf = (schema: StructuralSchema, faults: number): fc.Arbitrary<unknown> => {
  const right = rightOf(schema, faults)
  const some = schema.nullable === true ? fc.oneof({ weight: 9, arbitrary: right }, fc.constant(null)) : right
  return faults === 0 ? some : fc.oneof({ weight: faults, arbitrary: some }, wrongOf(schema))
}

const rightOf = (schema: StructuralSchema, faults: number): fc.Arbitrary<unknown> => {
  const { type, items, properties, required = [], minimum = 0, maximum = 2 ** 31 } = schema
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  switch (type) {
    case "boolean":
      return fc.boolean()
    case "integer":
      return fc.oneof(
        fc.constantFrom(minimum, maximum),
        fc.maxSafeInteger().map((n) => within(n, minimum, maximum)),
      )
    case "number":
      return fc.double({ min: minimum, max: maximum, noNaN: true, minExcluded: schema.exclusiveMinimum === true })
    case "string":
      return schema.format === "date-time" ? fc.constantFrom(...moments) : textsOf(schema)
    case "array": {
      const [key] = schema["x-kubernetes-list-map-keys"] ?? []
      const list = fc.array(items === undefined ? anyJson : bodyOf(items, faults), { maxLength: 3 })
      return key === undefined || faults > 0 ? list : list.map((all) => firstOfEach(all, key))
    }
    default: {
      if (properties === undefined)
        return fc.dictionary(fc.constantFrom("a", "constructor"), fc.string(), { maxKeys: 2 })
      const fields = Object.entries(properties).map(([name, field]) => [name, bodyOf(field, faults)] as const)
      const members: Record<string, fc.Arbitrary<unknown>> = { ...Object.fromEntries(fields), unknown: anyJson }
      return fc.record(members, { requiredKeys: [...required] })
    }
  }
}

const within = (n: number, minimum: number, maximum: number): number =>
  minimum + (Math.abs(n) % (maximum - minimum + 1))

const firstOfEach = (all: ReadonlyArray<unknown>, key: string): ReadonlyArray<unknown> => [
  ...new Map(all.map((item) => [(item as Readonly<Record<string, unknown>>)[key], item])).values(),
]

const moments = ["2026-11-23T12:00:00Z", "2024-02-29t23:59:59.123456z", "2026-01-31T00:00:00+05:30"]

/** Characters are counted as code points, so the longest text may have twice as many UTF-16 units. */
const textsOf = ({ minLength = 0, maxLength = 64 }: StructuralSchema): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.string({ minLength, maxLength: Math.min(maxLength, 20) }) },
    maxLength > longestText ? fc.constant("x") : fc.constantFrom("🎞".repeat(maxLength), "x".repeat(maxLength)),
  )

/** Texts of 32,768 characters would make a run slow, and show nothing that shorter ones do not. */
const longestText = 1024

const wrongOf = (schema: StructuralSchema): fc.Arbitrary<unknown> => {
  const { minimum = 0, maximum = 0, maxLength = 0, maxItems = 0 } = schema
  const moments = ["2026-02-30T00:00:00Z", "2026-11-23", "2026-11-23T24:00:00Z", "0000-00-00T00:00:00Z", "now"]
  const longer = maxLength > longestText ? [] : ["x".repeat(maxLength + 1), "🎞".repeat(maxLength + 1)]
  const numbers = [0, -1, 1.5, 1e300, minimum - 1, maximum + 1, minimum + 0.5]
  const items = Array.from({ length: maxItems + 1 }, () => ({}))
  const wrong = fc.oneof(anyJson, fc.constantFrom<unknown>(...numbers, null, "", {}, items, ...longer, ...moments))
  // The server does not look at the type of a list in place of a text with a format (kube-openapi, pkg/validation/validate/type.go).
  return schema.format === "date-time" ? wrong.filter((value) => !Array.isArray(value)) : wrong
}
