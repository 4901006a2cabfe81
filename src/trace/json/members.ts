/** Copies of JSON objects with one member changed; the input is never changed, and its other members are shared. */
import { isJsonObject, type JsonObject, type JsonValue, withProperty } from "./exact-json.ts"

/** With that member, at its place if there was one. */
export const withMember = (object: JsonObject, name: string, value: JsonValue): JsonObject => {
  let copy: Record<string, JsonValue> = {}
  for (const [key, item] of Object.entries(object)) copy = withProperty(copy, key, key === name ? value : item)
  return Object.hasOwn(object, name) ? copy : withProperty(copy, name, value)
}

/** Without that member; the object itself if it has none. */
export const withoutMember = (object: JsonObject, name: string): JsonObject => {
  if (!Object.hasOwn(object, name)) return object
  let kept: Record<string, JsonValue> = {}
  for (const [key, item] of Object.entries(object)) if (key !== name) kept = withProperty(kept, key, item)
  return kept
}

/** Without null members at any depth; null items of lists stay. The same value if there are none. */
export const withoutNulls = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) {
    const items = value.map(withoutNulls)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isJsonObject(value)) return value
  let isSame = true
  let kept: Record<string, JsonValue> = {}
  for (const [key, item] of Object.entries(value)) {
    const inner = withoutNulls(item)
    if (inner !== item || item === null) isSame = false
    if (item !== null) kept = withProperty(kept, key, inner)
  }
  return isSame ? value : kept
}

/** Whether objects and lists are inside one another by more than `levels`. Takes no more stack than that, whatever the value. */
export const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true
  return false
}
