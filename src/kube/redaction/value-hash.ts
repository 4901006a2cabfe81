/**
 * What stands for a value: the beginning of its HMAC-SHA-256 under the recording's key, as `redacted:` and 16 hexadecimal digits.
 *
 * Equal values have equal hashes under the same key, wherever they are, so a change of a value is still a change. Without the key a hash
 * says nothing about the value; with the key a guess can be tested. 64 bits: among a million different values two look equal with a
 * probability of 3 in 100 million.
 */
import { isUtf8 } from "node:buffer"
import { createHmac } from "node:crypto"
import { textOf } from "./name-patterns.ts"
import { TokenMemory } from "./token-memory.ts"

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
