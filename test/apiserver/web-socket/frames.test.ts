import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { closeFrame, FrameReader, frameHead, textFrame } from "../../../src/apiserver/http/web-socket.ts"
import { rounds } from "../../harness/effort.ts"

const ping = 0x9

/** A frame as clients send it. */
const masked = (opcode: number, payload: Buffer): Buffer => {
  const head = frameHead(opcode, payload.length)
  head[1] = (head[1] ?? 0) | 0x80
  const mask = Buffer.from([7, 11, 13, 17])
  return Buffer.concat([head, mask, Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)))])
}

const readerInto = (seen: string[]): FrameReader =>
  new FrameReader({ ping: (payload) => seen.push(payload.toString()), close: () => seen.push("close") })

describe("A reader of frames", () => {
  test("finds pings and the close between messages of any length, however the bytes are split", () => {
    const frame = fc.oneof(
      fc.string({ maxLength: 100 }).map((text) => ({ bytes: masked(ping, Buffer.from(text)), seen: [text] })),
      fc.constantFrom(0, 1, 125, 126, 65_535, 65_536).map((length) => ({
        bytes: masked(textFrame, Buffer.alloc(length, "x")),
        seen: [],
      })),
    )
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), fc.integer({ min: 1, max: 9 }), (frames, step) => {
        const bytes = Buffer.concat([...frames.map((one) => one.bytes), masked(closeFrame, Buffer.from([3, 232]))])
        const seen: string[] = []
        const reader = readerInto(seen)
        const width = Math.max(step, Math.ceil(bytes.length / 500))
        for (let at = 0; at < bytes.length; at += width) reader.read(bytes.subarray(at, at + width))
        expect(seen).toEqual([...frames.flatMap((one) => one.seen), "close"])
      }),
      { numRuns: rounds(50) },
    )
  })

  test("counts what no client sends as a close: frames without a mask, long or fragmented control frames", () => {
    const long = Buffer.concat([Buffer.from([0x89, 0xfe, 0, 200]), Buffer.alloc(204)])
    for (const bytes of [frameHead(textFrame, 3), long, Buffer.from([0x09, 0x80])]) {
      const seen: string[] = []
      readerInto(seen).read(bytes)
      expect(seen).toEqual(["close"])
    }
  })
})
