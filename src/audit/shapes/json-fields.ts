/** Reads members of parsed JSON that may have any shape. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"

/** An own member; never an inherited one. */
export const member = (object: JsonObject | undefined, name: string): JsonValue | undefined =>
  object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined

/** A member that is an object. */
export const objectMember = (object: JsonObject | undefined, name: string): JsonObject | undefined => {
  const value = member(object, name)
  return isJsonObject(value) ? value : undefined
}

/** A member that is a text; the empty string if it is anything else. */
export const textMember = (object: JsonObject | undefined, name: string): string => {
  const value = member(object, name)
  return typeof value === "string" ? value : ""
}

/** A member that is an array; empty if it is anything else. */
export const arrayMember = (object: JsonObject | undefined, name: string): ReadonlyArray<JsonValue> => {
  const value = member(object, name)
  return Array.isArray(value) ? (value as ReadonlyArray<JsonValue>) : []
}
