/** Values as Go's `fmt` prints them: several of the server's messages quote what was sent this way. */

import type { JsonObject, JsonValue } from "./json-value.ts"

/** `%v`: `map[a:1 b:[x <nil>]]`, keys in order. */
export const goText = (value: JsonValue): string => {
  if (value === null) return "<nil>"
  if (typeof value === "string") return value
  if (typeof value === "number") return goNumber(value)
  if (typeof value === "boolean") return String(value)
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`
  const members = sortedKeys(value as JsonObject).map((key) => `${key}:${goText((value as JsonObject)[key] ?? null)}`)
  return `map[${members.join(" ")}]`
}

/** `%#v`: Go syntax. */
export const goSyntax = (value: JsonValue): string => {
  if (value === null) return "interface {}(nil)"
  if (typeof value === "string") return goQuoted(value)
  if (typeof value === "number") return goNumber(value)
  if (typeof value === "boolean") return String(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`
  const object = value as JsonObject
  const members = sortedKeys(object).map((key) => `${goQuoted(key)}:${goSyntax(object[key] ?? null)}`)
  return `map[string]interface {}{${members.join(", ")}}`
}

/** `%q`, for text that prints. */
export const goQuoted = (text: string): string => JSON.stringify(text)

/** The Go type that a decoded JSON value has. */
export const goTypeName = (value: JsonValue): string => {
  if (value === null) return "<nil>"
  if (typeof value === "string") return "string"
  if (typeof value === "boolean") return "bool"
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64"
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}"
}

/** Go's shortest form: an exponent has two digits, and small numbers get one earlier than in JavaScript. */
export const goNumber = (value: number): string => {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return String(value)
  const size = Math.abs(value)
  const text = size !== 0 && (size < 1e-4 || size >= 1e21) ? value.toExponential() : String(value)
  return text.replace(/e([+-])(\d)$/, "e$10$2")
}

const sortedKeys = (object: JsonObject): string[] => Object.keys(object).sort()
