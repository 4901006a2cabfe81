/** Classes and escapes of RE2 as classes of JavaScript: the parts between the brackets, by code points. */

import { refusePart } from "./syntax.ts"

/** Where a reader stands in the code points of a pattern. */
export interface Cursor {
  readonly points: ReadonlyArray<string>
  at: number
}

const hex = (point: number): string => `\\u{${point.toString(16)}}`
const range = (low: number, high: number): string => `${hex(low)}-${hex(high)}`
export const literal = (character: string): string => hex(character.codePointAt(0) ?? 0)

const highest = 0x10ffff

/** All but these, which come in order. */
const allBut = (...taken: ReadonlyArray<Span>): string => {
  const starts = [0, ...taken.map(([, high]) => high + 1)]
  return starts.map((start, index) => range(start, (taken[index]?.[0] ?? highest + 1) - 1)).join("")
}

type Span = readonly [number, number]

const digit: Span = [0x30, 0x39]
const word: ReadonlyArray<Span> = [digit, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]
const space: ReadonlyArray<Span> = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
]

/** ASCII only, unlike JavaScript's. */
const perlClasses: Readonly<Record<string, string>> = {
  d: range(...digit),
  D: allBut(digit),
  w: word.map((each) => range(...each)).join(""),
  W: allBut(...word),
  s: space.map((each) => range(...each)).join(""),
  S: allBut(...space),
}

const posixClasses: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
}

export const anyCharacter = "[^]"
export const anyButLineFeed = "[^\\n]"

/** `\d`, `\pL` and the like at the cursor, as part of a class; `undefined` if no such thing stands there. */
export const classEscape = (cursor: Cursor): string | undefined => {
  const { points, at } = cursor
  if (points[at] !== "\\") return undefined
  const letter = points[at + 1] ?? ""
  const perl = Object.hasOwn(perlClasses, letter) ? perlClasses[letter] : undefined
  if (perl !== undefined) {
    cursor.at += 2
    return perl
  }
  return letter === "p" || letter === "P" ? unicodeClass(cursor, letter === "P") : undefined
}

const unicodeClass = (cursor: Cursor, negated: boolean): string => {
  const { points, at } = cursor
  const end = points[at + 2] === "{" ? points.indexOf("}", at) : at + 2
  const whole = points.slice(at, end + 1).join("")
  if (end < 0 || end >= points.length) return refusePart("invalid character class range", points.slice(at).join(""))
  cursor.at = end + 1
  const named = whole.slice(2).replace(/^\{(.*)\}$/, "$1")
  const isNegated = named.startsWith("^") !== negated
  const name = named.replace(/^\^/, "")
  if (name === "Any") return isNegated ? "" : range(0, highest)
  if (!/^[A-Z][A-Za-z_]*$/.test(name)) return refusePart("invalid character class range", whole)
  const property = `\\${isNegated ? "P" : "p"}{${name.length <= 2 ? name : `Script=${name}`}}`
  try {
    new RegExp(property, "u")
  } catch {
    // Nothing else can be wrong with it: a name that nobody has.
    return refusePart("invalid character class range", whole)
  }
  return property
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 }

/** One character behind a backslash, which stands at the cursor, as its code point. */
export const escapedPoint = (cursor: Cursor): number => {
  const { points, at } = cursor
  const letter = points[at + 1]
  if (letter === undefined) return refusePart("trailing backslash at end of expression", "")
  cursor.at = at + 2
  if (/^[!-/:-@[-`{-~ ]$/.test(letter)) return letter.charCodeAt(0)
  const control = Object.hasOwn(controls, letter) ? controls[letter] : undefined
  if (control !== undefined) return control
  const rest = points.slice(at, at + 12).join("")
  const [number, braced, plain, octal] =
    /^\\(?:x\{([0-9A-Fa-f]{1,8})\}|x([0-9A-Fa-f]{2})|(0[0-7]{0,2}|[1-7][0-7]{1,2}))/.exec(rest) ?? []
  const point = octal === undefined ? Number.parseInt(braced ?? plain ?? "", 16) : Number.parseInt(octal, 8)
  if (number === undefined || !(point <= highest)) return refusePart("invalid escape sequence", `\\${letter}`)
  cursor.at = at + number.length
  return point
}

/** A class from its bracket on. */
export const bracketClass = (cursor: Cursor): string => {
  const { points } = cursor
  const start = cursor.at++
  const negated = points[cursor.at] === "^"
  if (negated) cursor.at++
  let parts = ""
  for (let isFirst = true; isFirst || points[cursor.at] !== "]"; isFirst = false) {
    if (cursor.at >= points.length) return refusePart("missing closing ]", points.slice(start).join(""))
    parts += posixClass(cursor) ?? classEscape(cursor) ?? characterRange(cursor, start)
  }
  cursor.at++
  if (parts === "") return negated ? anyCharacter : "[]"
  return `[${negated ? "^" : ""}${parts}]`
}

const posixClass = (cursor: Cursor): string | undefined => {
  const [whole, negation, name = ""] =
    /^\[:(\^?)(.*?):\]/.exec(cursor.points.slice(cursor.at, cursor.at + 16).join("")) ?? []
  if (whole === undefined) return undefined
  const members = Object.hasOwn(posixClasses, name) ? posixClasses[name] : undefined
  if (members === undefined) return refusePart("invalid character class range", whole)
  cursor.at += whole.length
  if (negation === "") return members
  const others = new RegExp(`[^${members}]`)
  const ascii = Array.from({ length: 128 }, (_, point) => point).filter((point) =>
    others.test(String.fromCharCode(point)),
  )
  return ascii.map(hex).join("") + range(128, highest)
}

const characterRange = (cursor: Cursor, start: number): string => {
  const { points } = cursor
  const from = cursor.at
  const low = classPoint(cursor, start)
  const after = points[cursor.at + 1]
  if (points[cursor.at] !== "-" || after === undefined || after === "]") return hex(low)
  cursor.at++
  const high = classPoint(cursor, start)
  if (high < low) return refusePart("invalid character class range", points.slice(from, cursor.at).join(""))
  return range(low, high)
}

const classPoint = (cursor: Cursor, start: number): number => {
  const character = cursor.points[cursor.at]
  if (character === undefined) return refusePart("missing closing ]", cursor.points.slice(start).join(""))
  if (character === "\\") return escapedPoint(cursor)
  cursor.at++
  return character.codePointAt(0) ?? 0
}
