/**
 * Reads MessagePack (see message-pack.ts). Every encoding of a value is accepted, not only the smallest.
 *
 * Whatever the bytes, it throws only {@link MessagePackError}, allocates no memory on the word of a header, and limits nesting to
 * MAX_DEPTH. A failed call leaves the position where the error was noticed; after `truncated`, a stream reader restarts at the value's
 * first byte once it has more.
 */

import {
  floatValue,
  type IntegralFloat,
  type JsonObject,
  type JsonValue,
  MAX_DEPTH,
  withProperty,
} from "../../../json/exact-json.ts"
import { MessagePackError, type MessagePackValue } from "./message-pack.ts"

/** Below this length, checking for bytes beyond ASCII and copying is faster than the decoder (whose call costs about 200 ns). */
const SHORT_STRING = 24
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The type that a header announces. `blob` is bin or an extension. */
type Kind = "null" | "boolean" | "integer" | "float" | "string" | "blob" | "array" | "map"

/** Reads values one after the other. Results are copies; nothing keeps the bytes alive. */
export class MessagePackReader {
  /** The next byte to read. */
  position: number
  readonly #bytes: Buffer
  readonly #view: DataView
  // Facts of the header read last: its own position; the elements, pairs or bytes that follow; its number or boolean.
  #start = 0
  #size = 0
  #scalar: number | bigint | boolean = 0

  constructor(bytes: Uint8Array, position = 0) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.position = position
  }

  /** Reads the header of an array and returns its number of elements. Throws MessagePackError. */
  readArrayHeader(): number {
    this.#expect("array")
    return this.#size
  }

  /** Reads the header of a map and returns its number of pairs. Throws MessagePackError. */
  readMapHeader(): number {
    this.#expect("map")
    return this.#size
  }

  /** Reads a string. Throws MessagePackError. */
  readString(): string {
    this.#expect("string")
    return this.#text()
  }

  /** Reads an integer, a bigint only beyond 2^53−1. Rejects floats of any value. Throws MessagePackError. */
  readInteger(): number | bigint {
    this.#expect("integer")
    return this.#scalar as number | bigint
  }

  /** The kind of the next value; `undefined` at the end of the bytes. Does not move. Throws MessagePackError. */
  peek(): Kind | undefined {
    if (this.position >= this.#bytes.length) return undefined
    const { position } = this
    try {
      return this.#header()
    } finally {
      this.position = position
    }
  }

  /** Reads any value, maps as `Map`s. Rejects bin and extension (`type`). Throws MessagePackError. */
  readValue(depth = 0): MessagePackValue {
    const kind = this.#header()
    if (kind === "array") {
      this.#descend(depth)
      const items: MessagePackValue[] = []
      for (let left = this.#size; left > 0; left--) items.push(this.readValue(depth + 1))
      return items
    }
    if (kind === "map") {
      this.#descend(depth)
      const map = new Map<MessagePackValue, MessagePackValue>()
      for (let left = this.#size; left > 0; left--) {
        const key = this.readValue(depth + 1)
        map.set(key, this.readValue(depth + 1))
      }
      return map
    }
    return this.#leaf(kind)
  }

  /**
   * Reads a value as SimKube's reader does inside an object: map keys are strings (the last value of a repeated key wins), bin and
   * extension are rejected, floats that are not finite become null. Throws MessagePackError.
   */
  readJson(depth = 0): JsonValue {
    const kind = this.#header()
    if (kind === "array") {
      this.#descend(depth)
      const items: JsonValue[] = []
      for (let left = this.#size; left > 0; left--) items.push(this.readJson(depth + 1))
      return items
    }
    if (kind === "map") {
      this.#descend(depth)
      return this.#jsonPairs(depth)
    }
    const value = this.#leaf(kind)
    return typeof value === "number" && !Number.isFinite(value) ? null : value
  }

  /** An object as {@link readJson} reads it. Throws MessagePackError, also if the value is not a map. */
  readJsonObject(): JsonObject {
    this.#expect("map")
    return this.#jsonPairs(0)
  }

  /** Skips any well-formed value, bin and extension included. Throws MessagePackError. */
  skip(): void {
    // A count instead of recursion: a skipped value may be nested to any depth.
    for (let left = 1; left > 0; left--) {
      const kind = this.#header()
      if (kind === "array") left += this.#size
      else if (kind === "map") left += 2 * this.#size
      else if (kind === "string" || kind === "blob") this.position += this.#size
    }
  }

  #jsonPairs(depth: number): JsonObject {
    let object: Record<string, JsonValue> = {}
    for (let left = this.#size; left > 0; left--) {
      const key = this.readString()
      object = withProperty(object, key, this.readJson(depth + 1))
    }
    return object
  }

  #leaf(kind: Kind): null | boolean | number | bigint | string | IntegralFloat {
    switch (kind) {
      case "null":
        return null
      case "string":
        return this.#text()
      case "float":
        return floatValue(this.#scalar as number)
      case "boolean":
      case "integer":
        return this.#scalar
      default:
        throw this.#error("type", `expected a value of JSON, found ${kind}`)
    }
  }

  #expect(kind: Kind): void {
    const found = this.#header()
    if (found !== kind) throw this.#error("type", `expected ${kind}, found ${found}`)
  }

  #descend(depth: number): void {
    if (depth >= MAX_DEPTH) throw this.#error("depth", `more than ${MAX_DEPTH} levels`)
  }

  #text(): string {
    const start = this.position
    const end = start + this.#size
    this.position = end
    if (this.#size < SHORT_STRING) {
      let index = start
      while (index < end && (this.#bytes[index] as number) < 0x80) index++
      if (index === end) return this.#bytes.toString("latin1", start, end)
    }
    try {
      return utf8.decode(this.#bytes.subarray(start, end))
    } catch {
      throw this.#error("malformed", "text that is not UTF-8")
    }
  }

  /** Reads a type byte and its numbers, and checks that the announced contents can fit into the remaining bytes. */
  #header(): Kind {
    this.#start = this.position
    const type = this.#unsigned(1)
    if (type < 0x80) return this.#integer(type)
    if (type < 0x90) return this.#count("map", type & 0x0f)
    if (type < 0xa0) return this.#count("array", type & 0x0f)
    if (type < 0xc0) return this.#content("string", type & 0x1f)
    if (type >= 0xe0) return this.#integer(type - 0x100)
    switch (type) {
      case 0xc0:
        return "null"
      case 0xc2:
      case 0xc3:
        this.#scalar = type === 0xc3
        return "boolean"
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#content("blob", this.#unsigned(1 << (type - 0xc4)))
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#content("blob", this.#unsigned(1 << (type - 0xc7)) + 1)
      case 0xca:
        this.#scalar = this.#view.getFloat32(this.#take(4))
        return "float"
      case 0xcb:
        this.#scalar = this.#view.getFloat64(this.#take(8))
        return "float"
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#integer(this.#unsigned(1 << (type - 0xcc)))
      case 0xcf:
        return this.#integer(this.#view.getBigUint64(this.#take(8)))
      case 0xd0:
        return this.#integer(this.#view.getInt8(this.#take(1)))
      case 0xd1:
        return this.#integer(this.#view.getInt16(this.#take(2)))
      case 0xd2:
        return this.#integer(this.#view.getInt32(this.#take(4)))
      case 0xd3:
        return this.#integer(this.#view.getBigInt64(this.#take(8)))
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#content("blob", (1 << (type - 0xd4)) + 1)
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#content("string", this.#unsigned(1 << (type - 0xd9)))
      case 0xdc:
      case 0xdd:
        return this.#count("array", this.#unsigned(2 << (type - 0xdc)))
      case 0xde:
      case 0xdf:
        return this.#count("map", this.#unsigned(2 << (type - 0xde)))
      default:
        throw this.#error("malformed", "the type byte c1, which is never used")
    }
  }

  #integer(value: number | bigint): Kind {
    // One representation per value: bigint only beyond the safe integers.
    this.#scalar = typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value
    return "integer"
  }

  /** Not checked against the remaining bytes: in a stream the contents are still to come. Reading ends where the bytes end. */
  #count(kind: "array" | "map", size: number): Kind {
    this.#size = size
    return kind
  }

  #content(kind: "string" | "blob", size: number): Kind {
    const left = this.#bytes.length - this.position
    if (size > left) throw this.#error("truncated", `${kind} of ${size} bytes, ${left} follow`)
    this.#size = size
    return kind
  }

  #unsigned(size: number): number {
    const at = this.#take(size)
    return size === 1 ? (this.#bytes[at] as number) : size === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at)
  }

  /** Consumes the next `size` bytes and returns their position. */
  #take(size: number): number {
    const at = this.position
    if (at + size > this.#bytes.length) throw this.#error("truncated", "the bytes end inside a number or type byte")
    this.position = at + size
    return at
  }

  #error(reason: MessagePackError["reason"], detail: string): MessagePackError {
    return new MessagePackError({ reason, offset: this.#start, detail })
  }
}

/** The value that `bytes` consists of. @throws MessagePackError, also (`malformed`) if bytes remain after it. */
export const decodeMessagePack = (bytes: Uint8Array): MessagePackValue => {
  const reader = new MessagePackReader(bytes)
  const value = reader.readValue()
  if (reader.position === bytes.length) return value
  throw new MessagePackError({ reason: "malformed", offset: reader.position, detail: "bytes after the value" })
}
