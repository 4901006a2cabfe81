/**
 * What stands for a value: the beginning of its HMAC-SHA-256 under the recording's key, as `redacted:` and 16
 * hexadecimal digits. Equal values have equal hashes, so a change of a value is still a change; with the key a guess
 * can be tested. Among a million values two look equal with a probability of 3 in 100 million.
 */
import { isUtf8 } from "node:buffer"
import { createHmac } from "node:crypto"
import { decodeString } from "../scanner/object/canonical-json.ts"

// Remembers something about JSON strings by their bytes: the same few come with every event. A look-up allocates nothing, which is what makes it
// worth while: in a watcher's small young generation, garbage of a few hundred bytes an event took more time than all of redaction.

/** Remembered at most, some 150 bytes each. Then all is forgotten. */
const mostRemembered = 4096
/** Bytes of the longest token that is remembered. */
const longestRemembered = 256
/** Bytes from which on a call of memcmp is faster than a loop. */
const longestCompared = 64

interface Remembered<T> {
  readonly token: Buffer
  readonly value: T
}

/** By the token as it is written: two spellings of one text are two entries. Of two tokens with the same hash, the later one is remembered. */
export class TokenMemory<T> {
  readonly #longest: number
  /** Bytes of tokens that may be remembered together. */
  readonly #mostBytes: number
  readonly #entries = new Map<number, Remembered<T>>()
  #bytes = 0
  #hash = 0

  /** `longest`: bytes of the longest token that is remembered. The default keeps long secrets, such as private keys, out of the memory. */
  constructor(longest = longestRemembered, mostBytes: number = longestRemembered * mostRemembered) {
    this.#longest = longest
    this.#mostBytes = mostBytes
  }

  /** What is remembered of `bytes[start, end)`. */
  recall(bytes: Buffer, start: number, end: number): Remembered<T> | undefined {
    const length = end - start
    if (length > this.#longest) return undefined
    let hash = length
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
    this.#hash = hash
    const known = this.#entries.get(hash)
    if (known === undefined || known.token.length !== length) return undefined
    const { token } = known
    if (length > longestCompared) return bytes.compare(token, 0, length, start, end) === 0 ? known : undefined
    for (let at = 0; at < length; at++) if (token[at] !== bytes[start + at]) return undefined
    return known
  }

  /** Remembers it for the token of the last {@link recall}, and returns it. */
  remember(bytes: Buffer, start: number, end: number, value: T): T {
    const length = end - start
    if (length > this.#longest) return value
    if (this.#entries.size >= mostRemembered || this.#bytes + length > this.#mostBytes) {
      this.#entries.clear()
      this.#bytes = 0
    }
    this.#bytes += length
    this.#entries.set(this.#hash, { token: Buffer.from(bytes.subarray(start, end)), value })
    return value
  }
}

/**
 * How a hash is written. `text`: as it is; `encoded`: in base64, as values in the data of a Secret; `encoded-object`: the digits in a JSON object, in
 * base64.
 */
export type ValueForm = "text" | "encoded" | "encoded-object"

const prefix = "redacted:"
/** What stands for a value, as text. */
export const redactedForm = /^redacted:[0-9a-f]{16}$/
const objectForm = /^\{"redacted":"[0-9a-f]{16}"\}$/
const redactedLength = prefix.length + 16

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export class ValueHash {
  readonly #key: Uint8Array
  /** An HMAC takes 2 to 3 µs, and the same values come with every event. */
  readonly #replacements = new TokenMemory<Buffer | undefined>()

  constructor(key: Uint8Array) {
    this.#key = key
  }

  /** The text that stands for a value. */
  of(value: Uint8Array | string): string {
    return prefix + createHmac("sha256", this.#key).update(value).digest("hex").slice(0, 16)
  }

  /**
   * The JSON string that stands for the scalar `bytes[start, end)`: a string with its quotes, a number or a literal. `undefined` if it
   * stands for itself, because it is one of these already.
   */
  replacement(bytes: Buffer, start: number, end: number): Buffer | undefined {
    const known = this.#replacements.recall(bytes, start, end)
    if (known !== undefined) return known.value
    return this.#replacements.remember(bytes, start, end, this.#replacement(bytes, start, end))
  }

  /**
   * The same for a value in the data of a Secret, which is base64, and stays base64: of the text that stands for what it encodes. So the
   * hash is that of the same value anywhere else.
   */
  encodedReplacement(bytes: Buffer, start: number, end: number, form: Exclude<ValueForm, "text">): Buffer | undefined {
    // The API server's decoder passes over line breaks, with which `base64` wraps long values.
    const given = (bytes[start] === 34 ? textOf(bytes, start, end) : bytes.toString("latin1", start, end)).replace(
      /[\r\n]/g,
      "",
    )
    const isEncoded = base64.test(given)
    const value = isEncoded ? Buffer.from(given, "base64") : Buffer.from(given)
    const isObject = form === "encoded-object"
    if (isEncoded && value.length < 64 && (isObject ? objectForm : redactedForm).test(value.toString("latin1")))
      return undefined
    const text = this.of(value)
    const written = isObject ? `{"redacted":"${text.slice(prefix.length)}"}` : text
    return Buffer.from(`"${Buffer.from(written).toString("base64")}"`)
  }

  #replacement(bytes: Buffer, start: number, end: number): Buffer | undefined {
    if (bytes[start] !== 34) return Buffer.from(`"${this.of(bytes.subarray(start, end))}"`)
    const plain = bytes.subarray(start + 1, end - 1)
    const value = plain.includes(92) || !isUtf8(plain) ? Buffer.from(textOf(bytes, start, end)) : plain
    if (value.length === redactedLength && redactedForm.test(value.toString("latin1"))) return undefined
    return Buffer.from(`"${this.of(value)}"`)
  }
}

const BACKSLASH = 92

/** The text of the JSON string in [start, end), quotes included. */
export const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.subarray(start, end).includes(BACKSLASH)
    ? decodeString(bytes, start, end)
    : bytes.toString("utf8", start + 1, end - 1)
