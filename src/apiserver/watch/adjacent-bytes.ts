/**
 * Pieces of memory to be sent one after the other, joined without copying if they are adjacent. Watch lines are, up to the
 * end of their slab, so for a turn's sixteen writes each of ten watchers is sent one piece, not sixteen.
 */
export class AdjacentBytes {
  #memory: ArrayBufferLike | undefined
  #start = 0
  #end = 0

  /** Adds a piece, which must not be changed any more. If it is not adjacent to the bytes held so far, returns those. */
  add(piece: Buffer): Buffer | undefined {
    const { buffer, byteOffset, length } = piece
    if (buffer === this.#memory && byteOffset === this.#end) {
      this.#end += length
      return undefined
    }
    const before = this.take()
    this.#memory = buffer
    this.#start = byteOffset
    this.#end = byteOffset + length
    return before
  }

  /** Bytes that wait to be taken. */
  get length(): number {
    return this.#memory === undefined ? 0 : this.#end - this.#start
  }

  /** Returns and removes what has been added; `undefined` if there is nothing. */
  take(): Buffer | undefined {
    if (this.#memory === undefined) return undefined
    const taken = Buffer.from(this.#memory, this.#start, this.#end - this.#start)
    this.#memory = undefined
    return taken
  }
}
