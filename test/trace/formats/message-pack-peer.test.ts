/** Our MessagePack against an independent implementation, `@msgpack/msgpack`, at every size of every header. */

import { Decoder, Encoder } from "@msgpack/msgpack"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { decodeMessagePack, encodeMessagePack, type MessagePackValue } from "../../../src/trace/index.ts"

const encoder = new Encoder({ useBigInt64: true, forceIntegerToFloat: false })
const decoder = new Decoder({ useBigInt64: true })

/** Sizes on either side of each change of a header. */
const sizes = [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536, 70_000]

const text = (size: number): string => "x".repeat(size)
const list = (size: number): ReadonlyArray<number> => Array.from({ length: size }, (_, index) => index % 128)
const record = (size: number): Record<string, boolean> =>
  Object.fromEntries(Array.from({ length: size }, (_, index) => [`key-${String(index).padStart(6, "0")}`, true]))

/** Integers of at most 32 bits on either side of each change of a header: for larger ones the two choose different forms. */
const integers = [
  ...[0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1],
  ...[-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31)],
]

describe("our MessagePack and another one", () => {
  test.each(sizes)("write a string, an array and a map of %i as the same bytes", (size) => {
    for (const value of [text(size), list(size), record(size)]) {
      const theirs = encoder.encode(value)
      const ours = encodeMessagePack(value)
      expect(Buffer.compare(ours, theirs)).toBe(0)
      expect(decoder.decode(ours)).toEqual(value)
    }
  })

  test.each(sizes)("read a string, an array and a map of %i of the other", (size) => {
    expect(decodeMessagePack(encoder.encode(text(size)))).toBe(text(size))
    expect(decodeMessagePack(encoder.encode(list(size)))).toEqual(list(size))
    expect(decodeMessagePack(encoder.encode(record(size)))).toEqual(new Map(Object.entries(record(size))))
  })

  test.each(integers)("write the integer %i as the same bytes", (value) => {
    expect(Buffer.from(encodeMessagePack(value)).toString("hex")).toBe(
      Buffer.from(encoder.encode(value)).toString("hex"),
    )
    expect(decodeMessagePack(encoder.encode(value))).toBe(value)
  })

  test.each([2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 53n), -(2n ** 63n)])(
    "write the integer %i so that the other reads it, and the other way round",
    (value) => {
      expect(decoder.decode(encodeMessagePack(value))).toBe(value)
      expect(decodeMessagePack(encoder.encode(value))).toBe(value)
    },
  )

  test.each([0.5, -0.5, 1e300, 5e-324, Number.MAX_VALUE, 0.1])("write the float %d as the same bytes", (value) => {
    expect(Buffer.compare(encodeMessagePack(value), encoder.encode(value))).toBe(0)
    expect(decodeMessagePack(encoder.encode(value))).toBe(value)
  })

  test("agree on any value of null, booleans, 32-bit integers, fractions, text, arrays and maps", () => {
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constant(null),
        fc.boolean(),
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.array(tie("value"), { maxLength: 20 }),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,40}$/), tie("value"), { maxKeys: 20, noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(value, (original) => {
        const theirs = encoder.encode(original)
        // Maps keep the order in which they were read, so the sort order does not matter.
        const ours = encodeMessagePack(decodeMessagePack(theirs))
        expect(Buffer.compare(ours, theirs)).toBe(0)
        expect(decoder.decode(encodeMessagePack(original as MessagePackValue))).toEqual(original)
      }),
    )
  })
})
