/** Methods of texts. Positions count Unicode characters. */

import { type Meter, matching, reading } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { Duration, List, Mapping, sizeOf, Timestamp, TypeName, typeNameOf, Uint, type Value } from "../values.ts"
import { compiledPattern } from "./patterns.ts"
import { durationText, timestampText } from "./time-texts.ts"

// `"%s and %.2f".format([…])`: the verbs s, d, f, e, b, x, X and o, numbers written as in American English.

const defaultPrecision = 6
/** What JavaScript's formatting of numbers allows. */
const highestPrecision = 100

/** Throws EvaluationError. */
const formatText = (format: string, values: ReadonlyArray<Value>, meter: Meter): string => {
  let next = 0
  let length = 0
  const text = format.replace(/%(?:%|(?:\.(\d+))?([a-zA-Z]?))/g, (clause, digits: string | undefined, verb: string) => {
    if (clause === "%%") return "%"
    if (next >= values.length) return fail(`index ${next} out of range`)
    const precision = digits === undefined ? defaultPrecision : Number(digits)
    const shown = written(verb, values[next++] ?? null, precision, meter)
    length += shown.length
    meter.reserve(length)
    return shown
  })
  return text
}

const written = (verb: string, value: Value, precision: number, meter: Meter): string => {
  if (precision > highestPrecision) return fail(`precision ${precision} is too high`)
  switch (verb) {
    case "s":
      return plain(value, meter)
    case "d":
      return String(wholeOf(value) ?? misfit("decimal clause can only be used on integers", value))
    case "f":
      return fixed(doubleOf(value) ?? misfit("fixed-point clause can only be used on doubles", value), precision)
    case "e":
      return scientific(doubleOf(value) ?? misfit("scientific clause can only be used on doubles", value), precision)
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0"
      return (wholeOf(value) ?? misfit("only integers and bools can be formatted as binary", value)).toString(2)
    case "o":
      return (wholeOf(value) ?? misfit("octal clause can only be used on integers", value)).toString(8)
    case "x":
      return hexadecimal(value)
    case "X":
      return hexadecimal(value).toUpperCase()
    default:
      return fail(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
  }
}

const misfit = (rule: string, value: Value): never =>
  fail(`error during formatting: ${rule}, was given ${typeNameOf(value)}`)

const wholeOf = (value: Value): bigint | undefined =>
  typeof value === "bigint" ? value : value instanceof Uint ? value.value : undefined

const doubleOf = (value: Value): number | undefined => {
  if (typeof value === "number") return value
  return value === "NaN" || value === "Infinity" || value === "-Infinity" ? Number(value) : undefined
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
  if (typeof value === "string" || value instanceof Uint8Array) return Buffer.from(value as string).toString("hex")
  return (wholeOf(value) ?? misfit("only integers, byte buffers, and strings can be formatted as hex", value)).toString(
    16,
  )
}

const plain = (value: Value, meter: Meter): string => {
  meter.step()
  if (value === null) return "null"
  if (value instanceof List) return `[${value.items.map((item) => nested(item, meter)).join(", ")}]`
  if (value instanceof Mapping) {
    const entries = value.keys.map((key) => `${nested(key, meter)}:${nested(value.get(key) ?? null, meter)}`)
    return `{${entries.sort().join(", ")}}`
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8")
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof TypeName) return value.name
  if (value instanceof Uint) return String(value.value)
  if (typeof value !== "object") return String(value)
  return misfit("string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists", value)
}

/** In lists and maps, texts are quoted. */
const nested = (value: Value, meter: Meter): string => {
  const text = plain(value, meter)
  if (typeof value === "string") return JSON.stringify(text)
  return value instanceof Uint8Array ? `b${JSON.stringify(text)}` : text
}

const once = ([text]: ReadonlyArray<Value>): number => reading(sizeOf(text))
const twice = ([text]: ReadonlyArray<Value>): number => reading(sizeOf(text), 2)

const characterAt = (text: string, index: bigint): string => {
  const characters = [...text]
  return index < 0n || index > characters.length ? outOfRange(index) : (characters[Number(index)] ?? "")
}

const outOfRange = (index: bigint): never => fail(`index out of range: ${index}`)

const indexOf = (text: string, part: string, from: bigint): bigint => {
  if (part === "") return from
  if (from < 0n) return outOfRange(from)
  const characters = [...text]
  if (from >= characters.length) return -1n
  const start = characters.slice(0, Number(from)).join("").length
  const at = text.indexOf(part, start)
  return at < 0 ? -1n : BigInt(sizeOf(text.slice(0, at)))
}

const lastIndexOf = (text: string, part: string, from: bigint | undefined): bigint => {
  const size = sizeOf(text)
  const last = from ?? BigInt(size - 1)
  if (part === "") return from ?? BigInt(size)
  if (from !== undefined && from < 0n) return outOfRange(from)
  if (from !== undefined && from >= size) return -1n
  const at = text.lastIndexOf(part, [...text].slice(0, Number(last)).join("").length)
  return at < 0 ? -1n : BigInt(sizeOf(text.slice(0, at)))
}

const substring = (text: string, start: bigint, end: bigint): string => {
  const characters = [...text]
  if (start > end) return fail(`invalid substring range. start: ${start}, end: ${end}`)
  for (const index of [start, end]) if (index < 0n || index > characters.length) return outOfRange(index)
  return characters.slice(Number(start), Number(end)).join("")
}

/** At most `limit` times; a negative limit is none. An empty part is found before every character and at the end. */
const replaced = (text: string, part: string, by: string, limit: bigint, meter: Meter): string => {
  const pieces = splitText(text, part, limit < 0n ? -1 : Number(limit) + 1)
  const found = part === "" ? withEnds(pieces, limit) : pieces
  meter.reserve(text.length + found.length * by.length)
  return found.join(by)
}

const withEnds = (characters: ReadonlyArray<string>, limit: bigint): ReadonlyArray<string> => {
  if (limit === 0n) return [characters.join("")]
  const all = ["", ...characters]
  if (limit < 0n || all.length <= limit) return [...all, ""]
  const kept = Number(limit)
  return [...all.slice(0, kept), all.slice(kept).join("")]
}

/** Go's SplitN: at most `limit` pieces, the last with all that is left; none for 0, all for a negative limit. */
const splitText = (text: string, separator: string, limit: number): ReadonlyArray<string> => {
  if (limit === 0) return []
  const pieces = separator === "" ? [...text] : text.split(separator)
  if (limit < 0 || pieces.length <= limit) return pieces
  return [...pieces.slice(0, limit - 1), pieces.slice(limit - 1).join(separator)]
}

const texts = (pieces: ReadonlyArray<string>, meter: Meter): List => {
  meter.step(pieces.length)
  return new List(pieces)
}

const joined = ({ items }: List, separator: string, meter: Meter): string => {
  const pieces = items.map((item) => (typeof item === "string" ? item : fail(`join: invalid input: ${String(item)}`)))
  meter.reserve(pieces.reduce((sum, piece) => sum + piece.length + separator.length, 0))
  return pieces.join(separator)
}

const joiningCost = (_args: ReadonlyArray<Value>, result: Value): number => reading(sizeOf(result), 2)

const asciiCase = (text: string, pattern: RegExp, change: (letter: string) => string): string =>
  text.replace(pattern, change)

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

const pairCost = ([text, part]: ReadonlyArray<Value>): number => reading(sizeOf(text)) * reading(sizeOf(part))

export const strings: ReadonlyArray<Overload> = [
  overload<[string, string]>("string::contains(string) -> bool", ([text, part]) => text.includes(part), pairCost),
  overload<[string, string]>("string::startsWith(string) -> bool", ([text, part]) => text.startsWith(part), once),
  overload<[string, string]>("string::endsWith(string) -> bool", ([text, part]) => text.endsWith(part), once),
  ...["string::matches(string) -> bool", "matches(string, string) -> bool"].map((signature) =>
    overload<[string, string]>(
      signature,
      ([text, pattern]) => compiledPattern(pattern).test(text),
      ([text, pattern]) => matching(sizeOf(text), sizeOf(pattern)),
    ),
  ),
  overload<[string, bigint]>("string::charAt(int) -> string", ([text, index]) => characterAt(text, index)),
  overload<[string, string]>("string::indexOf(string) -> int", ([text, part]) => indexOf(text, part, 0n), once),
  overload<[string, string, bigint]>(
    "string::indexOf(string, int) -> int",
    ([text, part, from]) => indexOf(text, part, from),
    once,
  ),
  overload<[string, string]>(
    "string::lastIndexOf(string) -> int",
    ([text, part]) => lastIndexOf(text, part, undefined),
    once,
  ),
  overload<[string, string, bigint]>(
    "string::lastIndexOf(string, int) -> int",
    ([text, part, from]) => lastIndexOf(text, part, from),
    once,
  ),
  overload<[string]>(
    "string::lowerAscii() -> string",
    ([text]) => asciiCase(text, /[A-Z]+/g, (letters) => letters.toLowerCase()),
    once,
  ),
  overload<[string]>(
    "string::upperAscii() -> string",
    ([text]) => asciiCase(text, /[a-z]+/g, (letters) => letters.toUpperCase()),
    once,
  ),
  overload<[string]>("string::trim() -> string", ([text]) => text.trim(), once),
  overload<[string, string, string]>(
    "string::replace(string, string) -> string",
    ([text, part, by], meter) => replaced(text, part, by, -1n, meter),
    twice,
  ),
  overload<[string, string, string, bigint]>(
    "string::replace(string, string, int) -> string",
    ([text, part, by, limit], meter) => replaced(text, part, by, limit, meter),
    twice,
  ),
  overload<[string, string]>(
    "string::split(string) -> list(string)",
    ([text, separator], meter) => texts(splitText(text, separator, -1), meter),
    twice,
  ),
  overload<[string, string, bigint]>(
    "string::split(string, int) -> list(string)",
    ([text, separator, limit], meter) => texts(splitText(text, separator, Number(limit)), meter),
    twice,
  ),
  overload<[string, bigint]>(
    "string::substring(int) -> string",
    ([text, start]) => substring(text, start, BigInt(sizeOf(text))),
    once,
  ),
  overload<[string, bigint, bigint]>(
    "string::substring(int, int) -> string",
    ([text, start, end]) => substring(text, start, end),
    once,
  ),
  overload<[List]>("list(string)::join() -> string", ([list], meter) => joined(list, "", meter), joiningCost),
  overload<[List, string]>(
    "list(string)::join(string) -> string",
    ([list, separator], meter) => joined(list, separator, meter),
    joiningCost,
  ),
  overload<[string]>("strings.quote(string) -> string", ([text]) => quoted(text), once),
  overload<[string, List]>(
    "string::format(list(dyn)) -> string",
    ([text, { items }], meter) => formatText(text, items, meter),
    once,
  ),
]
