/** The directives of strategic merge patches, and how objects are copied and taken over without them. */

import { isJsonObject, type JsonObject, type JsonValue, withProperty } from "../json/exact-json-value.ts"

export const PATCH = "$patch"
export const RETAIN_KEYS = "$retainKeys"
export const DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList"
export const SET_ELEMENT_ORDER = "$setElementOrder"

export type List = ReadonlyArray<JsonValue>
/** An object under construction, made by {@link copyOf}. */
export type Draft = Record<string, JsonValue>

export const isList = (value: JsonValue | undefined): value is List => Array.isArray(value)

/**
 * A copy that may be given members of `patch` too. An object with a backslash in a key has no prototype (see withProperty), and
 * neither has a copy of it.
 */
export const copyOf = (object: JsonObject, patch: JsonObject = object): Draft =>
  Object.getPrototypeOf(object) === null || Object.getPrototypeOf(patch) === null
    ? Object.assign(Object.create(null), object)
    : { ...object }

/** The value without objects that carry `$patch`; `undefined` if it is one itself. */
export const withoutDirectives = (value: JsonValue): JsonValue | undefined => {
  if (isList(value)) return value.map(withoutDirectives).filter((item): item is JsonValue => item !== undefined)
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, PATCH)) return undefined
  let kept: Draft = {}
  for (const key of Object.keys(value)) {
    const member = withoutDirectives(value[key] as JsonValue)
    if (member !== undefined) kept = withProperty(kept, key, member)
  }
  return kept
}
