/**
 * Members of JSON objects. Reading is total: what is missing, inherited or of another type counts as absent. Copies with one member changed share the others
 * with the input, which never changes.
 */
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, withProperty } from "./exact-json.ts"

/** An own member of what may be an object. */
export const memberIn = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** The same, if it is an object. */
export const objectIn = (value: JsonValue | undefined, name: string): JsonObject | undefined => {
  const found = memberIn(value, name)
  return isJsonObject(found) ? found : undefined
}

/** The same, if it is a text; the empty string if it is not. */
export const textIn = (value: JsonValue | undefined, name: string): string => {
  const found = memberIn(value, name)
  return typeof found === "string" ? found : ""
}

/** The same, if it is a list; empty if it is not. */
export const listIn = (value: JsonValue | undefined, name: string): ReadonlyArray<JsonValue> => {
  const found = memberIn(value, name)
  return isJsonList(found) ? found : []
}

/** The objects in such a list. */
export const objectsIn = (value: JsonValue | undefined, name: string): ReadonlyArray<JsonObject> =>
  listIn(value, name).filter(isJsonObject)

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
