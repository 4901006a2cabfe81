/** The frames of `proto/export.proto`: round trips, and agreement with the schema. */
import { readFileSync } from "node:fs"
import fc from "fast-check"
import protobuf from "protobufjs"
import { describe, expect, test } from "vitest"
import { decodeExportChunk, type ExportChunk, encodeExportChunk } from "../../src/wire/export-chunk.ts"

const chunk: fc.Arbitrary<ExportChunk> = fc.record({
  export: fc.integer({ min: 0, max: 0xffff_ffff }),
  data: fc.uint8Array({ maxLength: 300 }),
  last: fc.boolean(),
  error: fc.oneof(fc.string({ unit: "grapheme", maxLength: 60 }), fc.constant("")),
})

const schema = readFileSync(new URL("../../proto/export.proto", import.meta.url), "utf8")
const type = protobuf.parse(schema, { keepCase: true }).root.lookupType("kubereel.ExportChunk")
const plain = (given: ExportChunk) => ({ ...given, data: [...given.data] })

describe("a chunk of an export", () => {
  test("survives encoding and decoding", () => {
    fc.assert(
      fc.property(chunk, (given) => {
        expect(plain(decodeExportChunk(encodeExportChunk(given)))).toEqual(plain(given))
      }),
    )
  })

  test("is read by any protobuf library from the schema alone", () => {
    fc.assert(
      fc.property(chunk, (given) => {
        const message = type.toObject(type.decode(encodeExportChunk(given)), { defaults: true })
        expect({ ...message, data: [...(message.data as Uint8Array)] }).toEqual(plain(given))
      }),
    )
  })

  test("is understood as any protobuf library writes it, with a field more than we know", () => {
    fc.assert(
      fc.property(chunk, fc.nat(), (given, unknown) => {
        const later = protobuf.Writer.create()
          .uint32(99 << 3)
          .uint32(unknown)
          .finish()
        const message = type.encode(type.fromObject({ ...given, data: Buffer.from(given.data) })).finish()
        expect(plain(decodeExportChunk(Buffer.concat([later, message, later])))).toEqual(plain(given))
      }),
    )
  })

  test("is a view of its frame: no byte of the trace is copied", () => {
    const frame = encodeExportChunk({ export: 1, data: Buffer.from("trace"), last: false, error: "" })
    const { data } = decodeExportChunk(frame)
    expect([data.buffer, Buffer.from(data).toString()]).toEqual([frame.buffer, "trace"])
  })

  test("that is cut off is refused", () => {
    const frame = encodeExportChunk({ export: 300, data: Buffer.alloc(100), last: true, error: "why" })
    for (const length of [1, 4, 50, 100]) expect(() => decodeExportChunk(frame.subarray(0, length))).toThrow(RangeError)
  })
})
