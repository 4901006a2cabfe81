/**
 * The mailbox envelope on the wire (`proto/mailbox.proto`).
 *
 * A frame's header has a fixed width so that a sender can reserve it, write the payload behind it in shared memory, and
 * fill the header in last. Protobuf allows both fixed32 fields and a length varint padded to 5 bytes, so any protobuf
 * reader can read the result.
 */
import protobuf from "protobufjs/minimal.js"
import { messageOf } from "../../message-of.ts"

/** Bytes before the payload: (tag + fixed32) × 2, tag, 5-byte length. */
export const envelopeBytes = 16

const incarnationTag = (1 << 3) | 5
const numberTag = (2 << 3) | 5
const payloadTag = (3 << 3) | 2

/** Writes the header of a frame whose payload of `payloadLength` bytes starts at `offset + envelopeBytes`. */
export const writeEnvelope = (
  target: Uint8Array,
  offset: number,
  incarnation: number,
  number: number,
  payloadLength: number,
): void => {
  target[offset] = incarnationTag
  writeFixed32(target, offset + 1, incarnation)
  target[offset + 5] = numberTag
  writeFixed32(target, offset + 6, number)
  target[offset + 10] = payloadTag
  let rest = payloadLength
  for (let index = 11; index < 15; index++) {
    target[offset + index] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  target[offset + 15] = rest & 0x7f
}

const writeFixed32 = (target: Uint8Array, offset: number, value: number): void => {
  target[offset] = value & 0xff
  target[offset + 1] = (value >>> 8) & 0xff
  target[offset + 2] = (value >>> 16) & 0xff
  target[offset + 3] = value >>> 24
}

/** A frame as received. `payload` is a view into the sender's memory: valid until the frame is acknowledged. */
export interface Frame {
  readonly incarnation: number
  readonly number: number
  readonly payload: Uint8Array
}

/** Reads any encoding of `Frame`, padded or not; unknown fields are skipped. Throws RangeError on malformed bytes. */
export const readEnvelope = (bytes: Uint8Array): Frame => {
  const reader = protobuf.Reader.create(bytes)
  let incarnation = 0
  let number = 0
  let start = 0
  let end = 0
  try {
    while (reader.pos < reader.len) {
      const tag = reader.tag()
      if (tag === incarnationTag) incarnation = reader.fixed32()
      else if (tag === numberTag) number = reader.fixed32()
      else if (tag === payloadTag) {
        const length = reader.size()
        start = reader.pos
        end = start + length
        reader.skip(length)
      } else reader.skipType(tag & 7, 0, tag >>> 3)
    }
  } catch (cause) {
    throw malformed(cause)
  }
  return { incarnation, number, payload: bytes.subarray(start, end) }
}

/** protobufjs throws RangeError for bytes that end too early and plain Error for every other defect. */
const malformed = (cause: unknown): RangeError =>
  cause instanceof RangeError ? cause : new RangeError(messageOf(cause))

/** Acknowledges every frame of `incarnation` up to `number`. */
interface Acknowledgement {
  readonly incarnation: number
  readonly number: number
}

/**
 * The bytes own their memory: posting a view clones the whole buffer behind it, which for a Buffer from Node's pool is
 * 64 KiB (49 µs an acknowledgement instead of 1 µs).
 */
export const encodeAcknowledgement = (acknowledgement: Acknowledgement): Uint8Array =>
  new Uint8Array(
    protobuf.Writer.create()
      .uint32(8)
      .uint32(acknowledgement.incarnation)
      .uint32(16)
      .uint32(acknowledgement.number)
      .finish(),
  )

/** Throws RangeError on malformed bytes. */
export const decodeAcknowledgement = (bytes: Uint8Array): Acknowledgement => {
  const reader = protobuf.Reader.create(bytes)
  let incarnation = 0
  let number = 0
  try {
    while (reader.pos < reader.len) {
      const tag = reader.tag()
      if (tag === 8) incarnation = reader.uint32()
      else if (tag === 16) number = reader.uint32()
      else reader.skipType(tag & 7, 0, tag >>> 3)
    }
  } catch (cause) {
    throw malformed(cause)
  }
  return { incarnation, number }
}
