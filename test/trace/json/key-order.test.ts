import fc from "fast-check"
import { expect, test } from "vitest"
import { compareUtf8, sortedKeys } from "../../../src/trace/json/key-order.ts"
import { objectOf, text } from "../json-values.ts"

const byBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right))

test("strings compare as their UTF-8 bytes do", () => {
  fc.assert(
    fc.property(text, text, (left, right) => {
      expect(Math.sign(compareUtf8(left, right))).toBe(byBytes(left, right))
    }),
  )
  expect(compareUtf8("\u{1d11e}", "\uffff")).toBeGreaterThan(0)
  expect("\u{1d11e}" < "\uffff").toBe(true)
})

test("keys of small and large objects are sorted by UTF-8 bytes", () => {
  const keys = fc.oneof(
    fc.uniqueArray(text, { maxLength: 20 }),
    fc.uniqueArray(fc.oneof(text, fc.string({ unit: fc.constantFrom("𝄞", "\uffff", "a", "\ue000") })), {
      minLength: 30,
    }),
  )
  fc.assert(
    fc.property(keys, (names) => {
      expect(sortedKeys(objectOf(names.map((name) => [name, null])))).toEqual([...names].sort(byBytes))
    }),
  )
})
