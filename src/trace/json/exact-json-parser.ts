/**
 * A JSON parser that reads every literal as it was written: the slow path of exact JSON, a few times slower than `JSON.parse`. It accepts
 * exactly what `JSON.parse` accepts, in linear time.
 *
 * It exists for two reasons. `JSON.parse` rounds numbers. And in Node 24 and 26 it misreads keys: after a text with a key `\` (a backslash,
 * written `"\\"`), the key `"` (written `"\""`) of another text may be read as `\`, because V8 compares the raw text with the key it
 * expects from earlier objects (nodejs/node#63785; a property test found it here). So anyone who may create objects in a cluster could
 * change what is recorded of other objects. `JSON.parse` is safe as long as no shape with such a key exists in the process, so texts that
 * might contain one are parsed here, into objects without a shape.
 */

import { floatValue, type JsonObject, type JsonValue, MalformedJsonError, withProperty } from "./exact-json-value.ts"

const MAX_U64 = 2n ** 64n - 1n
const MIN_I64 = -(2n ** 63n)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
}
const LITERALS: ReadonlyArray<readonly [text: string, value: boolean | null]> = [
  ["true", true],
  ["false", false],
  ["null", null],
]

/**
 * Reads one JSON text.
 *
 * @throws MalformedJsonError, or a RangeError if the text nests deeper than the stack allows.
 */
export const parseStrictJson = (text: string): JsonValue => {
  const parser = new Parser(text)
  const value = parser.value()
  parser.end()
  return value
}

class Parser {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): JsonValue {
    this.#skipWhiteSpace()
    switch (this.#text[this.#position]) {
      case "{":
        return this.#object()
      case "[":
        return this.#array()
      case '"':
        return this.#string()
      default:
        return this.#scalar()
    }
  }

  end(): void {
    this.#skipWhiteSpace()
    if (this.#position < this.#text.length) throw this.#malformed()
  }

  #object(): JsonObject {
    let object: Record<string, JsonValue> = {}
    this.#position++
    if (this.#next("}")) return object
    do {
      this.#skipWhiteSpace()
      const key = this.#string()
      if (!this.#next(":")) throw this.#malformed()
      object = withProperty(object, key, this.value())
    } while (this.#next(","))
    if (!this.#next("}")) throw this.#malformed()
    return object
  }

  #array(): ReadonlyArray<JsonValue> {
    const array: JsonValue[] = []
    this.#position++
    if (this.#next("]")) return array
    do array.push(this.value())
    while (this.#next(","))
    if (!this.#next("]")) throw this.#malformed()
    return array
  }

  #string(): string {
    if (this.#text[this.#position] !== '"') throw this.#malformed()
    this.#position++
    let string = this.#plainCharacters()
    while (this.#text[this.#position] === "\\") string += this.#escape() + this.#plainCharacters()
    if (this.#text[this.#position] !== '"') throw this.#malformed()
    this.#position++
    return string
  }

  #escape(): string {
    const letter = this.#text[this.#position + 1] ?? ""
    if (letter === "u") {
      const digits = this.#text.slice(this.#position + 2, this.#position + 6)
      if (!/^[\da-fA-F]{4}$/.test(digits)) throw this.#malformed()
      this.#position += 6
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const character = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined
    if (character === undefined) throw this.#malformed()
    this.#position += 2
    return character
  }

  #scalar(): JsonValue {
    for (const [literal, value] of LITERALS)
      if (this.#text.startsWith(literal, this.#position)) {
        this.#position += literal.length
        return value
      }
    NUMBER.lastIndex = this.#position
    const match = NUMBER.exec(this.#text)
    if (match === null) throw this.#malformed()
    this.#position = NUMBER.lastIndex
    const [literal, fraction, exponent] = match
    return exactNumber(literal, fraction !== undefined || exponent !== undefined)
  }

  /** Skips white space, and this character if it comes next. */
  #next(character: string): boolean {
    this.#skipWhiteSpace()
    if (this.#text[this.#position] !== character) return false
    this.#position++
    return true
  }

  #skipWhiteSpace(): void {
    for (; ; this.#position++) {
      const unit = this.#text.charCodeAt(this.#position)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    }
  }

  /** The part of a string up to its end, an escape or a forbidden character. */
  #plainCharacters(): string {
    const start = this.#position
    for (; this.#position < this.#text.length; this.#position++) {
      const unit = this.#text.charCodeAt(this.#position)
      if (unit === QUOTE || unit === BACKSLASH || unit < FIRST_PRINTABLE) break
    }
    return this.#text.slice(start, this.#position)
  }

  #malformed(): MalformedJsonError {
    return new MalformedJsonError({ reason: "syntax", position: this.#position })
  }
}

const exactNumber = (literal: string, isFloat: boolean): JsonValue => {
  const value = Number(literal)
  // serde_json reads `-0` as a float.
  if (!isFloat && Number.isSafeInteger(value)) return value
  if (!Number.isFinite(value)) throw new MalformedJsonError({ reason: "number" })
  if (!isFloat) {
    const exact = BigInt(literal)
    if (exact >= MIN_I64 && exact <= MAX_U64) return exact
  }
  return floatValue(value)
}
