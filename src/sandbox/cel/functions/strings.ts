/** Methods of texts. Positions count Unicode characters. */

import { type Meter, matching, reading } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { List, sizeOf, type Value } from "../values.ts"
import { compiledPattern } from "./patterns.ts"
import { formatText } from "./text-format.ts"

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
