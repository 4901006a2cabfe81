/**
 * Pieces of memory that are to be sent one after the other, joined without copying where they lie that way. Watch lines do
 * as long as their slab lasts, so ten watchers are sent one piece each for a turn's sixteen writes, not sixteen.
 */
export class AdjacentBytes {
  #memory: ArrayBufferLike | undefined
  #start = 0
  #end = 0

  /** Adds a piece, which must not be changed any more. Answers what was there if the piece does not lie behind it. */
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

  /** What has been added, nothing left behind; `undefined` if that is nothing. */
  take(): Buffer | undefined {
    if (this.#memory === undefined) return undefined
    const taken = Buffer.from(this.#memory, this.#start, this.#end - this.#start)
    this.#memory = undefined
    return taken
  }
}
