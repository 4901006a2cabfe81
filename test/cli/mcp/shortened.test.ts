import fc from "fast-check"
import { expect, test } from "vitest"
import { bytesOf, shortened } from "../../../src/cli/mcp/answer-page.ts"
import type { JsonValue } from "../../../src/trace/index.ts"

const anyJson = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>
const longJson = fc.dictionary(
  fc.string({ maxLength: 20 }),
  fc.oneof(anyJson, fc.array(anyJson, { maxLength: 40 }), fc.string({ unit: "grapheme", maxLength: 3000 })),
) as fc.Arbitrary<JsonValue>

test("what fits stays as it is, and what does not fits afterwards, as JSON that can be read", () => {
  fc.assert(
    fc.property(longJson, fc.integer({ min: 256, max: 4096 }), (value, bytes) => {
      const short = shortened(value, bytes)
      if (bytesOf(value) <= bytes) expect(short).toBe(value)
      else expect(bytesOf(short)).toBeLessThanOrEqual(bytes)
    }),
  )
})

test("each part says how much of it is missing, and short parts stay whole", () => {
  const value = { name: "web", log: "x".repeat(5000), items: Array.from({ length: 1000 }, (_, index) => index) }
  const short = shortened(value, 1000) as { name: string; log: string; items: ReadonlyArray<unknown> }
  expect(short.name).toBe("web")
  expect(short.log).toMatch(/^x{100,}… \(5002 bytes in all\)$/)
  expect(short.items.slice(0, 2)).toEqual([0, 1])
  expect(short.items.at(-1)).toMatch(/^… \(\d+ more items\)$/)
})

test("a text is not cut within a character", () => {
  const short = shortened("🦊".repeat(1000), 200) as string
  expect(short).toMatch(/^(?:🦊)+… \(4002 bytes in all\)$/)
})
