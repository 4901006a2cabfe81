/**
 * The byte search that comes before any walk: where in an object the keys `env` and `annotations` are. An object without them is done
 * after 0.1 ns a byte.
 *
 * A quote before `env"` starts a string: behind one that ends a string no letter can follow. After a backslash it is inside a string, such as
 * a manifest in an annotation. A key may also be spelled with escape sequences, which no API server does: their presence is reported, and
 * then all keys are read.
 */
import { decodeString } from "../scanner/json/canonical-json.ts"
import type { JsonBytes } from "../scanner/json/json-bytes.ts"
import { threadScan } from "../scanner/simd/simd-scan.ts"

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92
const LETTER_A = 97
const LETTER_E = 101
const LETTER_U = 117

const annotations = Buffer.from('"annotations"')

/** A list of positions that keeps its memory when it is emptied, which an array does not. */
export class Places {
  count = 0
  readonly #positions: Array<number> = []

  add(position: number): void {
    this.#positions[this.count++] = position
  }

  at(index: number): number {
    return this.#positions[index] as number
  }
}

/** Reused for every object: the results are valid until the next search. */
export class Candidates {
  /** Positions of the values of members called `env`, and of those called `annotations`. */
  readonly env = new Places()
  readonly annotations = new Places()
  /** Whether a string contains the text `"env"`. */
  isQuoted = false
  #positions: Int32Array<ArrayBufferLike> = new Int32Array(0)

  /** Searches the valid object in [start, end) of `json`; false if there is nothing of all this. */
  search(json: JsonBytes, start: number, end: number): boolean {
    const { bytes } = json
    this.isQuoted = false
    const count = this.#find(bytes, start, end)
    this.env.count = 0
    this.annotations.count = 0
    if (count === 0) return false
    const positions = this.#positions
    let hasEscapedLetters = false
    for (let index = 0; index < count; index++) {
      const at = start + (positions[index] as number)
      const second = bytes[at + 1]
      if (second === LETTER_U) {
        // U+0040 to U+007F: letters and the backslash; U+0022: a quote. Others, such as the `<` of a shell command, are in nothing that is
        // looked for.
        const high = bytes[at + 4] as number
        if ((high >= 52 && high <= 55) || (high === 50 && bytes[at + 5] === 50)) hasEscapedLetters = true
      } else if (at > start && bytes[at - 1] === BACKSLASH) {
        if (second === LETTER_E) this.isQuoted = true
      } else if (second === LETTER_E) this.#key(json, at, 5, this.env)
      else if (second === LETTER_A) this.#key(json, at, annotations.length, this.annotations)
    }
    if (hasEscapedLetters) this.#readAllKeys(json, start, end)
    return hasEscapedLetters || this.isQuoted || this.env.count > 0 || this.annotations.count > 0
  }

  #key(json: JsonBytes, at: number, length: number, found: Places): void {
    const { bytes } = json
    if (bytes[at + length - 1] !== QUOTE) return
    if (length === annotations.length && bytes.compare(annotations, 0, length, at, at + length) !== 0) return
    const colon = json.skipSpace(at + length)
    if (bytes[colon] === COLON) found.add(json.skipSpace(colon + 1))
  }

  /** Finds the keys that contain escape sequences; all others are found already. */
  #readAllKeys(json: JsonBytes, start: number, end: number): void {
    const { bytes } = json
    // Inside a string anything may be quoted.
    this.isQuoted = true
    for (let at = bytes.indexOf(QUOTE, start); at >= 0 && at < end; ) {
      const behind = json.skipString(at + 1)
      const colon = json.skipSpace(behind)
      if (bytes[colon] === COLON && bytes.subarray(at, behind).includes(BACKSLASH)) {
        const key = decodeString(bytes, at, behind)
        if (key === "env") this.env.add(json.skipSpace(colon + 1))
        if (key === "annotations") this.annotations.add(json.skipSpace(colon + 1))
      }
      at = bytes.indexOf(QUOTE, behind)
    }
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

/** The same as assembly/candidates.ts, for processors without SIMD and objects that its memory has no room for. */
export const findSlowly = (bytes: Buffer, start: number, end: number): Int32Array => {
  const found: Array<number> = []
  for (let at = start; at + 4 <= end; at++) {
    const first = bytes[at]
    if (first !== QUOTE && first !== BACKSLASH) continue
    const word = bytes.toString("latin1", at, at + 4)
    if (word === '"env' || word === '"ann' || word === "\\u00") found.push(at - start)
  }
  return Int32Array.from(found)
}
