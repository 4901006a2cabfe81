/**
 * Counts the values of a JSON text while its bytes arrive, about 1 ms for a mebibyte.
 *
 * Parsing costs the main thread by the value, not by the byte: a mebibyte of numbers took 25 ms, and one of nested arrays 180 ms, while one
 * string takes less than 1 ms. A text that has too many values, or too deep ones, is known before any of it is parsed.
 */

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

export class ValueCount {
  #isInString = false
  /** The last byte was a backslash in a string, which may be the last of a piece. */
  #isEscaped = false
  #depth = 0
  #values = 1
  #deepest = 0

  /** At least the number of values so far; more by one for each empty array or object. */
  get values(): number {
    return this.#values
  }

  /** How many arrays and objects were open at once, at most. */
  get deepest(): number {
    return this.#deepest
  }

  /** The next bytes, cut anywhere. Never throws: what is not JSON has some count, too. */
  add(bytes: Uint8Array): void {
    let isInString = this.#isInString
    let isEscaped = this.#isEscaped
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index]
      if (isInString) {
        if (isEscaped) isEscaped = false
        else if (byte === backslash) isEscaped = true
        else if (byte === quote) isInString = false
      } else if (byte === quote) isInString = true
      else if (byte === comma) this.#values++
      else if (byte === openBracket || byte === openBrace) this.#open()
      else if (byte === closeBracket || byte === closeBrace) this.#depth--
    }
    this.#isInString = isInString
    this.#isEscaped = isEscaped
  }

  #open(): void {
    this.#values++
    this.#depth++
    if (this.#depth > this.#deepest) this.#deepest = this.#depth
  }
}
