import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { appliedDifferences } from "../../../src/simulation/fidelity/applied-fields.ts"
import type { JsonValue } from "../../../src/trace/index.ts"

const paths = (applied: JsonValue, observed: JsonValue, before?: JsonValue): ReadonlyArray<string> =>
  appliedDifferences(applied, observed, before).map(({ path }) => path)

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => value as JsonValue)

describe("what was applied", () => {
  test("is in itself, and in anything that has more members", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), fc.dictionary(fc.string(), json), (applied, more) => {
        expect(paths(applied, applied)).toEqual([])
        expect(paths(applied, { ...more, ...applied })).toEqual([])
      }),
    )
  })

  test("is found to be different wherever one value is changed", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 5 }), (keys) => {
        const nested = (value: JsonValue): JsonValue => keys.reduceRight((inner, key) => ({ [key]: inner }), value)
        expect(paths(nested("here"), nested("there"))).toEqual([keys.join(".")])
      }),
    )
  })

  test.each<[string, JsonValue, JsonValue]>([
    ["empty values that a server leaves out", { a: null, b: "", c: 0, d: false, e: {}, f: [], g: { h: [] } }, {}],
    [
      "elements that admission adds to a list of objects",
      { list: [{ name: "b" }] },
      { list: [{ name: "a" }, { name: "b", x: 1 }] },
    ],
    ["a float with an integral value", JSON.parse('{"a":1}') as JsonValue, { a: 1 }],
  ])("is there in spite of %s", (_, applied, observed) => {
    expect(paths(applied, observed)).toEqual([])
  })

  test("is missing if a list of plain values has others, or an element is gone or out of order", () => {
    expect(paths({ args: ["a"] }, { args: ["a", "b"] })).toEqual(["args"])
    expect(paths({ list: [{ name: "a" }, { name: "b" }] }, { list: [{ name: "a" }] })).toEqual(["list[b]"])
    expect(paths({ list: [{ x: 1 }, { x: 2 }] }, { list: [{ x: 2 }, { x: 1 }] })).toEqual(["list[1].x"])
  })

  test("names the element and the value that are different", () => {
    const containers = (image: string) => ({
      spec: {
        containers: [
          { name: "web", image },
          { name: "log", image: "log:1" },
        ],
      },
    })
    expect(appliedDifferences(containers("web:2"), containers("web:1"), undefined)).toEqual([
      { path: "spec.containers[web].image", applied: '"web:2"', observed: '"web:1"' },
    ])
  })

  test("does not include what was applied before and removed since, which has to be gone or to have another value", () => {
    const before = { spec: { replicas: 3, paused: true }, list: [{ name: "a" }, { name: "b" }] }
    const after = { spec: { paused: true }, list: [{ name: "a" }] }
    expect(paths(after, before, before)).toEqual(["spec.replicas", "list[b]"])
    expect(paths(after, { spec: { replicas: 1, paused: true }, list: [{ name: "a" }] }, before)).toEqual([])
  })

  test("keeps the values of Secrets to itself, and cuts long ones", () => {
    const difference = (isSecret: boolean) =>
      appliedDifferences({ data: "s".repeat(200) }, { data: "t" }, undefined, isSecret)[0]
    expect(difference(true)).toEqual({ path: "data", applied: "…", observed: "…" })
    expect(difference(false)?.applied).toHaveLength(80)
  })
})
