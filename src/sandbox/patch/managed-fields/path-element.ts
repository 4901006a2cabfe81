/**
 * One step of a path in a field set, in the text form of `fieldsV1`: `f:name` a field, `k:{"name":"c"}` an item of a
 * keyed list, `v:"text"` an item of a set, `i:3` an index. The text is canonical, so equal elements are equal strings.
 */

import { memberOf } from "../../../own-member.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts"

type ParsedElement =
  | { readonly type: "key"; readonly fields: ReadonlyArray<readonly [name: string, value: JsonValue]> }
  | { readonly type: "value"; readonly value: JsonValue }

/** Parsed elements by text; emptied when full, because names that no object has any more would accumulate. */
const parsed = new Map<string, ParsedElement>()
const PARSED_LIMIT = 4_096

export const fieldElement = (name: string): string => `f:${name}`

export const valueElement = (value: JsonValue): string => `v:${goJson(value)}`

/** `fields` in the order of their names. */
export const keyElement = (fields: ReadonlyArray<readonly [name: string, value: JsonValue]>): string => {
  let text = ""
  for (const [name, value] of fields) text += `${text === "" ? "" : ","}${goJson(name)}:${goJson(value)}`
  return `k:{${text}}`
}

/**
 * The canonical text of an external element; `"unknown"` for element types of a future version, which the server
 * drops, `undefined` for those that it refuses.
 */
export const canonicalElement = (text: string): { readonly element: string } | "unknown" | undefined => {
  if (text[1] !== ":") return undefined
  const content = text.slice(2)
  switch (text[0]) {
    case "f":
      return { element: text }
    case "i":
      return /^[+-]?\d+$/.test(content) ? { element: `i:${Number(content)}` } : undefined
    case "v": {
      const value = parseJson(content)
      return value === undefined ? undefined : { element: valueElement(value) }
    }
    case "k": {
      const value = parseJson(content)
      return isJsonObject(value) ? { element: keyElement(fieldsInOrder(value)) } : undefined
    }
    default:
      return "unknown"
  }
}

/** The server's order: fields, keys, values, indices; numbers by size, text by its UTF-8 bytes. */
export const compareElements = (left: string, right: string): number => {
  if (left === right) return 0
  const kind = left.charCodeAt(0)
  if (kind !== right.charCodeAt(0)) return rank(left) - rank(right)
  if (kind === 0x66) return compareText(left, right)
  if (kind === 0x69) return Number(left.slice(2)) - Number(right.slice(2))
  const leftParsed = parse(left)
  const rightParsed = parse(right)
  if (leftParsed.type === "key" && rightParsed.type === "key")
    return compareFields(leftParsed.fields, rightParsed.fields)
  if (leftParsed.type === "value" && rightParsed.type === "value")
    return compareValues(leftParsed.value, rightParsed.value)
  return 0
}

/** The element as conflict and validation messages write it: `.spec`, `[name="c"]`, `[="text"]`, `[3]`. */
export const elementText = (element: string): string => {
  if (element.startsWith("f:")) return `.${element.slice(2)}`
  if (element.startsWith("i:")) return `[${element.slice(2)}]`
  const content = parse(element)
  if (content.type === "value") return `[=${JSON.stringify(content.value)}]`
  return `[${content.fields.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`
}

/** By UTF-8 bytes, that is, by code point: UTF-16 order differs between surrogates and U+E000 and above. */
export const compareText = (left: string, right: string): number => {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return a >= 0xd800 && b >= 0xd800 ? surrogatesLast(a) - surrogatesLast(b) : a - b
  }
  return left.length - right.length
}

const surrogatesLast = (unit: number): number => (unit < 0xe000 ? unit + 0x10000 : unit)

const rank = (element: string): number => "fkvi".indexOf(element[0] ?? "")

const parse = (element: string): ParsedElement => {
  const known = parsed.get(element)
  if (known !== undefined) return known
  if (parsed.size >= PARSED_LIMIT) parsed.clear()
  const value = parseJson(element.slice(2)) ?? null
  const made: ParsedElement =
    element[0] === "k" && isJsonObject(value) ? { type: "key", fields: fieldsInOrder(value) } : { type: "value", value }
  parsed.set(element, made)
  return made
}

const fieldsInOrder = (object: JsonObject): ReadonlyArray<readonly [string, JsonValue]> =>
  Object.keys(object)
    .sort(compareText)
    .map((name) => [name, memberOf(object, name) ?? null] as const)

const compareFields = (
  left: ReadonlyArray<readonly [string, JsonValue]>,
  right: ReadonlyArray<readonly [string, JsonValue]>,
): number => {
  for (let index = 0; ; index++) {
    const a = left[index]
    const b = right[index]
    if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1
    const order = compareText(a[0], b[0]) || compareValues(a[1], b[1])
    if (order !== 0) return order
  }
}

/** Numbers, then text, booleans and the rest: the server's order of different types. */
const compareValues = (left: JsonValue, right: JsonValue): number => {
  const order = typeRank(left) - typeRank(right)
  if (order !== 0) return order
  if (typeof left === "number" && typeof right === "number") return left - right
  if (typeof left === "string" && typeof right === "string") return compareText(left, right)
  if (typeof left === "boolean") return Number(left) - Number(right)
  return compareText(goJson(left), goJson(right))
}

const typeRank = (value: JsonValue): number => {
  if (typeof value === "number") return 0
  if (typeof value === "string") return 1
  if (typeof value === "boolean") return 2
  if (Array.isArray(value)) return 3
  return value === null ? 5 : 4
}

const NEEDS_ESCAPE = /[<>&\u2028\u2029\b\f]|\\[bf]/

/** JSON as the server's encoder writes it: safe for HTML, no short escapes for backspace and form feed. */
const goJson = (value: JsonValue): string => {
  const text = JSON.stringify(value)
  if (!NEEDS_ESCAPE.test(text)) return text
  return text.replace(/\\(.)|[<>&\u2028\u2029]/g, (match, escaped: string | undefined) => {
    if (escaped === "b") return "\\u0008"
    if (escaped === "f") return "\\u000c"
    return escaped === undefined ? `\\u${match.charCodeAt(0).toString(16).padStart(4, "0")}` : match
  })
}

const parseJson = (text: string): JsonValue | undefined => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}
