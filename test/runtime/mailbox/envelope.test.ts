import { readFileSync } from "node:fs"
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads"
import fc from "fast-check"
import protobuf from "protobufjs"
import { describe, expect, test } from "vitest"
import {
  decodeAcknowledgement,
  encodeAcknowledgement,
  envelopeBytes,
  readEnvelope,
  writeEnvelope,
} from "../../../src/runtime/mailbox/envelope.ts"
import { rounds } from "../../harness/effort.ts"

const schema = protobuf.parse(readFileSync(new URL("../../../proto/mailbox.proto", import.meta.url), "utf8")).root
const frameType = schema.lookupType("kubereel.Frame")
const acknowledgementType = schema.lookupType("kubereel.Acknowledgement")

interface FrameFields {
  readonly incarnation: number
  readonly number: number
  readonly payload: Uint8Array
}

const uint32 = fc.nat(0xffff_ffff)
const frames = fc.record({ incarnation: uint32, number: uint32, payload: fc.uint8Array({ maxLength: 300 }) })

const written = ({ incarnation, number, payload }: FrameFields): Uint8Array => {
  const bytes = new Uint8Array(envelopeBytes + payload.length)
  bytes.set(payload, envelopeBytes)
  writeEnvelope(bytes, 0, incarnation, number, payload.length)
  return bytes
}

/** The result of `read`, or the kind of error that it throws. */
const outcome = <Value>(read: () => Value): Value | string => {
  try {
    return read()
  } catch (cause) {
    return cause instanceof Error ? cause.constructor.name : "not an error"
  }
}

/** Valid frames, frames with bytes changed, cut or added, and noise. */
const spoiltBytes = (valid: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc
      .tuple(
        valid,
        fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 4 }),
        fc.nat(60),
        fc.uint8Array({ maxLength: 6 }),
      )
      .map(([bytes, changes, length, more]) => {
        const spoilt = Uint8Array.of(...bytes.subarray(0, length), ...more)
        for (const [index, value] of changes) if (index < spoilt.length) spoilt[index] = value
        return spoilt
      }),
  )

describe("the envelope of a frame", () => {
  test("reads back what was written, at any position in memory", () => {
    fc.assert(
      fc.property(frames, fc.nat(50), (frame, offset) => {
        const memory = new Uint8Array(new SharedArrayBuffer(offset + envelopeBytes + frame.payload.length + 7)).fill(
          0xff,
        )
        memory.set(frame.payload, offset + envelopeBytes)
        writeEnvelope(memory, offset, frame.incarnation, frame.number, frame.payload.length)
        const read = readEnvelope(memory.subarray(offset, offset + envelopeBytes + frame.payload.length))
        expect({ ...read, payload: Uint8Array.from(read.payload) }).toEqual(frame)
        expect(read.payload.buffer).toBe(memory.buffer)
        expect(memory.subarray(0, offset).every((byte) => byte === 0xff)).toBe(true)
      }),
    )
  })

  test("its header is 16 bytes for every length that a payload can have", () => {
    fc.assert(
      fc.property(uint32, (length) => {
        const header = new Uint8Array(envelopeBytes + 1)
        writeEnvelope(header, 0, 1, 1, length)
        const reader = protobuf.Reader.create(header.subarray(11))
        expect(reader.uint32()).toBe(length)
        expect(reader.pos).toBe(5)
        expect(header[envelopeBytes]).toBe(0)
      }),
    )
  })

  test("any protobuf reader reads what it writes, according to proto/mailbox.proto", () => {
    fc.assert(
      fc.property(frames, (frame) => {
        const read = frameType.toObject(frameType.decode(written(frame)), { defaults: true }) as FrameFields
        expect({ ...read, payload: Uint8Array.from(read.payload) }).toEqual(frame)
      }),
    )
  })

  test("it reads what any protobuf writer writes, with the shortest length and without fields that are 0", () => {
    fc.assert(
      fc.property(frames, (frame) => {
        const read = readEnvelope(frameType.encode(frame).finish())
        expect({ ...read, payload: Uint8Array.from(read.payload) }).toEqual(frame)
      }),
    )
  })

  test("fields that a later version may add are skipped", () => {
    const later = protobuf.Writer.create()
      .uint32((9 << 3) | 2)
      .string("new")
      .uint32((4 << 3) | 0)
      .uint32(7)
      .finish()
    const frame = { incarnation: 3, number: 4, payload: Uint8Array.of(5, 6) }
    const read = readEnvelope(Uint8Array.of(...later, ...written(frame)))
    expect({ ...read, payload: Uint8Array.from(read.payload) }).toEqual(frame)
  })

  test("damaged bytes are a RangeError or are read as protobuf reads them, never anything else", () => {
    let refused = 0
    fc.assert(
      fc.property(spoiltBytes(frames.map(written)), (bytes) => {
        const ours = outcome(() => readEnvelope(bytes))
        const theirs = outcome(() => frameType.toObject(frameType.decode(bytes), { defaults: true }) as FrameFields)
        if (typeof ours === "string" || typeof theirs === "string") {
          refused++
          expect(ours).toBe("RangeError")
          expect(typeof theirs).toBe("string")
        } else expect({ ...ours, payload: [...ours.payload] }).toEqual({ ...theirs, payload: [...theirs.payload] })
      }),
      { numRuns: rounds(2000) },
    )
    expect(refused).toBeGreaterThan(rounds(100))
  })
})

describe("an acknowledgement", () => {
  const acknowledgements = fc.record({ incarnation: uint32, number: uint32 })

  test("reads back as it was written, here and in any protobuf reader", () => {
    fc.assert(
      fc.property(acknowledgements, (acknowledgement) => {
        const bytes = encodeAcknowledgement(acknowledgement)
        expect(decodeAcknowledgement(bytes)).toEqual(acknowledgement)
        expect(acknowledgementType.toObject(acknowledgementType.decode(bytes), { defaults: true })).toEqual(
          acknowledgement,
        )
        expect(decodeAcknowledgement(acknowledgementType.encode(acknowledgement).finish())).toEqual(acknowledgement)
      }),
    )
  })

  test("damaged bytes are a RangeError or are read as protobuf reads them, never anything else", () => {
    fc.assert(
      fc.property(spoiltBytes(acknowledgements.map(encodeAcknowledgement)), (bytes) => {
        const ours = outcome(() => decodeAcknowledgement(bytes))
        const theirs = outcome(() =>
          acknowledgementType.toObject(acknowledgementType.decode(bytes), { defaults: true }),
        )
        expect(ours).toEqual(typeof theirs === "string" ? "RangeError" : theirs)
      }),
      { numRuns: rounds(1000) },
    )
  })

  test("transfers no more memory than its own few bytes", () => {
    const { port1, port2 } = new MessageChannel()
    port1.postMessage(encodeAcknowledgement({ incarnation: 1, number: 2 }))
    const { message } = receiveMessageOnPort(port2) as { message: Uint8Array }
    expect(message.buffer.byteLength).toBe(4)
    port1.close()
  })
})
