/** The structural pass accepts exactly what `JSON.parse` accepts: tested with every short text over small alphabets. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseResourceVersion } from "../../../../src/kube/resource-version.ts"
import { JsonBytes } from "../../../../src/kube/scanner/json/json-bytes.ts"
import { readResourceVersion } from "../../../../src/kube/watch/streams/stream-reader.ts"
import { rounds } from "../../../harness/effort.ts"
import { anyValue, deepValue, spacing, write } from "../json-text.ts"

const read = (text: string) => {
  const bytes = Buffer.from(`9${text}9`)
  return readResourceVersion(bytes, 1, bytes.length - 1)
}

test("reads the same from bytes as from text: digits of any length and anything else", () => {
  const text = fc.oneof(
    fc.stringMatching(/^\d{0,22}$/),
    fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
    fc.string({ maxLength: 21 }),
    fc.constantFrom(
      "",
      "0",
      "007",
      "+1",
      "-1",
      "1.0",
      "1e3",
      " 1",
      "9007199254740991",
      "9007199254740992",
      "18446744073709551615",
      "٣",
    ),
  )
  fc.assert(
    fc.property(text, (version) => {
      expect(read(version)).toBe(parseResourceVersion(version))
    }),
    { numRuns: rounds(2000) },
  )
})

test("reads nothing from an empty or reversed span", () => {
  expect(readResourceVersion(Buffer.from("12"), 1, 1)).toBeUndefined()
  expect(readResourceVersion(Buffer.from("12"), 2, 0)).toBeUndefined()
})

const json = new JsonBytes()

/** Whether the pass walks over all of `text` inside an object, as it always does with a value. */
const accepts = (text: string): boolean => {
  const bytes = Buffer.from(`{"a":${text}}`)
  return json.load(bytes, bytes.length) && json.skipValue(0) === bytes.length
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(`{"a":${text}}`)
    return true
  } catch {
    return false
  }
}

/** All texts of at most `length` tokens. */
function* texts(tokens: ReadonlyArray<string>, length: number): Generator<string> {
  yield ""
  if (length > 0) for (const rest of texts(tokens, length - 1)) for (const token of tokens) yield token + rest
}

const expectSame = (all: Iterable<string>): void => {
  const different: string[] = []
  let valid = 0
  for (const text of new Set(all)) {
    const parsed = parses(text)
    if (parsed) valid++
    if (accepts(text) !== parsed) different.push(text)
  }
  expect(different).toEqual([])
  expect(valid).toBeGreaterThan(9)
}

describe("the structural pass accepts exactly what JSON.parse accepts", () => {
  test("of numbers", () => {
    expectSame(texts(["-", "0", "1", ".", "e", "+"], 6))
    expectSame(texts(["1", "E", "-", "9"], 5))
  })

  test("of literals and near misses", () => {
    const literals = ["true", "false", "null"]
    const damaged = literals.flatMap((literal) =>
      [...literal].flatMap((_, index) => [
        literal.slice(0, index) + literal.slice(index + 1),
        `${literal.slice(0, index)}x${literal.slice(index + 1)}`,
        `${literal.slice(0, index)} ${literal.slice(index)}`,
        `${literal.slice(0, index)}${(literal[index] ?? "").toUpperCase()}${literal.slice(index + 1)}`,
      ]),
    )
    const all = [...literals, ...damaged]
    expectSame([
      ...all,
      ...all.map((text) => `[${text}]`),
      ...all.map((text) => `[${text},1]`),
      ...all.map((text) => ` ${text} `),
    ])
  })

  test("of strings and their escapes", () => {
    const bodies = [...texts(["a", "\\", '\\"', "u", "0", "n", "\u0001", "ä", "\\u12aF"], 4)]
    expectSame([...bodies.map((body) => `"${body}"`), ...bodies.map((body) => `{"${body}":1}`)])
    const every = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
    expectSame(
      every.flatMap((character) => [
        `"${character}"`,
        `"\\${character}"`,
        `"\\u00${character}0"`,
        `"abcd${character}efg"`,
      ]),
    )
  })

  test("of strings of every length and at every distance from the end", () => {
    const bodies = Array.from({ length: 24 }, (_, length) => "abcdefghijklmnopqrstuvwxyz".slice(0, length))
    const ends = ["", "\\n", "\\", "\\u", "\\u00e", "\\u00e4", "\u0000", "\u001f", "\u007f", "ä"]
    expectSame(
      bodies.flatMap((body) => ends.flatMap((end) => [`"${body}${end}"`, `"${end}${body}"`, `"${body}${end}`])),
    )
  })

  test("of structure", () => {
    expectSame(texts(["{", "}", "[", "]", ",", ":", '"k"', "1", " "], 5))
    expectSame(texts(["{", "}", "[", "]", ",", '"k":', "1"], 5))
  })

  test("of white space, which is exactly four characters", () => {
    const spaces = [" ", "\n", "\r", "\t", "\f", "\v", "\0", "\b", "\u00a0", "\ufeff"]
    expectSame(
      spaces.flatMap((space) => [
        `${space}1`,
        `1${space}`,
        `{${space}}`,
        `[${space}]`,
        `{"k"${space}:1}`,
        `{"k":1${space},"l":2}`,
        `{"k":1,${space}"l":2}`,
        `[1${space},${space}2]`,
        ...spaces.map((other) => `[ ${space}${other}1 ]`),
      ]),
    )
  })

  test("of anything generated, and nothing that is truncated", () => {
    fc.assert(
      fc.property(fc.oneof(anyValue, deepValue), spacing, fc.nat(), (value, space, where) => {
        const text = `${space()}${write(value, space)}${space()}`
        expect(accepts(text)).toBe(true)
        const cut = text.slice(0, where % text.length)
        expect(accepts(cut)).toBe(parses(cut))
      }),
      { numRuns: rounds(300) },
    )
  })
})

test("a nesting of a million is walked over like any other, as JSON.parse does", () => {
  const depth = 1_000_000
  expect(accepts("[".repeat(depth) + "]".repeat(depth))).toBe(true)
  expect(accepts("[".repeat(depth) + "]".repeat(depth - 1))).toBe(false)
})
