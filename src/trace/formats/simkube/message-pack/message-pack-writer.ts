/**
 * Writes MessagePack into a buffer that grows (see message-pack.ts for the dialect).
 *
 * Headers and contents are separate calls, so that a caller can stream what it cannot hold. The buffer doubles when full and never shrinks
 * by itself: a caller that writes a stream takes the bytes out and clears it.
 */

import { IntegralFloat, isIntegerNumber, type JsonObject, type JsonValue, MAX_DEPTH } from "../../../json/exact-json.ts"
import { sortedKeys } from "../../../json/key-order.ts"
import { MessagePackError, type MessagePackValue } from "./message-pack.ts"

/** Below this length a loop over ASCII characters is faster than the call into Buffer (measured: 60–80 ns a call). */
const SHORT_STRING = 32

/** A growing buffer of MessagePack values, back to back. */
export class MessagePackWriter {
  #bytes: Buffer
  #length = 0
  readonly #double = new DataView(new ArrayBuffer(8))

  /** `capacity`: the buffer's initial size in bytes; it grows as needed. */
  constructor(capacity = 16 * 1024) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
  }

  /** Bytes written and not cleared. */
  get length(): number {
    return this.#length
  }

  /** A view of the bytes from `start` to `end` (default: all); valid until the next call that writes or clears. */
  view(start = 0, end = this.#length): Uint8Array {
    return this.#bytes.subarray(start, end)
  }

  /** Forgets everything after the first `length` bytes. */
  truncate(length: number): void {
    if (length < this.#length) this.#length = length
  }

  /** Forgets everything. The capacity stays. */
  clear(): void {
    this.#length = 0
  }

  /** Appends bytes that are already MessagePack. */
  writeEncoded(encoded: Uint8Array): void {
    this.#reserve(encoded.length)
    this.#bytes.set(encoded, this.#length)
    this.#length += encoded.length
  }

  writeNull(): void {
    this.#byte(0xc0)
  }

  writeBoolean(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2)
  }

  /** Header of an array; its `length` elements follow. */
  writeArrayHeader(length: number): void {
    if (length < 16) this.#byte(0x90 | length)
    else if (length < 0x1_0000) this.#sized(0xdc, length, 2)
    else this.#sized(0xdd, length, 4)
  }

  /** Header of a map; its `size` keys and values follow alternately. */
  writeMapHeader(size: number): void {
    if (size < 16) this.#byte(0x80 | size)
    else if (size < 0x1_0000) this.#sized(0xde, size, 2)
    else this.#sized(0xdf, size, 4)
  }

  /**
   * An integer in its smallest form.
   * @throws MessagePackError (`range`) for a bigint that fits neither i64 nor u64, or a number that is not a safe integer.
   */
  writeInteger(value: number | bigint): void {
    if (typeof value === "bigint") this.#bigInteger(value)
    else if (!Number.isSafeInteger(value)) throw this.#outOfRange()
    else if (value >= 0) this.#unsigned(value)
    else this.#negative(value)
  }

  /** A float as f64, even if its value is an integer. */
  writeFloat(value: number): void {
    this.#double.setFloat64(0, value)
    this.#halves(0xcb, this.#double.getUint32(0), this.#double.getUint32(4))
  }

  /** A string as UTF-8; lone surrogates become U+FFFD. */
  writeString(text: string): void {
    const { length } = text
    this.#reserve(3 * length + 5)
    if (length < SHORT_STRING) {
      const bytes = this.#bytes
      const start = this.#length + 1
      let index = 0
      for (; index < length; index++) {
        const unit = text.charCodeAt(index)
        if (unit >= 0x80) break
        bytes[start + index] = unit
      }
      if (index === length) {
        bytes[start - 1] = 0xa0 | length
        this.#length = start + length
        return
      }
    }
    this.#longString(text)
  }

  /**
   * Any value: maps in their own order, plain objects with their keys in the order of UTF-8 bytes.
   * @throws MessagePackError (`depth`, `range`); the part written before the error stays, see {@link truncate}.
   */
  writeValue(value: MessagePackValue | JsonValue, depth = 0): void {
    if (typeof value === "string") this.writeString(value)
    else if (typeof value === "number") this.#number(value)
    else if (typeof value === "boolean") this.writeBoolean(value)
    else if (typeof value === "bigint") this.#bigInteger(value)
    else if (value === null) this.writeNull()
    else if (value instanceof IntegralFloat) this.writeFloat(value.value)
    else if (depth >= MAX_DEPTH) throw this.#error("depth", `more than ${MAX_DEPTH} levels`)
    else if (isArray(value)) {
      this.writeArrayHeader(value.length)
      for (let index = 0; index < value.length; index++) this.writeValue(value[index] as MessagePackValue, depth + 1)
    } else if (value instanceof Map) {
      this.writeMapHeader(value.size)
      for (const [key, item] of value) {
        this.writeValue(key, depth + 1)
        this.writeValue(item, depth + 1)
      }
    } else this.#object(value as JsonObject, depth)
  }

  #number(value: number): void {
    if (isIntegerNumber(value)) this.writeInteger(value)
    else this.writeFloat(value)
  }

  #object(value: JsonObject, depth: number): void {
    const keys = sortedKeys(value)
    this.writeMapHeader(keys.length)
    for (const key of keys) {
      this.writeString(key)
      this.writeValue(value[key] as JsonValue, depth + 1)
    }
  }

  /** Writes the text after a header of the likeliest size and moves it if the header turns out to be larger or smaller. */
  #longString(text: string): void {
    const guess = stringHeaderSize(text.length)
    const start = this.#length
    const written = this.#bytes.write(text, start + guess, "utf8")
    const size = stringHeaderSize(written)
    if (size !== guess) this.#bytes.copyWithin(start + size, start + guess, start + guess + written)
    if (size === 1) this.#byte(0xa0 | written)
    else if (size === 2) this.#sized(0xd9, written, 1)
    else if (size === 3) this.#sized(0xda, written, 2)
    else this.#sized(0xdb, written, 4)
    this.#length = start + size + written
  }

  #unsigned(value: number): void {
    if (value < 0x80) this.#byte(value)
    else if (value < 0x100) this.#sized(0xcc, value, 1)
    else if (value < 0x1_0000) this.#sized(0xcd, value, 2)
    else if (value < 0x1_0000_0000) this.#sized(0xce, value, 4)
    else this.#halves(0xcf, Math.floor(value / 0x1_0000_0000), value)
  }

  #negative(value: number): void {
    if (value >= -0x20) this.#byte(value)
    else if (value >= -0x80) this.#sized(0xd0, value, 1)
    else if (value >= -0x8000) this.#sized(0xd1, value, 2)
    else if (value >= -0x8000_0000) this.#sized(0xd2, value, 4)
    else this.#halves(0xd3, Math.floor(value / 0x1_0000_0000), value)
  }

  #bigInteger(value: bigint): void {
    const high = Number(BigInt.asIntN(32, value >> 32n))
    const low = Number(BigInt.asIntN(32, value))
    if (Number.isSafeInteger(Number(value))) this.writeInteger(Number(value))
    else if (value === BigInt.asUintN(64, value)) this.#halves(0xcf, high, low)
    else if (value === BigInt.asIntN(64, value)) this.#halves(0xd3, high, low)
    else throw this.#outOfRange()
  }

  #byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** A type byte and the low `size` bytes of a value, big-endian. */
  #sized(type: number, value: number, size: 1 | 2 | 4): void {
    this.#reserve(1 + size)
    const bytes = this.#bytes
    bytes[this.#length++] = type
    for (let shift = 8 * (size - 1); shift >= 0; shift -= 8) bytes[this.#length++] = value >>> shift
  }

  /** A type byte and 64 bits; both halves are taken modulo 2^32. */
  #halves(type: number, high: number, low: number): void {
    this.#sized(type, high, 4)
    this.#reserve(4)
    const bytes = this.#bytes
    for (let shift = 24; shift >= 0; shift -= 8) bytes[this.#length++] = low >>> shift
  }

  #reserve(space: number): void {
    const needed = this.#length + space
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }

  #outOfRange(): MessagePackError {
    return this.#error("range", "neither a signed nor an unsigned 64-bit integer")
  }

  #error(reason: "range" | "depth", detail: string): MessagePackError {
    return new MessagePackError({ reason, offset: this.#length, detail })
  }
}

const isArray = (value: object): value is ReadonlyArray<MessagePackValue | JsonValue> => Array.isArray(value)

const stringHeaderSize = (length: number): 1 | 2 | 3 | 5 =>
  length < 32 ? 1 : length < 0x100 ? 2 : length < 0x1_0000 ? 3 : 5

/** One value as separate bytes. @throws MessagePackError (`depth`, `range`) */
export const encodeMessagePack = (value: MessagePackValue | JsonValue): Uint8Array => {
  const writer = new MessagePackWriter(256)
  writer.writeValue(value)
  return new Uint8Array(writer.view())
}
