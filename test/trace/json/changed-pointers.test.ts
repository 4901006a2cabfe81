/** JSON pointers of what differs between two values. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type JsonValue, parseExactJson } from "../../../src/trace/json/exact-json.ts"
import { changedPointers } from "../../../src/trace/views/parquet/parquet-encoder.ts"

/** The part of a value at a pointer, by RFC 6901; `undefined` if there is none. */
const at = (value: JsonValue, pointer: string): unknown =>
  pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>(
      (inner, token) =>
        typeof inner === "object" && inner !== null && Object.hasOwn(inner, token)
          ? (inner as Record<string, unknown>)[token]
          : undefined,
      value,
    )

describe("the pointers of what differs", () => {
  test.each<[string, JsonValue, JsonValue, ReadonlyArray<string>]>([
    ["a value", { spec: { replicas: 1 } }, { spec: { replicas: 2 } }, ["/spec/replicas"]],
    ["a new member", { a: 1 }, { a: 1, b: { c: 2 } }, ["/b"]],
    ["a member that is gone", { a: 1, b: { c: 2 } }, { a: 1 }, ["/b"]],
    ["another type", { a: [1] }, { a: { 0: 1 } }, ["/a"]],
    ["null and nothing", { a: null }, {}, ["/a"]],
    ["items by position", { a: [1, 2] }, { a: [0, 1, 2] }, ["/a/0", "/a/1", "/a/2"]],
    ["names that need escapes", { "a/b": { "c~d": 1 } }, { "a/b": { "c~d": 2 } }, ["/a~1b/c~0d"]],
    ["a name that JavaScript has itself", {}, { constructor: 1 }, ["/constructor"]],
    ["an empty name", { "": 1 }, { "": 2 }, ["/"]],
    ["the order of members", { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ["two values that are no objects", 1, [], [""]],
  ])("%s", (_, before, after, expected) => {
    expect(changedPointers(before, after)).toEqual(expected)
  })

  test("numbers that only their writing tells apart are the same, digits beyond 2^53 are not", () => {
    const [integer, float] = [
      parseExactJson('{"a":1,"b":9007199254740993}'),
      parseExactJson('{"a":1.0,"b":9007199254740992}'),
    ]
    expect(changedPointers(integer, float)).toEqual(["/b"])
  })

  test("what is left out is left out with all below it", () => {
    const version = (number: number): JsonValue => ({
      metadata: { resourceVersion: `${number}`, labels: { a: number } },
    })
    const [one, other] = [version(1), version(2)]
    expect(changedPointers(one, other, (pointer) => pointer === "/metadata/resourceVersion")).toEqual([
      "/metadata/labels/a",
    ])
    expect(changedPointers(one, other, (pointer) => pointer === "/metadata")).toEqual([])
  })

  test("each pointer leads to parts that differ, there is none for equal values, and none is within another", () => {
    const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>
    fc.assert(
      fc.property(json, json, (one, other) => {
        const pointers = changedPointers({ inner: one }, { inner: other })
        for (const pointer of pointers)
          expect(JSON.stringify(at({ inner: one }, pointer))).not.toBe(JSON.stringify(at({ inner: other }, pointer)))
        for (const pointer of pointers) expect(pointers.some((each) => each.startsWith(`${pointer}/`))).toBe(false)
        expect(changedPointers(one, structuredClone(one) as JsonValue)).toEqual([])
      }),
    )
  })
})
