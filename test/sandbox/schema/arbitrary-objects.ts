/** Random JSON, and random objects that fit a type. */

import fc from "fast-check"
import { type KubernetesType, schemaNameOf } from "../../../src/sandbox/schema/kubernetes-type.ts"

/** Any JSON value, including keys that are special in JavaScript. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e300, "", "x", "__proto__"),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(
          fc.oneof(fc.constantFrom("__proto__", "constructor", "spec", "metadata", "name"), fc.string()),
          tie("value"),
        ),
        {
          maxLength: 4,
        },
      )
      .map((entries) => JSON.parse(objectText(entries)) as unknown),
  ),
})).value

/** The text of an object; keys may repeat and may be `__proto__`, which object literals cannot have. */
export const objectText = (entries: ReadonlyArray<readonly [string, unknown]>): string =>
  `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}`

/** Objects that fit `type`, at most `depth` levels of it. */
export const objectOf = (type: KubernetesType, depth = 6): fc.Arbitrary<unknown> => {
  const { items } = type
  switch (type.kind) {
    case "boolean":
      return fc.boolean()
    case "integer":
      return fc.integer()
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true })
    case "int-or-string":
      return fc.oneof(fc.nat(), fc.constantFrom("10", "25"))
    case "string":
      return stringOf(schemaNameOf(type))
    case "any":
      return anyJson
    case "list":
      return items === undefined || depth <= 0
        ? fc.constant([])
        : fc.array(objectOf(items, depth - 1), { maxLength: 2 })
    case "map":
      return items === undefined || depth <= 0
        ? fc.constant({})
        : fc.dictionary(fc.constantFrom("a", "b.c", "constructor"), objectOf(items, depth - 1), { maxKeys: 2 })
    case "object": {
      if (depth <= 0) return fc.constant({})
      const names = [...type.fields.keys()]
      return fc.subarray(names, { maxLength: Math.min(3, names.length) }).chain((chosen) =>
        fc.record(
          Object.fromEntries(
            chosen.flatMap((name) => {
              const field = type.fields.get(name)
              return field === undefined ? [] : [[name, objectOf(field, depth - 1)]]
            }),
          ),
        ),
      )
    }
  }
}

const stringOf = (schemaName: string | undefined): fc.Arbitrary<string> => {
  if (schemaName === "v1.Time") return fc.constant("2026-01-02T03:04:05Z")
  if (schemaName === "v1.MicroTime") return fc.constant("2026-01-02T03:04:05.000006Z")
  return schemaName === "byte" ? fc.base64String() : fc.string()
}
