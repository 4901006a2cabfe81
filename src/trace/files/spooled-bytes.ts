/**
 * Bytes that can be received only once, for readers that start at any time and each read all of them: what arrives is written to a spool
 * at once, so that no slow reader delays or breaks the connection that it comes from.
 */
import type { Spool } from "../spool.ts"

export class SpooledBytes implements Disposable {
  readonly #spool: Spool
  #isOver = false
  #failure: { readonly error: unknown } | undefined
  #more = Promise.withResolvers<void>()

  /** Starts to receive. The spool is closed with this. */
  constructor(spool: Spool, bytes: AsyncIterable<Uint8Array>) {
    this.#spool = spool
    void this.#receive(bytes)
  }

  /** All bytes, from the first one; waits for those that have not arrived. Throws the error of the source, and SpoolError. */
  async *read(): AsyncGenerator<Uint8Array, void> {
    for (let position = 0; ; ) {
      const more = this.#more.promise
      const isLast = this.#isOver
      for (const piece of this.#spool.read(position)) {
        position += piece.length
        // Copied, because a decompressor keeps a piece for longer than the spool does.
        yield Uint8Array.from(piece)
      }
      if (isLast && this.#failure !== undefined) throw this.#failure.error
      if (isLast) return
      await more
    }
  }

  /** Readers must have ended. What is still to be received is dropped. */
  [Symbol.dispose](): void {
    this.#isOver = true
    this.#spool[Symbol.dispose]()
  }

  async #receive(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of bytes) {
        if (this.#isOver) return
        this.#spool.append(piece)
        this.#more.resolve()
        this.#more = Promise.withResolvers()
      }
    } catch (error) {
      this.#failure = { error }
    }
    this.#isOver = true
    this.#more.resolve()
  }
}
