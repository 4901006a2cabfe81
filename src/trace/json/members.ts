/** Copies of JSON objects with one member changed; the input is never changed, and its other members are shared. */
import { type JsonObject, type JsonValue, withProperty } from "./exact-json.ts"

/** With that member, at its place if there was one. */
export const withMember = (object: JsonObject, name: string, value: JsonValue): JsonObject => {
  let copy: Record<string, JsonValue> = {}
  for (const key of Object.keys(object))
    copy = withProperty(copy, key, key === name ? value : (object[key] as JsonValue))
  return Object.hasOwn(object, name) ? copy : withProperty(copy, name, value)
}

/** Without that member; the object itself if it has none. */
export const withoutMember = (object: JsonObject, name: string): JsonObject => {
  if (!Object.hasOwn(object, name)) return object
  let kept: Record<string, JsonValue> = {}
  for (const key of Object.keys(object)) if (key !== name) kept = withProperty(kept, key, object[key] as JsonValue)
  return kept
}
