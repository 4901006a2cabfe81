/**
 * The values of exact JSON: every value that SimKube's reader (Rust, serde_json) distinguishes has its own representation. The rules are
 * serde_json's: a literal of digits that fits i64 or u64 is an integer; anything with a fraction or an exponent, an integer that fits
 * neither, and `-0` is a float. In JavaScript:
 *
 * | value                                | representation        |
 * | ------------------------------------ | --------------------- |
 * | integer of at most 2^53−1            | number                |
 * | larger integer that fits i64 or u64  | bigint                |
 * | float whose value is such an integer | {@link IntegralFloat} |
 * | every other float, −0, 2^53 and more | number                |
 */

import * as Schema from "effect/Schema"
import { isRecord } from "../../is-record.ts"
import { setMember } from "../../own-member.ts"

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

/**
 * Sets an own property of any name and returns the object to use from then on: all code that builds objects from keys it did not choose
 * uses this.
 *
 * Two names are special. Assigning to `__proto__` would set the prototype. And a key with a backslash must not get into the tables of
 * object shapes that V8 shares between all objects, because V8 then misreads other keys in `JSON.parse` (see exact-json-parser.ts); the
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
