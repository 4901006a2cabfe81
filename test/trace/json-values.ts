/** Arbitrary values of exact JSON, with every kind of number and key that has ever been lost in conversion. */

import fc from "fast-check"
import { floatValue, type JsonObject, type JsonValue, withProperty } from "../../src/trace/index.ts"

const MAX_U64 = 2n ** 64n - 1n

const exactInteger = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer(),
  fc.constantFrom(0, -1, 127, 128, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, -32, -33, -128, -129, -32768, -32769),
  fc.bigInt(-(2n ** 63n), MAX_U64).map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value)),
  fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, MAX_U64, -(2n ** 53n), -(2n ** 63n)),
)

// −0 is a float to serde_json, and cannot be written as an integer.
const integer = exactInteger.map((value) => (Object.is(value, -0) ? 0 : value))

const float = fc
  .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, -0, 1, -7, 2 ** 53, 1e21, 5e-324, 0.1))
  .map(floatValue)

/** Code points from all planes except surrogate halves, which Rust strings cannot hold. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ minLength: 25, maxLength: 70 }),
  fc.constantFrom("", "__proto__", "constructor", "𝄞", "\uffff", "\ue000", "nginx:1.0", "a\u0000b", '"', "\\"),
)

/** An object with these entries as own properties, `__proto__` included. */
export const objectOf = (entries: ReadonlyArray<readonly [string, JsonValue]>): JsonObject =>
  entries.reduce<Record<string, JsonValue>>((object, [key, item]) => withProperty(object, key, item), {})

const { value, object } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    integer,
    float,
    text,
    fc.array(tie("value"), { maxLength: 5 }),
    tie("object"),
  ),
  object: fc.array(fc.tuple(text, tie("value")), { maxLength: 6 }).map(objectOf),
}))

/** Any value. */
export const jsonValue: fc.Arbitrary<JsonValue> = value
/** Any object. */
export const jsonObject: fc.Arbitrary<JsonObject> = object

/** Bytes with a few of them replaced, removed, doubled or cut off. */
export const mutated = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc
    .tuple(bytes, fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.nat(3)), { minLength: 1, maxLength: 4 }))
    .map(([source, changes]) => {
      let result = source
      for (const [where, byte, how] of changes) {
        const at = result.length === 0 ? 0 : where % result.length
        const before = result.subarray(0, at)
        if (how === 0) result = Uint8Array.from([...before, byte, ...result.subarray(at + 1)])
        else if (how === 1) result = Uint8Array.from([...before, ...result.subarray(at + 1)])
        else if (how === 2) result = Uint8Array.from([...before, byte, ...result.subarray(at)])
        else result = before
      }
      return result
    })
