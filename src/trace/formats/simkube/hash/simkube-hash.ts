/**
 * H, the hash with which SimKube detects changes of an object's `spec` and which it writes into the index of a trace
 * (docs/facts/simkube.md#hash): SipHash-1-3 over a stream of bytes produced by walking the JSON value.
 *
 * | value   | bytes                                                               |
 * | ------- | ------------------------------------------------------------------- |
 * | null    | 8 zeros                                                             |
 * | boolean | 1 byte, 0 or 1                                                      |
 * | integer | 8, little-endian; two's complement if negative                      |
 * | float   | 8, little-endian f64; −0 as +0                                      |
 * | string  | UTF-8, then FF                                                      |
 * | array   | its elements                                                        |
 * | object  | per key in the order of UTF-8 bytes: the key as a string, the value |
 *
 * Nothing marks types, lengths or ends, so `{}` equals `[]`, null equals 0 and `[1,2]` equals `[[1],[2]]` (W-44): H detects changes of one
 * object's spec and does not identify it.
 *
 * The bytes are collected first and hashed together: feeding a hash state byte by byte costs more than its rounds.
 */

import * as Schema from "effect/Schema"
import { IntegralFloat, isIntegerNumber, isJsonObject, type JsonValue, MAX_DEPTH } from "../../../json/exact-json.ts"
import { sortedKeys } from "../../../json/key-order.ts"

/**
 * Hashes `length` bytes from the start of `words`' buffer, 8 bytes at a time. `words` is a view from offset 0 of a little-endian machine's
 * memory and reaches at least 7 bytes past `length`; those bytes may have any value.
 */
const sipHash13 = (words: Int32Array, length: number): bigint => {
  // "somepseudorandomlygeneratedbytes", the constants of the SipHash paper.
  let v0h = 0x736f6d65
  let v0l = 0x70736575
  let v1h = 0x646f7261
  let v1l = 0x6e646f6d
  let v2h = 0x6c796765
  let v2l = 0x6e657261
  let v3h = 0x74656462
  let v3l = 0x79746573
  const blocks = length >>> 3
  // One iteration per 8 bytes, one for the last word (the remaining bytes, and the length modulo 256 in its top byte), three to finish.
  for (let turn = 0; turn < blocks + 4; turn++) {
    let wordLow = 0
    let wordHigh = 0
    if (turn < blocks) {
      wordLow = words[2 * turn] as number
      wordHigh = words[2 * turn + 1] as number
    } else if (turn === blocks) {
      const left = length & 7
      if (left > 0) wordLow = (words[2 * turn] as number) & (left >= 4 ? -1 : (1 << (8 * left)) - 1)
      if (left > 4) wordHigh = (words[2 * turn + 1] as number) & ((1 << (8 * (left - 4))) - 1)
      wordHigh |= length << 24
    } else if (turn === blocks + 1) {
      v2l ^= 0xff
    }
    v3l ^= wordLow
    v3h ^= wordHigh

    let low = (v0l + v1l) | 0
    v0h = (v0h + v1h + (low >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
    v0l = low
    let old = v1l
    v1l = ((v1l << 13) | (v1h >>> 19)) ^ v0l
    v1h = ((v1h << 13) | (old >>> 19)) ^ v0h
    old = v0l
    v0l = v0h
    v0h = old

    low = (v2l + v3l) | 0
    v2h = (v2h + v3h + (low >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
    v2l = low
    old = v3l
    v3l = ((v3l << 16) | (v3h >>> 16)) ^ v2l
    v3h = ((v3h << 16) | (old >>> 16)) ^ v2h

    low = (v0l + v3l) | 0
    v0h = (v0h + v3h + (low >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
    v0l = low
    old = v3l
    v3l = ((v3l << 21) | (v3h >>> 11)) ^ v0l
    v3h = ((v3h << 21) | (old >>> 11)) ^ v0h

    low = (v2l + v1l) | 0
    v2h = (v2h + v1h + (low >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
    v2l = low
    old = v1l
    v1l = ((v1l << 17) | (v1h >>> 15)) ^ v2l
    v1h = ((v1h << 17) | (old >>> 15)) ^ v2h
    old = v2l
    v2l = v2h
    v2h = old

    v0l ^= wordLow
    v0h ^= wordHigh
  }
  return (BigInt((v0h ^ v1h ^ v2h ^ v3h) >>> 0) << 32n) | BigInt((v0l ^ v1l ^ v2l ^ v3l) >>> 0)
}

/** A value nests more than {@link MAX_DEPTH} levels deep; SimKube could not read it back. */
export class NestingTooDeepError extends Schema.TaggedError<NestingTooDeepError>()("NestingTooDeepError", {
  limit: Schema.Int,
}) {
  override get message(): string {
    return `the value nests more than ${this.limit} levels deep`
  }
}

/**
 * H of a value; `undefined` (an object without `spec`) hashes as null. An unsigned 64-bit integer.
 * @throws NestingTooDeepError
 */
export const simkubeHash = (value: JsonValue | undefined): bigint => {
  position = 0
  gather(value ?? null, 0)
  reserve(8)
  const hash = sipHash13(words, position)
  if (bytes.length > KEPT_BYTES) resize(INITIAL_BYTES)
  return hash
}

const INITIAL_BYTES = 16 * 1024
/** A larger scratch buffer is dropped after use; etcd rejects objects above 1.5 MiB, so few ever grow past it. */
const KEPT_BYTES = 1024 * 1024
/** Below this length a loop over ASCII characters is faster than the call into Buffer (measured: 60–80 ns a call). */
const SHORT_STRING = 40

// One walk at a time: JavaScript does not interrupt it, and every worker thread has its own module.
let bytes = Buffer.alloc(0)
let words = new Int32Array(0)
let position = 0
const doubles = new Float64Array(1)
const doubleWords = new Uint32Array(doubles.buffer)

const resize = (size: number): void => {
  const buffer = new ArrayBuffer(size)
  const grown = Buffer.from(buffer)
  bytes.copy(grown, 0, 0, Math.min(position, size))
  bytes = grown
  words = new Int32Array(buffer)
}

const reserve = (space: number): void => {
  if (position + space > bytes.length) resize(2 ** Math.ceil(Math.log2(position + space)))
}

const gather = (value: JsonValue, depth: number): void => {
  if (typeof value === "string") gatherString(value)
  else if (typeof value === "number") gatherNumber(value)
  else if (typeof value === "boolean") gatherBoolean(value)
  else if (typeof value === "bigint") gatherBigint(value)
  else if (value === null) gatherHalves(0, 0)
  else if (value instanceof IntegralFloat) gatherFloat(value.value)
  else if (depth >= MAX_DEPTH) throw new NestingTooDeepError({ limit: MAX_DEPTH })
  else if (isJsonObject(value)) {
    for (const key of sortedKeys(value)) {
      gatherString(key)
      gather(value[key] as JsonValue, depth + 1)
    }
  } else {
    for (let index = 0; index < value.length; index++) gather(value[index] as JsonValue, depth + 1)
  }
}

const gatherNumber = (value: number): void => {
  if (isIntegerNumber(value)) gatherHalves(value >>> 0, Math.floor(value / 0x1_0000_0000) >>> 0)
  else gatherFloat(value)
}

const gatherBigint = (value: bigint): void =>
  gatherHalves(Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)))

const gatherBoolean = (value: boolean): void => {
  reserve(1)
  bytes[position++] = value ? 1 : 0
}

const gatherFloat = (value: number): void => {
  doubles[0] = value === 0 ? 0 : value
  gatherHalves(doubleWords[0] as number, doubleWords[1] as number)
}

const gatherHalves = (low: number, high: number): void => {
  reserve(8)
  const target = bytes
  const start = position
  for (let shift = 0; shift < 4; shift++) {
    target[start + shift] = low >>> (8 * shift)
    target[start + 4 + shift] = high >>> (8 * shift)
  }
  position = start + 8
}

const gatherString = (text: string): void => {
  const { length } = text
  reserve(3 * length + 1)
  const target = bytes
  const start = position
  let index = 0
  if (length < SHORT_STRING) {
    for (; index < length; index++) {
      const unit = text.charCodeAt(index)
      if (unit >= 0x80) break
      target[start + index] = unit
    }
  }
  // Also used when a short string has a character beyond ASCII: this overwrites what the loop has written so far.
  const end = start + (index === length ? length : target.write(text, start, "utf8"))
  target[end] = 0xff
  position = end + 1
}

resize(INITIAL_BYTES)
