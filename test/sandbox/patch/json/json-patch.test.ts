import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { applyJsonPatch } from "../../../../src/sandbox/patch/json/json-patch.ts"
import { isJsonObject, type JsonValue } from "../../../../src/sandbox/patch/json/json-value.ts"
import { applyMergePatch } from "../../../../src/sandbox/writes/patched-document.ts"
import { rounds } from "../../../harness/effort.ts"

const inapplicable = expect.objectContaining({ _tag: "PatchError", code: 422 })

interface Operation {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test"
  readonly path: string
  readonly from: string
  readonly value: JsonValue
}

/** The naive implementation: a deep copy that every operation changes in place. `undefined` when an operation does not apply. */
const naive = (document: JsonValue, operations: ReadonlyArray<Operation>): JsonValue | undefined => {
  const root = { "": structuredClone(document) }
  for (const { op, path, from, value } of operations) {
    // biome-ignore lint/suspicious/noExplicitAny: the model is untyped on purpose
    const at = (pointer: string): { holder: any; key: string } | undefined => {
      const steps = pointer.split("/")
      // biome-ignore lint/suspicious/noExplicitAny: the model is untyped on purpose
      let holder: any = root
      for (const step of steps.slice(0, -1)) {
        if (!Object.hasOwn(holder, step)) return undefined
        holder = holder[step]
        if (typeof holder !== "object" || holder === null) return undefined
      }
      return { holder, key: steps.at(-1) ?? "" }
    }
    // biome-ignore lint/suspicious/noExplicitAny: the model is untyped on purpose
    const has = ({ holder, key }: { holder: any; key: string }): boolean =>
      Array.isArray(holder) ? key in holder && key !== "length" : true
    const put = (pointer: string, added: JsonValue): boolean => {
      const place = at(pointer)
      if (place === undefined) return false
      const { holder, key } = place
      if (!Array.isArray(holder)) holder[key] = added
      else if (key === "-") holder.push(added)
      else if (Number(key) <= holder.length) holder.splice(Number(key), 0, added)
      else return false
      return true
    }
    const take = (pointer: string, drop: boolean): { value: JsonValue } | undefined => {
      const place = at(pointer)
      if (place === undefined || !has(place)) return undefined
      const { holder, key } = place
      if (drop && !Object.hasOwn(holder, key)) return undefined
      const found = { value: (holder[key] ?? null) as JsonValue }
      if (drop && Array.isArray(holder)) holder.splice(Number(key), 1)
      else if (drop) delete holder[key]
      return found
    }
    if (op === "add" && !put(path, structuredClone(value))) return undefined
    if (op === "remove" && take(path, true) === undefined) return undefined
    if (op === "replace") {
      const place = at(path)
      if (place === undefined || !has(place)) return undefined
      place.holder[place.key] = structuredClone(value)
    }
    if (op === "test") {
      const found = take(path, false)
      if (found === undefined || JSON.stringify(sorted(found.value)) !== JSON.stringify(sorted(value))) return undefined
    }
    if (op === "move" || op === "copy") {
      const found = take(from, op === "move")
      if (found === undefined || !put(path, structuredClone(found.value))) return undefined
    }
  }
  return root[""]
}

const sorted = (value: JsonValue): JsonValue =>
  isJsonObject(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((key) => [key, sorted(value[key] as JsonValue)]),
      )
    : Array.isArray(value)
      ? value.map(sorted)
      : value

const key = fc.constantFrom("a", "b", "0", "1")
const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(null, 1, "x", true),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value
const pointer = fc
  .array(fc.constantFrom("a", "b", "0", "1", "-"), { minLength: 1, maxLength: 3 })
  .map((steps) => `/${steps.join("/")}`)
const operation = fc.record<Operation>({
  op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
  path: pointer,
  from: pointer,
  value: json,
})
const object = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true })

describe("a JSON patch", () => {
  it("gives the result of the naive implementation, and does not change its arguments", () => {
    fc.assert(
      fc.property(object, fc.array(operation, { maxLength: 6 }), (document, operations) => {
        const given = JSON.stringify([document, operations])
        const expected = naive(document, operations)
        if (expected === undefined) {
          expect(() => applyJsonPatch(document, operations)).toThrow(inapplicable)
        } else {
          expect(applyJsonPatch(document, operations)).toEqual(expected)
        }
        expect(JSON.stringify([document, operations])).toBe(given)
      }),
      { numRuns: rounds(2_000) },
    )
  })

  it("accepts ten thousand operations and refuses one more", () => {
    const operations = Array.from({ length: 10_000 }, () => ({ op: "add", path: "/list/-", value: 1 }))
    expect((applyJsonPatch({ list: [] }, operations) as { list: number[] }).list).toHaveLength(10_000)
    expect(() => applyJsonPatch({ list: [] }, [...operations, ...operations.slice(0, 1)])).toThrow(
      expect.objectContaining({ code: 413 }),
    )
  })

  it("does not double a document without a limit", () => {
    const doubling = Array.from({ length: 40 }, () => ({ op: "copy", from: "/a", path: "/a/-" }))
    expect(() => applyJsonPatch({ a: ["x".repeat(1_000)] }, doubling)).toThrow(
      expect.objectContaining({ code: 422, problem: expect.stringContaining("exceed 3145728 bytes") }),
    )
  })

  it("keeps source and target of a copy separate", () => {
    const operations = [
      { op: "copy", from: "/a", path: "/b" },
      { op: "add", path: "/a/-", value: 2 },
      { op: "add", path: "/b/-", value: 3 },
    ]
    expect(applyJsonPatch({ a: [1] }, operations)).toEqual({ a: [1, 2], b: [1, 3] })
  })

  it.each(["__proto__", "constructor", "toString"])("treats %s as a member like any other", (name) => {
    const document = JSON.parse(`{"a":{}}`) as JsonValue
    const patched = applyJsonPatch(document, [
      { op: "add", path: `/a/${name}`, value: { polluted: true } },
      { op: "add", path: `/a/${name}/more`, value: 1 },
      { op: "test", path: `/a/${name}/polluted`, value: true },
    ])
    expect(JSON.stringify(patched)).toBe(`{"a":{"${name}":{"polluted":true,"more":1}}}`)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(() => applyJsonPatch(document, [{ op: "remove", path: `/a/${name}` }])).toThrow(inapplicable)
    expect(() => applyJsonPatch(document, [{ op: "add", path: `/a/${name}/x`, value: 1 }])).toThrow(inapplicable)
  })
})

describe("a merge patch", () => {
  it("is idempotent, and does not change its arguments", () => {
    // The exception, as on the real server: nulls in a list that replaces an object stay the first time.
    const patches = object.filter((patch) => !/\[.*null/.test(JSON.stringify(patch)))
    fc.assert(
      fc.property(object, patches, (document, patch) => {
        const given = JSON.stringify([document, patch])
        const once = applyMergePatch(document, patch)
        expect(applyMergePatch(once, patch)).toEqual(once)
        expect(JSON.stringify([document, patch])).toBe(given)
      }),
    )
  })

  it("shares the parts that it does not name", () => {
    const document = { a: { b: 1 }, c: { d: [1] } }
    const patched = applyMergePatch(document, { a: { b: 2 } }) as typeof document
    expect(patched.c).toBe(document.c)
    expect(applyMergePatch(document, { a: { b: 1 }, x: null })).toBe(document)
  })

  it("treats __proto__ as a member like any other", () => {
    const patch = JSON.parse(`{"__proto__":{"polluted":true},"a":{"__proto__":{"polluted":true}}}`) as JsonValue
    expect(JSON.stringify(applyMergePatch({ a: {} }, patch))).toBe(
      `{"a":{"__proto__":{"polluted":true}},"__proto__":{"polluted":true}}`,
    )
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})
