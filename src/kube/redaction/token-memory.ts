/**
 * Remembers something about JSON strings by their bytes: the same few come with every event. A look-up allocates nothing, which is what makes it
 * worth while: in a watcher's small young generation, garbage of a few hundred bytes an event took more time than all of redaction.
 */

/** Remembered at most, some 150 bytes each. Then all is forgotten. */
const mostRemembered = 4096
/** Bytes of the longest token that is remembered. */
const longestRemembered = 256

interface Remembered<T> {
  readonly token: Buffer
  readonly value: T
}

/** By the token as it is written: two spellings of one text are two entries. Of two tokens with the same hash, the later one is remembered. */
export class TokenMemory<T> {
  readonly #entries = new Map<number, Remembered<T>>()
  #hash = 0

  /** What is remembered of `bytes[start, end)`. */
  recall(bytes: Buffer, start: number, end: number): Remembered<T> | undefined {
    if (end - start > longestRemembered) return undefined
    let hash = end - start
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
    this.#hash = hash
    const known = this.#entries.get(hash)
    if (known === undefined || known.token.length !== end - start) return undefined
    const { token } = known
    for (let at = 0; at < token.length; at++) if (token[at] !== bytes[start + at]) return undefined
    return known
  }

  /** Remembers it for the token of the last {@link recall}, and returns it. */
  remember(bytes: Buffer, start: number, end: number, value: T): T {
    if (end - start > longestRemembered) return value
    if (this.#entries.size >= mostRemembered) this.#entries.clear()
    this.#entries.set(this.#hash, { token: Buffer.from(bytes.subarray(start, end)), value })
    return value
  }
}
