import fc from "fast-check"
import { expect, test } from "vitest"
import { differencesBetween } from "../../../src/trace/json/difference.ts"
import type { JsonValue } from "../../../src/trace/json/exact-json.ts"
import { type FieldPath, isFieldPath, parseFieldPath, valuesAt } from "../../../src/trace/json/field-path.ts"

const paths = (before: JsonValue, after: JsonValue): ReadonlyArray<string> =>
  differencesBetween(before, after).map(({ path }) => path)

test("a changed field has its path, and what it was and is", () => {
  const before = { spec: { replicas: 2, paused: true } }
  const after = { spec: { replicas: 3, minReadySeconds: 5 } }
  expect(differencesBetween(before, after)).toEqual([
    { path: "spec.replicas", before: 2, after: 3 },
    { path: "spec.paused", before: true },
    { path: "spec.minReadySeconds", after: 5 },
  ])
})

test("an item that is inserted in a list with names is one difference", () => {
  const item = (name: string, image: string): JsonValue => ({ name, image })
  expect(paths([item("a", "1"), item("b", "1")], [item("new", "1"), item("a", "1"), item("b", "2")])).toEqual([
    "[name=b].image",
    "[name=new]",
  ])
})

test("items without a name are compared by position, and so are those whose names repeat", () => {
  expect(paths({ args: ["a", "b"] }, { args: ["a", "c"] })).toEqual(["args[1]"])
  expect(paths([{ name: "a" }, { name: "a" }], [{ name: "a" }, { name: "b" }])).toEqual(["[1].name"])
})

test("what is left out, and more than the maximum, is not compared", () => {
  const isLeftOut = (path: string): boolean => path === "metadata.managedFields"
  const [one, other] = [
    { metadata: { managedFields: [1], a: 1, b: 1 } },
    { metadata: { managedFields: [2], a: 2, b: 2 } },
  ]
  expect(differencesBetween(one, other, { isLeftOut, maximum: 1 })).toEqual([
    { path: "metadata.a", before: 1, after: 2 },
  ])
})

const anyJson = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>

test("a value does not differ from itself, and every difference is found at its path in both values", () => {
  fc.assert(
    fc.property(anyJson, anyJson, (one, other) => {
      expect(differencesBetween(one, structuredClone(one))).toEqual([])
      const differences = differencesBetween(one, other)
      if (JSON.stringify(one) === JSON.stringify(other)) return
      for (const { path, before, after } of differences) {
        const parsed: FieldPath | { problem: string } = path === "" ? [] : parseFieldPath(path)
        if (!isFieldPath(parsed)) throw new Error(`${path}: ${parsed.problem}`)
        if (before !== undefined) expect(valuesAt(one, parsed)).toContainEqual(before)
        if (after !== undefined) expect(valuesAt(other, parsed)).toContainEqual(after)
      }
    }),
  )
})
