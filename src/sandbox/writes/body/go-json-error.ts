/**
 * What Go's encoding/json says of a text that is no JSON. Runs only once `JSON.parse` has refused, so it may be slow; it
 * follows Go's scanner state by state, because clients print these words.
 */

import { goQuote } from "../../schema/go-quote.ts"

/** The message; the empty string for text that Go's scanner would accept. */
export const goJsonError = (text: string): string => {
  const scanner = new Scanner(text)
  return scanner.run()
}

const endOfInput = "unexpected end of JSON input"

class Scanner {
  readonly #characters: ReadonlyArray<string>
  #at = 0
  #problem = ""

  constructor(text: string) {
    // By code point: Go names the whole character, and counts nothing here.
    this.#characters = Array.from(text)
  }

  run(): string {
    if (this.#value("looking for beginning of value")) {
      this.#space()
      if (this.#at < this.#characters.length) this.#wrong("after top-level value")
    }
    return this.#problem
  }

  #value(context: string): boolean {
    this.#space()
    const character = this.#characters[this.#at]
    switch (character) {
      case "{":
        return this.#object()
      case "[":
        return this.#array()
      case '"':
        return this.#string()
      case "t":
        return this.#literal("true")
      case "f":
        return this.#literal("false")
      case "n":
        return this.#literal("null")
      default:
        return character === "-" || isDigit(character) ? this.#number() : this.#wrong(context)
    }
  }

  #object(): boolean {
    this.#at++
    this.#space()
    if (this.#take("}")) return true
    for (;;) {
      this.#space()
      if (this.#peek() !== '"') return this.#wrong("looking for beginning of object key string")
      if (!this.#string()) return false
      this.#space()
      if (!this.#take(":")) return this.#wrong("after object key")
      if (!this.#value("looking for beginning of value")) return false
      this.#space()
      if (this.#take("}")) return true
      if (!this.#take(",")) return this.#wrong("after object key:value pair")
    }
  }

  #array(): boolean {
    this.#at++
    this.#space()
    if (this.#take("]")) return true
    for (;;) {
      if (!this.#value("looking for beginning of value")) return false
      this.#space()
      if (this.#take("]")) return true
      if (!this.#take(",")) return this.#wrong("after array element")
    }
  }

  #string(): boolean {
    this.#at++
    for (;;) {
      const character = this.#peek()
      if (character === undefined || character < " ") return this.#wrong("in string literal")
      this.#at++
      if (character === '"') return true
      if (character === "\\" && !this.#escape()) return false
    }
  }

  #escape(): boolean {
    const character = this.#peek()
    if (character === undefined || !'bfnrt\\/"u'.includes(character)) return this.#wrong("in string escape code")
    this.#at++
    for (let digit = 0; character === "u" && digit < 4; digit++) {
      if (!/^[0-9a-fA-F]$/.test(this.#peek() ?? "")) return this.#wrong("in \\u hexadecimal character escape")
      this.#at++
    }
    return true
  }

  #literal(word: string): boolean {
    for (const [index, expected] of Array.from(word).entries()) {
      if (!this.#take(expected)) return this.#wrong(`in literal ${word} (expecting ${quoted(word[index] ?? "")})`)
    }
    return true
  }

  #number(): boolean {
    if (this.#take("-") && !isDigit(this.#peek())) return this.#wrong("in numeric literal")
    if (!this.#take("0")) this.#digits()
    if (this.#take(".") && !this.#digits()) return this.#wrong("after decimal point in numeric literal")
    if (this.#take("e") || this.#take("E")) {
      if (!this.#take("+")) this.#take("-")
      if (!this.#digits()) return this.#wrong("in exponent of numeric literal")
    }
    return true
  }

  #digits(): boolean {
    const start = this.#at
    while (isDigit(this.#peek())) this.#at++
    return this.#at > start
  }

  #space(): void {
    while (this.#at < this.#characters.length && " \t\r\n".includes(this.#characters[this.#at] ?? "x")) this.#at++
  }

  #peek(): string | undefined {
    return this.#characters[this.#at]
  }

  #take(character: string): boolean {
    const found = this.#peek() === character
    if (found) this.#at++
    return found
  }

  #wrong(context: string): false {
    const character = this.#peek()
    this.#problem = character === undefined ? endOfInput : `invalid character ${quoted(character)} ${context}`
    return false
  }
}

const isDigit = (character: string | undefined): boolean => character !== undefined && /^[0-9]$/.test(character)

/** Go's `quoteChar`: single quotes, with the two quotes themselves written out and the rest as Go's %q. */
const quoted = (character: string): string => {
  if (character === "'") return "'\\''"
  if (character === '"') return "'\"'"
  return `'${goQuote(character).slice(1, -1)}'`
}
