import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { simdSource } from "../../../src/kube/scanner/simd-module.ts"
import { SimdSkip } from "../../../src/kube/scanner/simd-skip.ts"

const cursor = {}
let simd: SimdSkip

beforeAll(() => {
  const created = SimdSkip.create()
  if (created === undefined) throw new Error("this machine has no WebAssembly SIMD")
  simd = created
})

/** Where the pass says that the value at the beginning ends, with `before` bytes of something else in front. */
const endOf = (text: string | Uint8Array, before = 0): number => {
  const bytes = Buffer.concat([Buffer.alloc(before, "x"), typeof text === "string" ? Buffer.from(text) : text])
  simd.load(cursor, bytes, before, bytes.length)
  return simd.skipValue(cursor, before)
}

const isJson = (bytes: Uint8Array): boolean => {
  try {
    JSON.parse(new TextDecoder("utf-8").decode(bytes))
    return true
  } catch {
    return false
  }
}

describe("the quick pass over JSON", () => {
  test("is built from the source that stands beside it", () => {
    const source = readFileSync(new URL("../../../src/kube/scanner/simd/skip-value.ts", import.meta.url))
    expect(simdSource).toBe(createHash("sha256").update(source).digest("hex"))
  })

  test("finds the end of any compact value, wherever it stands", () => {
    const isPlain = (text: string): boolean => [...text].every((letter) => letter >= " " && letter !== "\\")
    const plain = fc.string({ unit: "grapheme" }).filter(isPlain)
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        plain,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 5 }),
        fc.dictionary(plain, tie("value"), { maxKeys: 5 }),
      ),
    })).value
    fc.assert(
      fc.property(value, fc.nat({ max: 40 }), fc.constantFrom("", ",1", "}", "]", '"'), (given, before, behind) => {
        const text = JSON.stringify(given)
        expect(endOf(`${text}${behind}`, before)).toBe(before + Buffer.byteLength(text))
      }),
      { numRuns: 2000 },
    )
  })

  test("never calls valid what is not, however the bytes were changed", () => {
    const text = JSON.stringify({
      metadata: { labels: { app: 'we"b', "a/b": "" }, generation: 10, list: [1, -2, 0, true, false, null, [], {}] },
      long: "x".repeat(60),
    })
    fc.assert(
      fc.property(
        fc.array(fc.record({ at: fc.nat({ max: text.length - 1 }), byte: fc.nat({ max: 255 }) }), { maxLength: 3 }),
        fc.option(fc.nat({ max: text.length })),
        (changes, length) => {
          const bytes = Buffer.from(text)
          for (const { at, byte } of changes) bytes[at] = byte
          const given = length === null ? bytes : bytes.subarray(0, length)
          if (given.length === 0) return
          const end = endOf(given)
          if (end !== 0) expect([end <= given.length, isJson(given.subarray(0, end))]).toEqual([true, true])
        },
      ),
      { numRuns: 5000 },
    )
  })

  test.each([
    '{ "a":1}',
    '{"a": 1}',
    '["a" ]',
    "1.5",
    "1e3",
    "01",
    "-",
    '"a\\n"',
    '"\\u0041"',
    '"\u0001"',
    "",
    "tru",
    "{",
    '{"a"}',
    "[1,]",
  ])("leaves %j to the other pass", (text) => {
    expect(endOf(text)).toBe(0)
  })

  test("leaves what is nested deeper than its stack to the other pass", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
    expect(endOf(nested(4096))).toBe(8192)
    expect(endOf(nested(4098))).toBe(0)
  })

  test("leaves what is larger than its memory to the other pass, and is not confused by it afterwards", () => {
    const large = JSON.stringify("x".repeat(1024 * 1024))
    expect(endOf(large)).toBe(0)
    expect(endOf('{"a":"b"}')).toBe(9)
    const almost = JSON.stringify("x".repeat(1024 * 1024 - 2))
    expect(endOf(almost)).toBe(1024 * 1024)
  })

  test("does not see what an earlier, longer span left behind its own", () => {
    expect(endOf(JSON.stringify({ text: "y".repeat(100) }))).toBe(112 - 1)
    expect(endOf('{"text":"yyyy')).toBe(0)
  })

  test("answers only the cursor that loaded last", () => {
    const other = {}
    const bytes = Buffer.from('["abc"]')
    simd.load(cursor, bytes, 0, bytes.length)
    simd.load(other, Buffer.from("[]"), 0, 2)
    expect([simd.skipValue(cursor, 0), simd.skipValue(other, 0)]).toEqual([0, 2])
    simd.unload(other)
    expect(simd.skipValue(other, 0)).toBe(0)
  })
})
