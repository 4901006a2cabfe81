/** Untrusted text in what is printed: it controls no terminal, and documents are read back as what was written. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { visible, visibleInJson } from "../../src/text/index.ts"

const controls = /(?![\n\t])\p{Cc}|[\p{Zl}\p{Zp}\u202a-\u202e]/u

test("escape sequences, C1 controls and reversed text are written as what they are", () => {
  expect(visible("a\u001b[2Jb\u009b31m\u202e")).toBe("a\\u{1b}[2Jb\\u{9b}31m\\u{202e}")
  expect(visibleInJson('"\u009b31m\u202e"')).toBe('"\\u009b31m\\u202e"')
})

test("JSON is read back as it was, and has nothing in it that controls a terminal", () => {
  const odd = fc.constantFrom(
    "\u009b",
    "\u202e",
    "\u2028",
    "\u200d",
    "\u007f",
    "\u{e0067}",
    "👩‍👧",
    "\u001b",
    "\n",
    "é",
  )
  const text = fc.array(fc.oneof(odd, fc.string({ maxLength: 5 })), { maxLength: 6 }).map((parts) => parts.join(""))
  fc.assert(
    fc.property(text, text, (name, value) => {
      const document = [{ [name]: value }]
      const written = visibleInJson(JSON.stringify(document, undefined, 2))
      expect(written).not.toMatch(controls)
      expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(document)))
    }),
  )
})
