/** Counting values while a JSON text arrives. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { ValueCount } from "../../../../src/recorder/http/body/request-bodies.ts"

/** By parsing: values, and empty arrays and objects, which the counter cannot tell from others; and how deep they are. */
const parsedCount = (value: unknown): { values: number; deepest: number } => {
  if (typeof value !== "object" || value === null) return { values: 1, deepest: 0 }
  const inner = Object.values(value).map(parsedCount)
  const values = inner.reduce((sum, each) => sum + each.values, 1 + (inner.length === 0 ? 1 : 0))
  return { values, deepest: 1 + Math.max(0, ...inner.map(({ deepest }) => deepest)) }
}

const counted = (bytes: Uint8Array, cuts: ReadonlyArray<number> = []) => {
  const count = new ValueCount()
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((one, other) => one - other)
  let from = 0
  for (const end of ends) {
    count.add(bytes.subarray(from, end))
    from = end
  }
  return { values: count.values, deepest: count.deepest }
}

test("the count is that of a parser, whatever the values and wherever the pieces are cut", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
      expect(counted(Buffer.from(text), cuts)).toEqual(parsedCount(JSON.parse(text)))
    }),
    { numRuns: 300 },
  )
})

test("separators in strings are none, after any number of backslashes", () => {
  for (const text of [",", "[{", '\\",', '",[', "\\\\", '\\\\",[']) {
    const bytes = Buffer.from(JSON.stringify([text, 1]))
    for (let cut = 0; cut <= bytes.length; cut++) expect(counted(bytes, [cut])).toEqual({ values: 3, deepest: 1 })
  }
})

test("what is not JSON is counted, too", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(counted(bytes).values).toBeLessThanOrEqual(bytes.length + 1)
    }),
    { numRuns: 100 },
  )
})
