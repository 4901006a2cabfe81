/**
 * A bounded cache of recent look-ups by UID. Entries expire, so that an adoption, or a UID that was wrongly reported as gone, is noticed
 * eventually. The database keeps every result; this saves querying it.
 */
export class Remembered {
  readonly #maximum: number
  readonly #now: () => number
  /** In order of insertion, so that the oldest are evicted first. */
  readonly #until = new Map<string, number>()

  /** `now` in monotonic ms. */
  constructor(maximum: number, now: () => number) {
    this.#maximum = maximum
    this.#now = now
  }

  get size(): number {
    return this.#until.size
  }

  add(uid: string, forMs: number): void {
    this.#until.delete(uid)
    this.#until.set(uid, this.#now() + forMs)
    if (this.#until.size <= this.#maximum) return
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest)
      return
    }
  }

  has(uid: string): boolean {
    const until = this.#until.get(uid)
    if (until === undefined) return false
    if (until > this.#now()) return true
    this.#until.delete(uid)
    return false
  }
}
