import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { applyJsonPatch } from "../../../../src/sandbox/patch/json/json-patch.ts"
import type { JsonValue } from "../../../../src/sandbox/patch/json/json-value.ts"
import { applyMergePatch } from "../../../../src/sandbox/writes/request/patched-document.ts"

const inapplicable = expect.objectContaining({ _tag: "PatchError", code: 422 })

const key = fc.constantFrom("a", "b", "0", "1")
const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(null, 1, "x", true),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value
const object = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true })

describe("a JSON patch", () => {
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
