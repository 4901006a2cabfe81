/** What a page shows of long texts: little, but where two values differ one sees it. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { excerpts, shortened } from "../../src/page/shown-text.ts"

test("two values that differ look different, however long what they have in common is", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 300 })
  fc.assert(
    fc.property(fc.nat(1000), text, text, (same, one, other) => {
      const common = "x".repeat(same)
      const [before = "", after = ""] = excerpts([`${common}${one}`, `${common}${other}`])
      expect(before === after).toBe(one === other)
      expect(Math.max(before.length, after.length)).toBeLessThanOrEqual(202)
    }),
  )
})

test("of a value that has no counterpart its beginning is shown", () => {
  expect(excerpts([undefined, "x".repeat(300)])).toEqual([undefined, `${"x".repeat(200)}…`])
  expect(excerpts(["short", undefined])).toEqual(["short", undefined])
})

test("no text ends in half a character", () => {
  expect(shortened(`${"x".repeat(199)}🚀${"y".repeat(10)}`).isWellFormed()).toBe(true)
})
