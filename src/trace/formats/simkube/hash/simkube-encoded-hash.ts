/**
 * H (see simkube-hash.ts) of a value that is already MessagePack, as {@link MessagePackWriter} writes JSON values: keys in the order of
 * their UTF-8 bytes, integers as integers, floats as f64.
 *
 * H walks a value in MessagePack's order and marks neither types nor lengths, so one pass over the tokens is enough, without sorting keys
 * or encoding strings again: 3.8 µs for a Deployment's spec instead of 5.7 (measured).
 */

import { type HashHalves, sipHash13 } from "./sip-hash.ts"

/** H of the value in `encoded`. Unsigned. Nothing is checked: the bytes come from our own writer. */
export const hashEncodedValue = (encoded: Uint8Array): bigint => {
  position = 0
  const { length } = encoded
  for (let at = 0; at < length; ) at = gatherToken(encoded, at)
  reserve(8)
  sipHash13(words, position, result)
  if (bytes.length > KEPT_BYTES) resize(INITIAL_BYTES)
  return (BigInt(result.high) << 32n) | BigInt(result.low)
}

const INITIAL_BYTES = 16 * 1024
/** A larger scratch buffer is dropped after use; few objects ever need more. */
const KEPT_BYTES = 1024 * 1024
/** Below this length a loop is faster than the call that copies. */
const SHORT_STRING = 48

// One walk at a time: JavaScript does not interrupt it, and every worker thread has its own module.
let bytes = new Uint8Array(0)
let words = new Int32Array(0)
let position = 0
const result: HashHalves = { low: 0, high: 0 }

const resize = (size: number): void => {
  const buffer = new ArrayBuffer(size)
  const grown = new Uint8Array(buffer)
  grown.set(bytes.subarray(0, Math.min(position, size)))
  bytes = grown
  words = new Int32Array(buffer)
}

const reserve = (space: number): void => {
  if (position + space > bytes.length) resize(2 ** Math.ceil(Math.log2(position + space)))
}

/** Collects one token, a scalar or the header of a container; returns the start of the next one. */
const gatherToken = (source: Uint8Array, at: number): number => {
  const type = source[at] as number
  if (type < 0x80) return gatherInteger(type, 0, at + 1)
  if (type < 0xa0) return at + 1
  if (type < 0xc0) return gatherString(source, at + 1, type & 0x1f)
  if (type >= 0xe0) return gatherInteger(type - 0x100, -1, at + 1)
  switch (type) {
    case 0xc0:
      return gatherInteger(0, 0, at + 1)
    case 0xc2:
    case 0xc3:
      reserve(1)
      bytes[position++] = type & 1
      return at + 1
    case 0xcb:
      return gatherFloat(source, at + 1)
    case 0xcc:
      return gatherInteger(source[at + 1] as number, 0, at + 2)
    case 0xcd:
      return gatherInteger(bigEndian(source, at + 1, 2), 0, at + 3)
    case 0xce:
      return gatherInteger(bigEndian(source, at + 1, 4), 0, at + 5)
    case 0xd0:
      return gatherInteger(((source[at + 1] as number) << 24) >> 24, -1, at + 2)
    case 0xd1:
      return gatherInteger((bigEndian(source, at + 1, 2) << 16) >> 16, -1, at + 3)
    case 0xd2:
      return gatherInteger(bigEndian(source, at + 1, 4), -1, at + 5)
    case 0xcf:
    case 0xd3:
      return gatherInteger(bigEndian(source, at + 5, 4), bigEndian(source, at + 1, 4), at + 9)
    case 0xd9:
      return gatherString(source, at + 2, source[at + 1] as number)
    case 0xda:
      return gatherString(source, at + 3, bigEndian(source, at + 1, 2))
    case 0xdb:
      return gatherString(source, at + 5, bigEndian(source, at + 1, 4) >>> 0)
    case 0xdc:
    case 0xde:
      return at + 3
    case 0xdd:
    case 0xdf:
      return at + 5
    default:
      throw new Error(`our own MessagePack holds no values of type ${type.toString(16)}`)
  }
}

/** As an int32. */
const bigEndian = (source: Uint8Array, at: number, size: 2 | 4): number => {
  const high = ((source[at] as number) << 8) | (source[at + 1] as number)
  return size === 2 ? high : (high << 16) | ((source[at + 2] as number) << 8) | (source[at + 3] as number)
}

const gatherInteger = (low: number, high: number, next: number): number => {
  reserve(8)
  const target = bytes
  const start = position
  for (let index = 0; index < 4; index++) {
    target[start + index] = low >>> (8 * index)
    target[start + 4 + index] = high >>> (8 * index)
  }
  position = start + 8
  return next
}

const gatherFloat = (source: Uint8Array, at: number): number => {
  const high = bigEndian(source, at, 4)
  const low = bigEndian(source, at + 4, 4)
  // −0 is hashed as +0.
  return gatherInteger(low, low === 0 && high === -0x8000_0000 ? 0 : high, at + 8)
}

const gatherString = (source: Uint8Array, at: number, length: number): number => {
  reserve(length + 1)
  const target = bytes
  const start = position
  if (length < SHORT_STRING)
    for (let index = 0; index < length; index++) target[start + index] = source[at + index] as number
  else target.set(source.subarray(at, at + length), start)
  target[start + length] = 0xff
  position = start + length + 1
  return at + length
}

resize(INITIAL_BYTES)
