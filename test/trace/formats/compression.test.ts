import { gzipSync, zstdCompressSync } from "node:zlib"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compressed, DecompressionError, decompressed } from "../../../src/trace/formats/compression.ts"

const inPieces = async function* (bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const gathered = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(new Uint8Array(piece))
  return Buffer.concat(all)
}

const sample = Buffer.from(Array.from({ length: 50_000 }, (_, index) => `line ${index % 97}\n`).join(""))
const codecs = [
  ["zstd", zstdCompressSync],
  ["gzip", gzipSync],
] as const

describe("compressed bytes", () => {
  test.each(["zstd", "gzip", "none"] as const)("%s: are read back, in pieces of any size", async (compression) => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 50 }), async (bytes, size) => {
        // Otherwise they are, correctly, taken for compressed.
        fc.pre(![0x1f, 0x28].includes(bytes[0] ?? 0) && ((bytes[0] ?? 0) & 0xf0) !== 0x50)
        const packed = await gathered(compressed(inPieces(bytes, size), compression))
        expect(Buffer.compare(await gathered(decompressed(inPieces(packed, size))), bytes)).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  test.each(codecs)("%s: of other programs are read, even several in a row", async (_, pack) => {
    const packed = Buffer.concat([pack(sample.subarray(0, 1000)), pack(sample.subarray(1000))])
    expect(Buffer.compare(await gathered(decompressed(inPieces(packed, 100))), sample)).toBe(0)
  })

  test.each(codecs)("%s: when truncated, they are damaged and not short", async (compression, pack) => {
    const packed = pack(sample)
    for (const length of [20, Math.floor(packed.length / 2), packed.length - 1]) {
      const reading = gathered(decompressed(inPieces(packed.subarray(0, length), 64)))
      await expect(reading).rejects.toMatchObject({ _tag: "DecompressionError", compression })
    }
  })

  test.each(codecs)("%s: with a byte changed, they are damaged", async (_, pack) => {
    const packed = new Uint8Array(
      await gathered(compressed(inPieces(sample, 1000), pack === gzipSync ? "gzip" : "zstd")),
    )
    const at = Math.floor(packed.length / 2)
    packed[at] = (packed[at] ?? 0) ^ 0xff
    await expect(gathered(decompressed(inPieces(packed, 64)))).rejects.toBeInstanceOf(DecompressionError)
  })

  test("an empty source stays empty", async () => {
    expect(await gathered(decompressed(inPieces(new Uint8Array(), 1)))).toHaveLength(0)
  })

  test.each(codecs)("%s: an error of the source is passed on", async (_, pack) => {
    const source = async function* (): AsyncGenerator<Uint8Array, void> {
      yield pack(sample).subarray(0, 100)
      throw new Error("the disk is gone")
    }
    await expect(gathered(decompressed(source()))).rejects.toThrow("the disk is gone")
    const plain = async function* (): AsyncGenerator<Uint8Array, void> {
      yield sample
      throw new Error("the disk is gone")
    }
    await expect(gathered(compressed(plain(), "zstd"))).rejects.toThrow("the disk is gone")
  })

  test("a source whose reader stops is not read any further", async () => {
    let given = 0
    let isClosed = false
    const endless = async function* (): AsyncGenerator<Uint8Array, void> {
      try {
        for (;;) {
          given++
          yield Buffer.alloc(1024, given)
        }
      } finally {
        isClosed = true
      }
    }
    for await (const piece of decompressed(compressed(endless(), "none"))) if (piece.length > 0) break
    expect({ given: given < 10, isClosed }).toEqual({ given: true, isClosed: true })
  })
})
