/** What the recorded answers of API servers (test/sandbox/patch) and kwok's patches (test/trace/formats/kwok) do not show. */

import { expect, test } from "vitest"
import { formatExactJson, type JsonObject, parseExactJson } from "../../../src/trace/json/exact-json.ts"
import type { MergeRules, StrategicMergeError } from "../../../src/trace/strategic-merge/merge-rules.ts"
import { strategicMerge } from "../../../src/trace/strategic-merge/strategic-merge.ts"

/** Every list is merged, by the key `id`. */
const rules: MergeRules = { of: () => ({ strategy: "merge", mergeKey: "id", inside: () => rules }) }

const parsed = (text: string): JsonObject => parseExactJson(text) as JsonObject
const merged = (object: string, patch: string): string =>
  formatExactJson(strategicMerge(parsed(object), parsed(patch), rules))

test("numbers stay what they are, and items are told apart by integers of 64 bits", () => {
  expect(
    merged(
      '{"a":1.0,"items":[{"id":9007199254740993,"x":1e3},{"id":9007199254740995}]}',
      '{"items":[{"id":9007199254740995,"y":2.0}]}',
    ),
  ).toBe('{"a":1.0,"items":[{"id":9007199254740993,"x":1000.0},{"id":9007199254740995,"y":2.0}]}')
})

test("a float is a value, not an object to merge", () => {
  expect(merged('{"a":1.0}', '{"a":2.0}')).toBe('{"a":2.0}')
})

test("keys named __proto__ and keys with a backslash are keys like any other", () => {
  const text = merged('{"a":{"x":1}}', '{"a":{"__proto__":{"y":1},"b\\\\c":2},"__proto__":3}')
  expect(text).toBe('{"a":{"x":1,"__proto__":{"y":1},"b\\\\c":2},"__proto__":3}')
})

test("an object with a backslash in a key has no prototype, whichever side the key comes from", () => {
  const results = [
    strategicMerge(parsed('{"b\\\\c":1}'), parsed('{"a":1}'), rules),
    strategicMerge(parsed('{"a":1}'), parsed('{"b\\\\c":1}'), rules),
    strategicMerge(parsed("{}"), parsed('{"new":{"b\\\\c":1}}'), rules).new,
    strategicMerge(parsed("{}"), parsed('{"$patch":"replace","b\\\\c":1}'), rules),
  ]
  for (const result of results) expect(Object.getPrototypeOf(result)).toBeNull()
})

test.each([
  ["malformed", "{}", '{"$setElementOrder":[]}'],
  ["list-of-lists", '{"items":[[]]}', '{"items":[[]]}'],
  ["unclassified", '{"items":[{"id":1}]}', '{"items":[{"secret":"value"}]}'],
] as const)("what Kubernetes refuses is refused as %s, without a value of the patch", (reason, object, patch) => {
  let refused: unknown
  try {
    merged(object, patch)
  } catch (error) {
    refused = error
  }
  expect(refused).toMatchObject({ _tag: "StrategicMergeError", reason })
  expect((refused as StrategicMergeError).message).not.toContain("value")
})
