/** The directives of strategic merge patches, and values without them. */

import { isJsonArray, isJsonObject, type JsonObjectDraft, type JsonValue, setMember } from "../json/json-value.ts"

export const PATCH = "$patch"
export const RETAIN_KEYS = "$retainKeys"
export const DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList"
export const SET_ELEMENT_ORDER = "$setElementOrder"

/** The value without objects that contain `$patch`; `undefined` if it is one itself. */
export const withoutDirectives = (value: JsonValue): JsonValue | undefined => {
  if (isJsonArray(value)) {
    return value.map(withoutDirectives).filter((item): item is JsonValue => item !== undefined)
  }
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, PATCH)) return undefined
  const kept: JsonObjectDraft = {}
  for (const key of Object.keys(value)) {
    const member = withoutDirectives(value[key] as JsonValue)
    if (member !== undefined) setMember(kept, key, member)
  }
  return kept
}

/** Without null members at any depth; null items of lists stay. */
export const withoutNullMembers = (value: JsonValue): JsonValue => {
  if (isJsonArray(value)) return value.map(withoutNullMembers)
  if (!isJsonObject(value)) return value
  const kept: JsonObjectDraft = {}
  for (const key of Object.keys(value)) {
    const member = value[key] as JsonValue
    if (member !== null) setMember(kept, key, withoutNullMembers(member))
  }
  return kept
}
