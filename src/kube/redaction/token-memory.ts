/**
 * Remembers something about JSON strings by their bytes: the same few come with every event. A look-up allocates nothing, which is what makes it
 * worth while: in a watcher's small young generation, garbage of a few hundred bytes an event took more time than all of redaction.
 */

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
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
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
