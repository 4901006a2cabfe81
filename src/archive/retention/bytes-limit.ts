/** Whether a recording has more bytes than its limit, and how much it grows nevertheless. */

/** Of the whole recording. */
export class BytesLimit {
  readonly #used: () => number
  #bytes: number | undefined
  /** What is beyond the limit cannot be removed: a reader keeps it, or it is the state of what lives on. */
  #isStuck = false
  /** The least that was used since the limit was set, or since something could not be removed. */
  #least = Number.POSITIVE_INFINITY

  /** `used`: bytes that the recording has on disk, as far as removing helps. */
  constructor(used: () => number) {
    this.#used = used
  }

  /** `undefined`: there is none. */
  set(bytes: number | undefined): void {
    this.#bytes = bytes
    this.#least = Number.POSITIVE_INFINITY
  }

  /** Everything was removed that could be. @throws what `used` throws */
  noteRemoved(): void {
    this.#isStuck = false
    this.#isStuck = this.isExceeded()
  }

  /** Whether something is to be removed before anything else is done. @throws what `used` throws */
  isExceeded(): boolean {
    return this.#bytes !== undefined && !this.#isStuck && this.#used() > this.#bytes
  }

  /** Whether at least this part of the limit is used. @throws what `used` throws */
  isUsed(part: number): boolean {
    return this.#bytes !== undefined && this.#used() >= this.#bytes * part
  }

  /**
   * Bytes by which the recording has outgrown its limit; one that was larger when it got the limit, by which it has grown since it was smallest. 0 while what is
   * beyond cannot be removed.
   *
   * @throws what `used` throws
   */
  outgrown(): number {
    if (this.#bytes === undefined) return 0
    const used = this.#used()
    this.#least = this.#isStuck ? Number.POSITIVE_INFINITY : Math.min(this.#least, used)
    return Math.max(0, used - Math.max(this.#bytes, this.#least))
  }
}
