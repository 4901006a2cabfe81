/**
 * Converts JSON text to MessagePack and back, keeping the order of entries: it builds no objects, because a JavaScript object moves keys
 * such as "8080" to its front, and a file could then not be rewritten unchanged.
 *
 * Numbers keep their kind and value (see exact-json-value.ts): digits that fit 64 bits are integers, everything else is a float, and a
 * float with an integral value is written with its fraction (`1.0`).
 */

import { isUtf8 } from "node:buffer"
import { IntegralFloat, isIntegerNumber, MAX_DEPTH, MalformedJsonError } from "../../../json/exact-json.ts"
import { MessagePackError, type MessagePackValue } from "./message-pack.ts"
import type { MessagePackWriter } from "./message-pack-writer.ts"

const MAX_U64 = 2n ** 64n - 1n
const MIN_I64 = -(2n ** 63n)
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20

/**
 * JSON text of a decoded value. Floats that JSON cannot represent become null, as in SimKube's reader.
 *
 * @throws MessagePackError (`type`) if a key is not a string. Its offset is 0, because the value's position is no longer known.
 */
export const formatOrderedJson = (value: MessagePackValue): string => {
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value === "number") return formatNumber(value)
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value)
  if (value instanceof IntegralFloat) return `${value.value}.0`
  if (isList(value)) return `[${value.map(formatOrderedJson).join(",")}]`
  let text = ""
  for (const [key, item] of value) {
    if (typeof key !== "string")
      throw new MessagePackError({ reason: "type", offset: 0, detail: "a key inside an object is not a string" })
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${formatOrderedJson(item)}`
  }
  return `{${text}}`
}

const isList = (value: object): value is ReadonlyArray<MessagePackValue> => Array.isArray(value)

const formatNumber = (value: number): string => {
  if (isIntegerNumber(value)) return String(value)
  if (!Number.isFinite(value)) return "null"
  if (Object.is(value, -0)) return "-0"
  const digits = String(value)
  return Number.isInteger(value) && !digits.includes("e") ? `${digits}.0` : digits
}

/**
 * Appends the value of a JSON text.
 *
 * @throws MalformedJsonError, MessagePackError (`depth`); what was written before the error stays.
 */
export const writeOrderedJson = (out: MessagePackWriter, json: Uint8Array): void => {
  if (!isUtf8(json)) throw new MalformedJsonError({ reason: "encoding" })
  const source = new Source(out, Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("utf8"))
  source.value(0)
  source.end()
}

class Source {
  readonly #out: MessagePackWriter
  readonly #text: string
  #position = 0

  constructor(out: MessagePackWriter, text: string) {
    this.#out = out
    this.#text = text
  }

  value(depth: number): void {
    this.#skipWhiteSpace()
    switch (this.#text[this.#position]) {
      case "{":
        return this.#map(depth)
      case "[":
        return this.#array(depth)
      case '"':
        return this.#out.writeString(this.#string())
      case "t":
        this.#literal("true")
        return this.#out.writeBoolean(true)
      case "f":
        this.#literal("false")
        return this.#out.writeBoolean(false)
      case "n":
        this.#literal("null")
        return this.#out.writeNull()
      default:
        return this.#number()
    }
  }

  end(): void {
    this.#skipWhiteSpace()
    if (this.#position < this.#text.length) throw this.#malformed()
  }

  #map(depth: number): void {
    const header = this.#descend(depth)
    let size = 0
    if (!this.#next("}")) {
      do {
        this.#skipWhiteSpace()
        if (this.#text[this.#position] !== '"') throw this.#malformed()
        this.#out.writeString(this.#string())
        if (!this.#next(":")) throw this.#malformed()
        this.value(depth + 1)
        size++
      } while (this.#next(","))
      if (!this.#next("}")) throw this.#malformed()
    }
    this.#out.setHeader(header, "map", size)
  }

  #array(depth: number): void {
    const header = this.#descend(depth)
    let size = 0
    if (!this.#next("]")) {
      do {
        this.value(depth + 1)
        size++
      } while (this.#next(","))
      if (!this.#next("]")) throw this.#malformed()
    }
    this.#out.setHeader(header, "array", size)
  }

  #descend(depth: number): number {
    if (depth >= MAX_DEPTH)
      throw new MessagePackError({ reason: "depth", offset: this.#out.length, detail: `more than ${MAX_DEPTH} levels` })
    this.#position++
    return this.#out.reserveHeader()
  }

  #string(): string {
    const text = this.#text
    const start = this.#position
    let hasEscapes = false
    for (let at = start + 1; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit === QUOTE) {
        this.#position = at + 1
        return hasEscapes ? this.#unescaped(text.slice(start, at + 1), start) : text.slice(start + 1, at)
      }
      if (unit < FIRST_PRINTABLE) break
      if (unit !== BACKSLASH) continue
      hasEscapes = true
      at++
    }
    throw this.#malformed()
  }

  #unescaped(quoted: string, start: number): string {
    try {
      return String(JSON.parse(quoted))
    } catch {
      this.#position = start
      throw this.#malformed()
    }
  }

  #number(): void {
    NUMBER.lastIndex = this.#position
    const match = NUMBER.exec(this.#text)
    if (match === null) throw this.#malformed()
    this.#position = NUMBER.lastIndex
    const [literal, fraction, exponent] = match
    const value = Number(literal)
    if (fraction === undefined && exponent === undefined && literal !== "-0") {
      if (Number.isSafeInteger(value)) return this.#out.writeInteger(value)
      const exact = BigInt(literal)
      if (exact >= MIN_I64 && exact <= MAX_U64) return this.#out.writeInteger(exact)
    }
    if (!Number.isFinite(value)) throw new MalformedJsonError({ reason: "number" })
    this.#out.writeFloat(value)
  }

  #literal(literal: string): void {
    if (!this.#text.startsWith(literal, this.#position)) throw this.#malformed()
    this.#position += literal.length
  }

  #next(character: string): boolean {
    this.#skipWhiteSpace()
    if (this.#text[this.#position] !== character) return false
    this.#position++
    return true
  }

  #skipWhiteSpace(): void {
    for (; ; this.#position++) {
      const unit = this.#text.charCodeAt(this.#position)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    }
  }

  #malformed(): MalformedJsonError {
    return new MalformedJsonError({ reason: "syntax", position: this.#position })
  }
}
