import fc from "fast-check"
import { expect, test } from "vitest"
import {
  decodeExportChunk,
  encodeExportChunk,
  exportDataOverhead,
  writeExportData,
} from "../../../src/wire/export-chunk.ts"

const id = fc.nat(0xffff_ffff)
const data = fc.oneof(
  fc.uint8Array(),
  fc.constantFrom(127, 128, 16_383, 16_384, 65_536).map((length) => new Uint8Array(length).fill(7)),
)

test("a chunk comes back as it was", () => {
  fc.assert(
    fc.property(id, data, fc.boolean(), fc.string({ unit: "grapheme" }), (number, bytes, last, error) => {
      const chunk = decodeExportChunk(encodeExportChunk({ export: number, data: bytes, last, error }))
      expect({ ...chunk, data: [...chunk.data] }).toEqual({ export: number, data: [...bytes], last, error })
    }),
  )
})

test("data written in place is the chunk that encoding makes, and takes no more room than it may", () => {
  fc.assert(
    fc.property(id, data, (number, bytes) => {
      const target = new Uint8Array(bytes.length + exportDataOverhead)
      const length = writeExportData(target, number, bytes)
      const chunk = decodeExportChunk(target.subarray(0, length))
      expect({ ...chunk, data: [...chunk.data] }).toEqual({ export: number, data: [...bytes], last: false, error: "" })
      if (bytes.length > 0) {
        expect([...target.subarray(0, length)]).toEqual([
          ...encodeExportChunk({ export: number, data: bytes, last: false, error: "" }),
        ])
      }
    }),
  )
})
