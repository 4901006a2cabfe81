/** Methods of texts: those that the library lacks, and those that it has otherwise. */

import type { RE2JS } from "re2js"
import { knownPattern } from "../schema/pattern.ts"
import { fail, reserve, step } from "./evaluation.ts"
import type { Extension } from "./program.ts"
import { durationText, timeText } from "./times.ts"
import { isDuration, isUnsigned, numberOf, type Value } from "./values.ts"

// `"%s and %.2f".format([…])`: the verbs s, d, f, e, b, x, X and o, numbers written as in American English.

const defaultPrecision = 6
/** What JavaScript's formatting of numbers allows. */
const highestPrecision = 100

const formatText = (format: string, values: ReadonlyArray<Value>): string => {
  let next = 0
  let length = 0
  return format.replace(/%(?:%|(?:\.(\d+))?([a-zA-Z]?))/g, (clause, digits: string | undefined, verb: string) => {
    if (clause === "%%") return "%"
    if (next >= values.length) return fail(`index ${next} out of range`)
    const precision = digits === undefined ? defaultPrecision : Number(digits)
    if (precision > highestPrecision) return fail(`precision ${precision} is too high`)
    const shown = written(verb, values[next++] ?? null, precision)
    length += shown.length
    reserve(length)
    return shown
  })
}

const written = (verb: string, value: Value, precision: number): string => {
  switch (verb) {
    case "s":
      return plain(value)
    case "d":
      return wholeOf(value, "decimal clause can only be used on integers").toString()
    case "f":
      return fixed(doubleOf(value, "fixed-point"), precision)
    case "e":
      return scientific(doubleOf(value, "scientific"), precision)
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0"
      return wholeOf(value, "only integers and bools can be formatted as binary").toString(2)
    case "o":
      return wholeOf(value, "octal clause can only be used on integers").toString(8)
    case "x":
      return hexadecimal(value)
    case "X":
      return hexadecimal(value).toUpperCase()
    default:
      return fail(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
  }
}

const misfit = (rule: string): never => fail(`error during formatting: ${rule}`)

const wholeOf = (value: Value, rule: string): bigint => {
  const number = numberOf(value)
  return typeof number === "bigint" ? number : misfit(rule)
}

const doubleOf = (value: Value, clause: string): number => {
  if (typeof value === "number") return value
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return Number(value)
  return misfit(`${clause} clause can only be used on doubles`)
}

const fixed = (value: number, precision: number): string => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞"
  const digits = { minimumFractionDigits: precision, maximumFractionDigits: precision }
  return new Intl.NumberFormat("en-US", digits).format(value)
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

const scientific = (value: number, precision: number): string => {
  if (!Number.isFinite(value)) return fixed(value, precision)
  const [mantissa = "", exponent = "0"] = value.toExponential(precision).split("e")
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0")
  const raised = [...digits].map((digit) => superscripts[Number(digit)] ?? "").join("")
  return `${mantissa}\u202f×\u202f10${exponent.startsWith("-") ? "⁻" : ""}${raised}`
}

const hexadecimal = (value: Value): string => {
  if (typeof value === "string") return Buffer.from(value).toString("hex")
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex")
  return wholeOf(value, "only integers, byte buffers, and strings can be formatted as hex").toString(16)
}

const plain = (value: Value): string => {
  step()
  if (value === null || typeof value !== "object") return String(value)
  if (Array.isArray(value)) return `[${value.map(nested).join(", ")}]`
  if (value instanceof Map) {
    const entries = [...value].map(([key, member]) => `${nested(key)}:${nested(member)}`)
    return `{${entries.sort().join(", ")}}`
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8")
  if (value instanceof Date) return timeText(value)
  if (isDuration(value)) return durationText(value)
  if (isUnsigned(value)) return value.toString()
  return misfit("string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists")
}

/** In lists and maps, texts are quoted. */
const nested = (value: Value): string => {
  const text = plain(value)
  if (typeof value === "string") return JSON.stringify(text)
  return value instanceof Uint8Array ? `b${JSON.stringify(text)}` : text
}

const characterAt = (text: string, index: bigint): string => {
  const characters = [...text]
  return index < 0n || index > characters.length
    ? fail(`index out of range: ${index}`)
    : (characters[Number(index)] ?? "")
}

/** At most `limit` times; a negative limit is none. An empty part is found before every character and at the end. */
const replaced = (text: string, part: string, by: string, limit = -1n): string => {
  const most = limit < 0n ? Infinity : Number(limit)
  const pieces = part === "" ? ["", ...text, ""] : text.split(part)
  const found = Math.min(pieces.length - 1, most)
  reserve(text.length + found * by.length)
  const rest = pieces.slice(found).join(part)
  return [...pieces.slice(0, found), rest].join(by)
}

const joined = (items: ReadonlyArray<Value>, separator = ""): string => {
  const pieces = items.map((item) => (typeof item === "string" ? item : fail(`join: invalid input: ${String(item)}`)))
  reserve(pieces.reduce((sum, piece) => sum + piece.length + separator.length, 0))
  return pieces.join(separator)
}

const escapes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
}

const quoted = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those that CEL's literals escape.
  `"${text.toWellFormed().replace(/[\x07\b\f\n\r\t\v\\"]/g, (character) => escapes[character] ?? character)}"`

const usable = (pattern: string): RE2JS => {
  const compiled = knownPattern(pattern)
  return typeof compiled === "string" ? fail(compiled) : compiled
}

const matches = (text: string, pattern: string): boolean => {
  step(text.length)
  return usable(pattern).test(text)
}

const found = (text: string, pattern: string, limit = -1n): ReadonlyArray<string> => {
  step(text.length)
  const matcher = usable(pattern).matcher(text)
  const all: string[] = []
  while ((limit < 0n || all.length < limit) && matcher.find()) all.push(matcher.group() ?? "")
  return all
}

export const texts: Extension = {
  functions: [
    ["string.matches_(string): bool", matches],
    ["matches_(string, string): bool", matches],
    ["string.find(string): string", (text: string, pattern: string) => found(text, pattern, 1n)[0] ?? ""],
    ["string.findAll(string): list<string>", (text: string, pattern: string) => found(text, pattern)],
    ["string.findAll(string, int): list<string>", found],
    ["string.charAt(int): string", characterAt],
    ["string.lowerAscii_(): string", (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())],
    ["string.upperAscii_(): string", (text: string) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())],
    ["string.replace(string, string): string", (text: string, part: string, by: string) => replaced(text, part, by)],
    ["string.replace(string, string, int): string", replaced],
    ["list<string>.join_(): string", (items: ReadonlyArray<Value>) => joined(items)],
    ["list<string>.join_(string): string", joined],
    ["Of.strings.quote(string): string", (_: object, text: string) => quoted(text)],
    ["string.format(list<dyn>): string", formatText],
  ],
}
