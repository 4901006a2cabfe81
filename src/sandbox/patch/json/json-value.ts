/** JSON values as `JSON.parse` makes them, read and built so that no key is special (own-member.ts). */

import { isRecord } from "../../../is-record.ts"
import { setMember } from "../../../own-member.ts"

export type JsonValue = null | boolean | number | string | ReadonlyArray<JsonValue> | JsonObject

export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Decoded from JSON, so that nothing else is in it; values that rules leave undefined count as absent everywhere. */
export const asJson = (object: object): JsonObject => object as JsonObject

/** An object under construction. */
export interface JsonObjectDraft {
  [key: string]: JsonValue
}

export const isJsonArray = (value: JsonValue | undefined): value is ReadonlyArray<JsonValue> => Array.isArray(value)

export const isJsonObject = (value: JsonValue | undefined): value is JsonObject => isRecord(value)

export const jsonTypeOf = (value: JsonValue): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value

/** The object with one member set, or without it for `undefined`. */
export const withMember = (object: JsonObject, key: string, value: JsonValue | undefined): JsonObject => {
  // Spreading defines members instead of setting them, so every key is safe.
  const draft: JsonObjectDraft = { ...object }
  if (value === undefined) delete draft[key]
  else setMember(draft, key, value)
  return draft
}

/** Equal values; the order of an object's keys does not matter. */
export const isEqualJson = (left: JsonValue | undefined, right: JsonValue | undefined): boolean => {
  if (left === right) return true
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false
    for (let index = 0; index < left.length; index++) if (!isEqualJson(left[index], right[index])) return false
    return true
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false
  let count = 0
  for (const key in left) {
    count++
    const other = right[key]
    if (other === undefined || !isEqualJson(left[key], other)) return false
    if (key in Object.prototype && !Object.hasOwn(right, key)) return false
  }
  for (const _ in right) count--
  return count === 0
}
