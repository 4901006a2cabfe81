/**
 * Reads and writes JSON without loss: every value that SimKube's reader (Rust, serde_json) distinguishes has its own representation. A
 * literal of digits that fits i64 or u64 is an integer; anything with a fraction or an exponent, an integer that fits neither, and `-0` is
 * a float. In JavaScript:
 *
 * | value                                | representation        |
 * | ------------------------------------ | --------------------- |
 * | integer of at most 2^53−1            | number                |
 * | larger integer that fits i64 or u64  | bigint                |
 * | float whose value is such an integer | {@link IntegralFloat} |
 * | every other float, −0, 2^53 and more | number                |
 *
 * `JSON.parse` reads a text without anything suspicious; {@link Parser} one with suspicious numbers or an escaped backslash. Depth is not
 * limited here, but by the code that walks the value (see {@link MAX_DEPTH}).
 */

import { isUtf8 } from "node:buffer"
import * as Schema from "effect/Schema"
import { isRecord } from "../../is-record.ts"
import { setMember } from "../../own-member.ts"

/** A value of a JSON text. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | IntegralFloat
  | ReadonlyArray<JsonValue>
  | JsonObject

/** A JSON object. Only own properties are keys; some objects have no prototype, see {@link withProperty}. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/**
 * A float with an integral value of at most 2^53−1, such as `1.0` or `1e3`: a plain number could not be distinguished from the integer.
 * Never −0, a fraction or a larger value, so that every value has one representation.
 */
export class IntegralFloat {
  readonly value: number

  /** `value` must be a safe integer other than −0; {@link floatValue} checks that. */
  constructor(value: number) {
    this.value = value
  }
}

/**
 * Levels of nesting up to which values are hashed, encoded and decoded. Just below 1,024, the limit of rmp-serde, the reader of SimKube's
 * files; the API server's own objects stay below 100.
 */
export const MAX_DEPTH = 1_000

/** The text is not JSON. Never quotes the text, which may be a Secret. */
export class MalformedJsonError extends Schema.TaggedError<MalformedJsonError>()("MalformedJsonError", {
  /** What is wrong: `syntax`, `encoding` (not UTF-8), `number` (beyond f64), `depth` (the engine's stack overflowed). */
  reason: Schema.Literals(["syntax", "encoding", "number", "depth"]),
  /** UTF-16 code unit at which the error was noticed, if the engine reports it. */
  position: Schema.optional(Schema.Int),
}) {
  override get message(): string {
    const where = this.position === undefined ? "" : ` at position ${this.position}`
    return `not valid JSON (${this.reason})${where}`
  }
}

/** The only representation of a float literal's value. */
export const floatValue = (value: number): number | IntegralFloat =>
  Number.isSafeInteger(value) && !Object.is(value, -0) ? new IntegralFloat(value) : value

/** Whether a number (not a bigint) stands for an integer; false for every float of the module's table. */
export const isIntegerNumber = (value: number): boolean => Number.isSafeInteger(value) && !Object.is(value, -0)

/** Whether a value is a JSON object: neither null, nor an array, nor a number of any kind. */
export const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  isRecord(value) && !(value instanceof IntegralFloat)

/** Whether a value is a list. */
export const isJsonList = (value: JsonValue | undefined): value is ReadonlyArray<JsonValue> => Array.isArray(value)

/**
 * Sets an own property of any name and returns the object to use from then on: all code that builds objects from keys it did not choose
 * uses this.
 *
 * Two names are special. Assigning to `__proto__` would set the prototype. And a key with a backslash must not get into the tables of
 * object shapes that V8 shares between all objects, because V8 then misreads other keys in `JSON.parse` (see {@link Parser}); the
 * object is replaced by one without prototype, which V8 keeps as a dictionary, without shape.
 */
export const withProperty = (
  object: Record<string, JsonValue>,
  key: string,
  value: JsonValue,
): Record<string, JsonValue> => {
  const target = key.includes("\\") ? asDictionary(object) : object
  setMember(target, key, value)
  return target
}

const asDictionary = (object: Record<string, JsonValue>): Record<string, JsonValue> =>
  Object.getPrototypeOf(object) === null
    ? object
    : Object.defineProperties(Object.create(null), Object.getOwnPropertyDescriptors(object))

/**
 * Literals that `JSON.parse` might not keep: 16 or more digits (and dot), an exponent, a fraction of zeros. Matches only where a value can
 * start, so that versions and addresses inside strings ("nginx:1.0") rarely match; a match in a string only costs time. The look-behind
 * comes after the first digit because digits are rarer than quotes and commas: 1.7 µs for 4.6 kB, against 7 µs for the same rule read from
 * left to right.
 */
const SUSPICIOUS_NUMBER = /\d(?<=(?:"\s*:|[,[]|^)\s*-?\d)(?:[\d.]{15}|\d*(?:\.\d+)?[eE]|\d*\.0+(?!\d))/

/** A key with a backslash would make `JSON.parse` misread other texts later (see {@link Parser}). */
const ESCAPED_BACKSLASH = /\\(?:\\|u005c)/i

/** Parses one JSON text, as a string or as UTF-8 bytes. @throws only MalformedJsonError */
export const parseExactJson = (source: string | Uint8Array): JsonValue => {
  const text = typeof source === "string" ? source : decodeUtf8(source)
  try {
    return ESCAPED_BACKSLASH.test(text) || SUSPICIOUS_NUMBER.test(text) ? parseStrictJson(text) : JSON.parse(text)
  } catch (error) {
    throw error instanceof MalformedJsonError ? error : malformed(error)
  }
}

/** The same; `undefined` for what cannot be read, where someone else reports that. */
export const exactJsonIn = (source: string | Uint8Array): JsonValue | undefined => {
  try {
    return parseExactJson(source)
  } catch (error) {
    if (error instanceof MalformedJsonError) return undefined
    throw error
  }
}

const decodeUtf8 = (bytes: Uint8Array): string => {
  if (!isUtf8(bytes)) throw new MalformedJsonError({ reason: "encoding" })
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
}

const malformed = (error: unknown): MalformedJsonError => {
  if (error instanceof RangeError) return new MalformedJsonError({ reason: "depth" })
  const position = error instanceof SyntaxError ? /at position (\d+)/.exec(error.message)?.[1] : undefined
  return new MalformedJsonError({ reason: "syntax", ...(position !== undefined && { position: Number(position) }) })
}

/** `JSON.rawJSON` (ES2025): text that `JSON.stringify` copies unchanged. */
const rawJson = (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON

/**
 * Writes a value as compact JSON that {@link parseExactJson} reads back as the same value. Non-finite floats, which
 * JSON cannot hold, become null as serde_json writes them.
 * @throws MalformedJsonError with reason `depth` if the value is nested too deeply for the engine's stack.
 */
export const formatExactJson = (value: JsonValue): string => {
  try {
    return JSON.stringify(value, exactLiteral)
  } catch (error) {
    throw malformed(error)
  }
}

const exactLiteral = (_key: string, value: JsonValue): JsonValue => {
  if (typeof value === "bigint") return rawJson(String(value))
  if (value instanceof IntegralFloat) return rawJson(`${value.value}.0`)
  if (typeof value !== "number" || !Number.isInteger(value) || isIntegerNumber(value)) return value
  const digits = Object.is(value, -0) ? "-0" : String(value)
  return rawJson(digits.includes("e") ? digits : `${digits}.0`)
}

const MAX_U64 = 2n ** 64n - 1n
const MIN_I64 = -(2n ** 63n)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const LITERALS: ReadonlyArray<readonly [text: string, value: boolean | null]> = [
  ["true", true],
  ["false", false],
  ["null", null],
]

/** A value with its objects as maps: a JavaScript object moves keys such as "8080" to its front. */
type OrderedJson =
  | null
  | boolean
  | number
  | bigint
  | string
  | IntegralFloat
  | ReadonlyArray<OrderedJson>
  | ReadonlyMap<string, OrderedJson>

type Parsed = JsonValue | OrderedJson | ReadonlyArray<Parsed> | ReadonlyMap<string, Parsed>

/** Reads one JSON text. Throws MalformedJsonError, and a RangeError if the text nests deeper than the stack allows. */
export const parseStrictJson = (text: string): JsonValue => new Parser(text, false).whole() as JsonValue

/** As {@link parseExactJson}, of UTF-8, with maps. @throws MalformedJsonError */
export const parseOrderedJson = (bytes: Uint8Array): OrderedJson => {
  try {
    return new Parser(decodeUtf8(bytes), true).whole() as OrderedJson
  } catch (error) {
    throw error instanceof MalformedJsonError ? error : malformed(error)
  }
}

/**
 * Accepts exactly what `JSON.parse` accepts, in linear time, a few times slower. It exists because `JSON.parse` rounds numbers, and because
 * in Node 24 and 26 it misreads keys: after a text with a key `\` (written `"\\"`), the key `"` of another text may be read as `\`, because
 * V8 compares the raw text with the key it expects from earlier objects (nodejs/node#63785; a property test found it here). Anyone who may
 * create objects in a cluster could change what is recorded of others. `JSON.parse` is safe as long as no shape with such a key exists in
 * the process, so texts that might contain one are parsed here, into objects without a shape.
 */
class Parser {
  readonly #text: string
  readonly #isOrdered: boolean
  #position = 0

  constructor(text: string, isOrdered: boolean) {
    this.#text = text
    this.#isOrdered = isOrdered
  }

  whole(): Parsed {
    const value = this.#value()
    this.#skipWhiteSpace()
    if (this.#position < this.#text.length) throw this.#malformed()
    return value
  }

  #value(): Parsed {
    this.#skipWhiteSpace()
    switch (this.#text[this.#position]) {
      case "{":
        return this.#object()
      case "[":
        return this.#array()
      case '"':
        return this.#string()
      default:
        return this.#scalar()
    }
  }

  #object(): Parsed {
    const map = new Map<string, Parsed>()
    let object: Record<string, JsonValue> = {}
    this.#position++
    if (!this.#next("}")) {
      do {
        this.#skipWhiteSpace()
        const key = this.#string()
        if (!this.#next(":")) throw this.#malformed()
        const value = this.#value()
        if (this.#isOrdered) map.set(key, value)
        else object = withProperty(object, key, value as JsonValue)
      } while (this.#next(","))
      if (!this.#next("}")) throw this.#malformed()
    }
    return this.#isOrdered ? map : object
  }

  #array(): ReadonlyArray<Parsed> {
    const array: Parsed[] = []
    this.#position++
    if (this.#next("]")) return array
    do array.push(this.#value())
    while (this.#next(","))
    if (!this.#next("]")) throw this.#malformed()
    return array
  }

  #string(): string {
    const text = this.#text
    const start = this.#position
    if (text[start] !== '"') throw this.#malformed()
    let isPlain = true
    let at = start + 1
    for (; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit === QUOTE) break
      if (unit > BACKSLASH || (unit >= 0x20 && unit !== BACKSLASH)) continue
      isPlain = false
      if (unit === BACKSLASH) at++
    }
    const string = isPlain && at < text.length ? text.slice(start + 1, at) : this.#unescaped(text.slice(start, at + 1))
    this.#position = at + 1
    return string
  }

  /** @throws MalformedJsonError for a string that is not closed, and one with a control character or a wrong escape */
  #unescaped(quoted: string): string {
    try {
      return String(JSON.parse(quoted))
    } catch {
      throw this.#malformed()
    }
  }

  #scalar(): JsonValue {
    for (const [literal, value] of LITERALS)
      if (this.#text.startsWith(literal, this.#position)) {
        this.#position += literal.length
        return value
      }
    NUMBER.lastIndex = this.#position
    const match = NUMBER.exec(this.#text)
    if (match === null) throw this.#malformed()
    this.#position = NUMBER.lastIndex
    const [literal, fraction, exponent] = match
    return exactNumber(literal, fraction !== undefined || exponent !== undefined)
  }

  /** Skips white space, and this character if it comes next. */
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

const exactNumber = (literal: string, isFloat: boolean): JsonValue => {
  const value = Number(literal)
  // serde_json reads `-0` as a float.
  if (!isFloat && Number.isSafeInteger(value)) return value
  if (!Number.isFinite(value)) throw new MalformedJsonError({ reason: "number" })
  if (!isFloat) {
    const exact = BigInt(literal)
    if (exact >= MIN_I64 && exact <= MAX_U64) return exact
  }
  return floatValue(value)
}
