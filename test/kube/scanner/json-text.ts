/**
 * Arbitrary JSON as text, with what `JSON.stringify` never writes: any white space, any escape sequence, numbers of all
 * shapes, deep nesting, keys such as `__proto__`.
 */

import fc from "fast-check"

/** A JSON value that keeps its spelling. Scalars and strings are their tokens; keys are tokens with their quotes. */
export type JsonText = string | JsonText[] | JsonMembers
export interface JsonMembers {
  readonly members: ReadonlyArray<readonly [key: string, value: JsonText]>
}

export const object = (...members: ReadonlyArray<readonly [key: string, value: JsonText]>): JsonMembers => ({ members })
export const quote = (text: string): string => JSON.stringify(text)
export const isObject = (value: JsonText): value is JsonMembers => typeof value !== "string" && !Array.isArray(value)

/** Writes the value; `space` is called for the white space at every place where JSON allows some. */
export const write = (value: JsonText, space: () => string = () => ""): string => {
  if (typeof value === "string") return value
  if (Array.isArray(value)) {
    const elements = value.map((element) => `${space()}${write(element, space)}${space()}`)
    return `[${elements.length === 0 ? space() : elements.join(",")}]`
  }
  const members = value.members.map(
    ([key, member]) => `${space()}${key}${space()}:${space()}${write(member, space)}${space()}`,
  )
  return `{${members.length === 0 ? space() : members.join(",")}}`
}

/** A source of white space for {@link write}, repeating a random pattern. */
export const spacing: fc.Arbitrary<() => string> = fc
  .array(fc.constantFrom("", "", " ", "\n", "\t", "\r\n    ", "         "), { minLength: 1, maxLength: 20 })
  .map((pattern) => {
    let next = 0
    return () => pattern[next++ % pattern.length] ?? ""
  })

const hex = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`

/** One character of a string token, without an escape. */
const plainPiece = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-zA-Z0-9 .:/_{}[\],-]{1,12}$/) },
  { weight: 1, arbitrary: fc.constantFrom("ä", "€", "\u2028", "\u007f", "😀", "👩‍💻", "\uffff", "\u{10ffff}") },
)
const escapedPiece = fc.oneof(
  fc.constantFrom('\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\uD83D\\uDE00", "\\ud800"),
  fc.integer({ min: 0, max: 0xffff }).map(hex),
)

/** A string token without escapes. */
export const plainString: fc.Arbitrary<string> = fc
  .array(plainPiece, { maxLength: 4 })
  .map((pieces) => `"${pieces.join("")}"`)

/** A string token with any escapes. */
export const anyString: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 3, arbitrary: plainPiece }, { weight: 1, arbitrary: escapedPiece }), { maxLength: 5 })
  .map((pieces) => `"${pieces.join("")}"`)

const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    "0",
    "-0",
    "0.0",
    "-0.10",
    "1e5",
    "1E+05",
    "2.50e-300",
    "1e400",
    "9007199254740993",
    "123456789012345678901234567890",
  ),
)

export const scalar: fc.Arbitrary<string> = fc.oneof(anyString, number, fc.constantFrom("true", "false", "null"))

/** Keys that trip up naive code; unique within one object, as the server's encoder guarantees. */
const key = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z]{1,9}$/).map(quote) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("__proto__", "constructor", "toString", "", "f:metadata", "ä", "0", "😀").map(quote),
  },
  { weight: 1, arbitrary: anyString },
)

const decoded = (token: string): string => String(JSON.parse(token))

export const members = (
  keys: fc.Arbitrary<string>,
  values: fc.Arbitrary<JsonText>,
  maxLength: number,
): fc.Arbitrary<JsonMembers> =>
  fc
    .uniqueArray(fc.tuple(keys, values), { maxLength, selector: ([name]) => decoded(name) })
    .map((list) => ({ members: list }))

/** Any value. */
export const anyValue: fc.Arbitrary<JsonText> = fc.letrec<{ value: JsonText }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    members(key, tie("value"), 5),
  ),
})).value

/** A value nested more deeply than the stack allocated for usual objects. */
export const deepValue: fc.Arbitrary<JsonText> = fc
  .tuple(fc.integer({ min: 1, max: 700 }), fc.boolean())
  .map(([depth, array]) => {
    let value: JsonText = "1"
    for (let level = 0; level < depth; level++) value = array ? [value] : object([quote("a"), value])
    return value
  })
