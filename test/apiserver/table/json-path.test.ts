import fc from "fast-check"
import { expect, test } from "vitest"
import { findFirst } from "../../../src/apiserver/table/json-path.ts"

const object = {
  spec: {
    replicas: 3,
    "a.b": "dotted",
    list: [
      { type: "A", n: 1 },
      { type: "B", n: 2, on: true },
      { type: "C", n: 3 },
    ],
    none: null,
  },
}

test.each([
  [".spec.replicas", 3],
  ["$.spec.replicas", undefined],
  [".spec['a.b']", "dotted"],
  [".spec.a\\.b", "dotted"],
  ['.spec["a.b"]', "dotted"],
  [".spec.list[0].type", "A"],
  [".spec.list[-1].type", "C"],
  [".spec.list[3].type", undefined],
  [".spec.list[-4].type", undefined],
  [".spec.list[1:].type", "B"],
  [".spec.list[:-2].type", "A"],
  [".spec.list[*].n", 1],
  [".spec.*", 3],
  ["..n", 1],
  ['.spec.list[?(@.type=="B")].n', 2],
  [".spec.list[?(@.type == 'C')].n", 3],
  [".spec.list[?(@.n>1)].type", "B"],
  [".spec.list[?(@.n!=1)].type", "B"],
  [".spec.list[?(@.on)].type", "B"],
  [".spec.list[?(@.on==true)].type", "B"],
  ['.spec.list[?(@.type=="Z")].n', undefined],
  [".spec.none", undefined],
  [".spec.missing.deeper", undefined],
  [".spec.__proto__.constructor", undefined],
  [".spec.list.length", undefined],
  [".spec[", undefined],
  ["{.spec}", undefined],
])("%s finds %j", (path, expected) => {
  expect(findFirst(path, object)).toEqual(expected)
})

test("any path of names to a value finds it, however it is written", () => {
  const name = fc.stringMatching(/^[a-z][a-z.-]{0,6}$/)
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.boolean()), { minLength: 1, maxLength: 4 }), (names) => {
      const root = names.reduceRight<unknown>((value, [key]) => ({ [key]: value }), "found")
      const path = names.map(([key, quoted]) => (quoted ? `['${key}']` : `.${key.replaceAll(".", "\\.")}`)).join("")
      expect(findFirst(path, root)).toBe("found")
    }),
  )
})

test("no text makes it fail or take long", () => {
  const unit = fc.constantFrom(
    ".",
    "[",
    "]",
    "*",
    "?(",
    ")",
    "@",
    "a",
    "'",
    '"',
    "0",
    "-",
    ":",
    "==",
    "\\",
    "..",
    "list",
  )
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), (path) => {
      expect(() => findFirst(path, object)).not.toThrow()
    }),
  )
})
