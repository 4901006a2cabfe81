/**
 * JSON without loss: every value that SimKube's reader (Rust, serde_json) tells apart is told apart here.
 *
 * Plain `JSON.parse` rounds integers above 2^53 and cannot tell `1.0` from `1`; both change the hash of an object and
 * the bytes of an exported trace. The rules are serde_json's: a literal of digits that fits i64 or u64 is an integer;
 * anything with a fraction or an exponent, an integer that fits neither, and `-0` is a float. In JavaScript:
 *
 * | value                                   | representation          |
 * | --------------------------------------- | ----------------------- |
 * | integer of at most 2^53−1               | number                  |
 * | larger integer that fits i64 or u64     | bigint                  |
 * | float whose value is such an integer    | {@link IntegralFloat}   |
 * | every other float, −0, 2^53 and above   | number                  |
 *
 * A text without suspicious numbers takes `JSON.parse` alone; only one with such numbers pays for a second look at the
 * literals (about six times the price). Keys named `__proto__` are keys like any other. Depth is not limited here;
 * whoever walks the value limits it (see MAX_DEPTH).
 */

import { isUtf8 } from "node:buffer"
import * as Schema from "effect/Schema"

/** A value of a JSON text; see the module's table for numbers. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | IntegralFloat
  | ReadonlyArray<JsonValue>
  | JsonObject

/** A JSON object. Only own properties are keys. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/**
 * A float that is worth an integer of at most 2^53−1, such as `1.0` or `1e3`: a plain number could not be told
 * from the integer. Never holds −0, fractions or larger values, so that every value has one representation.
 */
export class IntegralFloat {
  readonly value: number

  /** `value` must be a safe integer other than −0; {@link floatValue} decides that. */
  constructor(value: number) {
    this.value = value
  }
}

/**
 * Levels of nesting up to which values are hashed, encoded and decoded. Just below 1,024, at which rmp-serde, the
 * reader of SimKube's files, gives up; the API server's own objects stay below 100.
 */
export const MAX_DEPTH = 1_000

/** The text is not JSON. Never quotes the text: it may be a Secret. */
export class MalformedJsonError extends Schema.TaggedError<MalformedJsonError>()("MalformedJsonError", {
  /** What is wrong: `syntax`, `encoding` (not UTF-8), `number` (beyond f64), `depth` (the engine's stack ended). */
  reason: Schema.Literals(["syntax", "encoding", "number", "depth"]),
  /** UTF-16 code unit at which it was noticed, where the engine says so. */
  position: Schema.optional(Schema.Int),
}) {
  override get message(): string {
    const where = this.position === undefined ? "" : ` at position ${this.position}`
    return `not valid JSON (${this.reason})${where}`
  }
}

/** A float literal's value in its one representation. */
export const floatValue = (value: number): number | IntegralFloat =>
  Number.isSafeInteger(value) && !Object.is(value, -0) ? new IntegralFloat(value) : value

/** Whether a number (not a bigint) stands for an integer; false for every float of the module's table. */
export const isIntegerNumber = (value: number): boolean => Number.isSafeInteger(value) && !Object.is(value, -0)

/** Whether a value is an object in the sense of JSON: neither null, nor an array, nor a number of any kind. */
export const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof IntegralFloat)

/**
 * Literals that `JSON.parse` might not keep: 16 or more digits (and dot), an exponent, a fraction of zeros. Counts only
 * where a value can start, so that versions and addresses inside strings ("nginx:1.0") rarely match; a match in
 * a string costs time only. The look-behind comes after the first digit because digits are rarer than quotes and
 * commas: 1.7 µs for 4.6 kB, against 7 µs for the same rule read from left to right.
 */
const SUSPICIOUS_NUMBER = /\d(?<=(?:"\s*:|[,[]|^)\s*-?\d)(?:[\d.]{15}|\d*(?:\.\d+)?[eE]|\d*\.0+(?!\d))/

/**
 * Reads one JSON text, as a string or as UTF-8 bytes.
 *
 * @throws MalformedJsonError and nothing else.
 */
export const parseExactJson = (source: string | Uint8Array): JsonValue => {
  const text = typeof source === "string" ? source : decodeUtf8(source)
  try {
    return SUSPICIOUS_NUMBER.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text)
  } catch (error) {
    throw error instanceof MalformedJsonError ? error : malformed(error)
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

const MAX_U64 = 2n ** 64n - 1n
const MIN_I64 = -(2n ** 63n)

/** Reviver; `context.source` is the literal as written (ES2025, in Node since 21). */
const exactNumber = (_key: string, value: JsonValue, context?: { readonly source?: string }): JsonValue => {
  if (typeof value !== "number") return value
  const literal = context?.source ?? String(value)
  if (!/[.eE]/.test(literal)) {
    if (Number.isSafeInteger(value)) return value
    const exact = BigInt(literal)
    if (exact >= MIN_I64 && exact <= MAX_U64) return exact
  }
  if (!Number.isFinite(value)) throw new MalformedJsonError({ reason: "number" })
  return floatValue(value)
}

/** `JSON.rawJSON` (ES2025): text that `JSON.stringify` copies as it stands. */
const rawJson = (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON

/**
 * Writes a value as compact JSON that {@link parseExactJson} reads back as the same value. Non-finite floats, which
 * JSON cannot hold, become null as serde_json writes them.
 *
 * @throws MalformedJsonError with reason `depth` if the value nests too deeply for the engine's stack.
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
