/**
 * The byte search that comes before any walk: where in an object the keys `env`, `annotations`, `command`, `args` and `httpHeaders` are, and
 * addresses with a user. An object without them is done after 0.1 ns a byte.
 *
 * A quote before `env"` starts a string: behind one that ends a string no letter can follow. After a backslash it is inside a string, such as
 * a manifest in an annotation. Keys and addresses may also be spelled with escape sequences, which no API server does: their presence is
 * reported, and then the object has to be spelled as usual first.
 */
import type { JsonBytes } from "../scanner/json/json-bytes.ts"
import { threadScan } from "../scanner/simd/simd-scan.ts"

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92
const SLASH = 47
const AT_SIGN = 64
const LETTER_C = 99
const LETTER_E = 101
const LETTER_H = 104
const LETTER_N = 110

const keys = {
  env: Buffer.from('"env"'),
  annotations: Buffer.from('"annotations"'),
  command: Buffer.from('"command"'),
  args: Buffer.from('"args"'),
  headers: Buffer.from('"httpHeaders"'),
} as const

/** How kubectl ends the annotations of every manifest that has none. */
const noAnnotations = Buffer.from('annotations\\":{}')

/** A list of positions that keeps its memory when it is emptied, which an array does not. */
export class Places {
  count = 0
  readonly #positions: Array<number> = []

  add(position: number): void {
    this.#positions[this.count++] = position
  }

  at(index: number): number {
    return this.#positions[index] ?? 0
  }
}

/** Reused for every object: the results are valid until the next search. */
export class Candidates {
  /** Positions of the values of members called `env`, `annotations`, `httpHeaders`, and of those called `command` or `args`. */
  readonly env = new Places()
  readonly annotations = new Places()
  readonly headers = new Places()
  readonly arguments = new Places()
  /** Positions inside strings, of the colon of addresses with an `@` before their path. */
  readonly addresses = new Places()
  /** Whether a string contains text that may be one of the keys with something in it. */
  isQuoted = false
  /** Whether a letter, a quote, a colon or a slash is spelled as an escape sequence: what is looked for may be spelled so. */
  isOddlySpelled = false
  #positions: Int32Array<ArrayBufferLike> = new Int32Array(0)
  /** Up to where the last address was read, and whether it has a user. */
  #readTo = 0
  #isUserFound = false

  /** Searches the valid object in [start, end) of `json`; false if there is nothing of all this. */
  search(json: JsonBytes, start: number, end: number): boolean {
    const { bytes } = json
    this.isQuoted = false
    this.isOddlySpelled = false
    this.#readTo = 0
    const count = this.#find(bytes, start, end)
    this.env.count = 0
    this.annotations.count = 0
    this.headers.count = 0
    this.arguments.count = 0
    this.addresses.count = 0
    if (count === 0) return false
    const positions = this.#positions
    let isFound = false
    for (let index = 0; index < count; index++) {
      const at = start + (positions[index] ?? 0)
      const first = bytes[at]
      if (first === BACKSLASH) {
        if (isOdd(bytes[at + 4] ?? 0, bytes[at + 5] ?? 0)) this.isOddlySpelled = true
      } else if (first === COLON) {
        if (this.#hasUser(bytes, at, end)) this.addresses.add(at)
      } else if (at > start && bytes[at - 1] === BACKSLASH) {
        if (!isEmptied(bytes, at, end)) this.isQuoted = true
      } else if (this.#keys(json, at)) isFound = true
    }
    return isFound || this.isOddlySpelled || this.isQuoted || this.addresses.count > 0
  }

  /** Whether the word with the address at `position` has an `@` after it. Reads every byte once, however many addresses a word has. */
  #hasUser(bytes: Buffer, position: number, end: number): boolean {
    if (position < this.#readTo) return this.#isUserFound
    let at = position + 1
    while (at < end && bytes[at] !== AT_SIGN && bytes[at] !== QUOTE && (bytes[at] ?? 0) > 32) at++
    this.#readTo = at
    this.#isUserFound = at < end && bytes[at] === AT_SIGN
    return this.#isUserFound
  }

  #keys(json: JsonBytes, at: number): boolean {
    const { bytes } = json
    switch (bytes[at + 1]) {
      case LETTER_E:
        return this.#key(json, at, keys.env, this.env)
      case LETTER_C:
        return this.#key(json, at, keys.command, this.arguments)
      case LETTER_H:
        return this.#key(json, at, keys.headers, this.headers)
      default:
        return bytes[at + 2] === LETTER_N
          ? this.#key(json, at, keys.annotations, this.annotations)
          : this.#key(json, at, keys.args, this.arguments)
    }
  }

  #key(json: JsonBytes, at: number, key: Buffer, found: Places): boolean {
    const { bytes } = json
    const { length } = key
    if (bytes[at + length - 1] !== QUOTE) return false
    if (length > 5 && bytes.compare(key, 0, length, at, at + length) !== 0) return false
    const colon = json.skipSpace(at + length)
    if (bytes[colon] !== COLON) return false
    found.add(json.skipSpace(colon + 1))
    return true
  }

  #find(bytes: Buffer, start: number, end: number): number {
    const count = threadScan === undefined ? -1 : threadScan.findCandidates(bytes, start, end)
    if (count >= 0 && threadScan !== undefined) {
      this.#positions = threadScan.positions
      return count
    }
    const found = findSlowly(bytes, start, end)
    this.#positions = found
    return found.length
  }
}

/** By the last two digits of an escape sequence. U+0022, U+002F and U+003A; U+0040 to U+007F are letters and the backslash. */
const isOdd = (high: number, low: number): boolean =>
  (high >= 52 && high <= 55) ||
  (high === 50 && (low === 50 || (low | 32) === 102)) ||
  (high === 51 && (low | 32) === 97)

/** Whether the quote at `position` begins the annotations of a manifest that has none. */
const isEmptied = (bytes: Buffer, position: number, end: number): boolean => {
  const { length } = noAnnotations
  return (
    position + 1 + length <= end && bytes.compare(noAnnotations, 0, length, position + 1, position + 1 + length) === 0
  )
}

/** The same as assembly/candidates.ts, for processors without SIMD and objects that its memory has no room for. */
export const findSlowly = (bytes: Buffer, start: number, end: number): Int32Array => {
  const found: Array<number> = []
  for (let at = start; at + 3 <= end; at++) {
    const first = bytes[at]
    if (first !== QUOTE && first !== BACKSLASH && first !== COLON) continue
    if (words.has(bytes.toString("latin1", at, Math.min(at + 4, end))) || isAddress(bytes, at)) found.push(at - start)
  }
  return Int32Array.from(found)
}

const words: ReadonlySet<string> = new Set([
  '"env',
  '"ann',
  '"com',
  '"arg',
  '"htt',
  "\\u00",
  ":\\/\\",
  ":\\//",
  ":/\\/",
])

const isAddress = (bytes: Buffer, at: number): boolean =>
  bytes[at] === COLON && bytes[at + 1] === SLASH && bytes[at + 2] === SLASH
