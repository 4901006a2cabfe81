import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { OutputTail } from "../../../src/simulation/hooks/run-phase.ts"

const tailOf = (limit: number, chunks: ReadonlyArray<Buffer>): string => {
  const tail = new OutputTail(limit)
  for (const chunk of chunks) tail.add(chunk)
  return tail.text
}

/** The bytes in pieces, cut anywhere. */
const pieces = (bytes: Buffer, cuts: ReadonlyArray<number>): Buffer[] => {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}

describe("the end of a hook's output", () => {
  test("is the longest one of whole characters that fits, wherever the chunks are cut", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 60 }).map((given) => given.replaceAll("\0", ""))
    fc.assert(
      fc.property(
        text,
        fc.array(fc.nat(1000), { maxLength: 5 }),
        fc.integer({ min: 4, max: 40 }),
        (all, cuts, limit) => {
          const bytes = Buffer.from(all)
          const kept = tailOf(limit, pieces(bytes, cuts))
          expect(all.endsWith(kept)).toBe(true)
          const longer = [...all].slice(-([...kept].length + 1)).join("")
          expect(kept === all || Buffer.byteLength(longer) > limit).toBe(true)
        },
      ),
    )
  })

  test("never has more bytes than the limit, also of bytes that are no text", () => {
    const chunk = fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes))
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 5 }), fc.integer({ min: 4, max: 40 }), (chunks, limit) => {
        expect(Buffer.byteLength(tailOf(limit, chunks))).toBeLessThanOrEqual(limit)
      }),
    )
  })
})
