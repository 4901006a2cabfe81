/**
 * JSON read and written without losing a digit.
 *
 * `JSON.parse` makes one number of 2^53+1 and 2^53+2, so a comparison that used it directly would miss a change between
 * them. Here a number that is not a safe integer keeps its text: a value `{ rawJSON: "9007199254740993" }`, which
 * compares like any object and is written back unchanged. Node 22 and later.
 */

/** A JSON value; a number that is not a safe integer is a raw value with its text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json | undefined }

interface ExactJson {
  rawJSON(text: string): Json
  parse(text: string, reviver: (key: string, value: Json, context: { readonly source?: string }) => Json): Json
}

// TypeScript's ES2024 library does not declare the proposal that Node ships ("JSON.parse source text access").
const exact = JSON as unknown as ExactJson

/** @throws SyntaxError when the text is not JSON. */
export const parseExactly = (text: string): Json =>
  exact.parse(text, (_key, value, { source }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined ? exact.rawJSON(source) : value,
  )

/** Whether a value is a JSON object: neither null nor an array. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Deep equality; the order of an object's members does not matter, a member that is `undefined` is absent. */
export const equal = (left: Json | undefined, right: Json | undefined): boolean => {
  if (left === right) return true
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => equal(item, right[index]))
  if (!isObject(left) || !isObject(right)) return false
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].every((name) => equal(left[name], right[name]))
}

/** The member at the end of a chain of names, `undefined` when the chain breaks. */
export const at = (value: Json | undefined, ...names: readonly string[]): Json | undefined =>
  names.reduce<Json | undefined>((inner, name) => (isObject(inner) ? inner[name] : undefined), value)

/** The text at the end of a chain of names; the empty string when there is none. */
export const textAt = (value: Json | undefined, ...names: readonly string[]): string => {
  const found = at(value, ...names)
  return typeof found === "string" ? found : ""
}
