/**
 * Order and concurrency of writes: a write starts after all earlier ones of its own key and of the keys that it waits
 * for have settled; everything else runs at once, up to a limit, in the order of submission. Under overload the
 * submitter waits with {@link WriteOrder.room}.
 */

interface Pending {
  readonly key: string
  readonly run: () => Promise<void>
  readonly length: number
  readonly followers: Pending[]
  /** Earlier writes that have not settled. */
  waitsFor: number
}

/** Writes that have not settled. */
export interface Backlog {
  readonly writes: number
  /** The sum of their lengths. */
  readonly length: number
}

/** Runs the writes that are submitted to it. One instance for each run of a replay. */
export class WriteOrder {
  readonly #limit: number
  readonly #onDefect: (error: unknown) => void
  /** The last submitted write of each key that has one under way. */
  readonly #last = new Map<string, Pending>()
  readonly #ready: Pending[] = []
  /** Index in `#ready` of the first that has not started: `shift` would move the whole array. */
  #next = 0
  #running = 0
  #pending = 0
  #length = 0
  #listeners: Array<{ readonly below: Backlog; readonly resolve: () => void }> = []

  /** `limit`: writes that run at the same time. `onDefect`: gets the error of a write that rejects, which none should. */
  constructor(limit: number, onDefect: (error: unknown) => void) {
    this.#limit = limit
    this.#onDefect = onDefect
  }

  /** Writes that have not settled. */
  get pending(): number {
    return this.#pending
  }

  get running(): number {
    return this.#running
  }

  /** Whether fewer writes are pending than `below`, and with a smaller sum of lengths. */
  isBelow(below: Backlog): boolean {
    return this.#pending < below.writes && this.#length < below.length
  }

  /**
   * `run` must not reject: a write reports its failure itself. It may start before this returns. `length`: what it holds while it is pending,
   * in the unit of {@link Backlog}.
   */
  submit(key: string, after: ReadonlyArray<string>, run: () => Promise<void>, length = 0): void {
    const write: Pending = { key, run, length, followers: [], waitsFor: 0 }
    for (const before of new Set([key, ...after])) {
      const earlier = this.#last.get(before)
      if (earlier === undefined) continue
      earlier.followers.push(write)
      write.waitsFor++
    }
    this.#last.set(key, write)
    this.#pending++
    this.#length += length
    if (write.waitsFor > 0) return
    this.#ready.push(write)
    this.#start()
  }

  /** Resolves once {@link isBelow}. */
  room(below: Backlog): Promise<void> {
    if (this.isBelow(below)) return Promise.resolve()
    return new Promise((resolve) => this.#listeners.push({ below, resolve }))
  }

  /** Resolves once every submitted write has settled. */
  idle(): Promise<void> {
    return this.room({ writes: 1, length: Number.POSITIVE_INFINITY })
  }

  #start(): void {
    while (this.#running < this.#limit && this.#next < this.#ready.length) {
      const write = this.#ready[this.#next++] as Pending
      if (this.#next === this.#ready.length || this.#next > 1024) {
        this.#ready.splice(0, this.#next)
        this.#next = 0
      }
      this.#running++
      void write
        .run()
        .catch(this.#onDefect)
        .then(() => this.#settled(write))
    }
  }

  #settled(write: Pending): void {
    this.#running--
    this.#pending--
    this.#length -= write.length
    if (this.#last.get(write.key) === write) this.#last.delete(write.key)
    for (const follower of write.followers) if (--follower.waitsFor === 0) this.#ready.push(follower)
    this.#start()
    if (this.#listeners.length === 0) return
    const due = this.#listeners.filter(({ below }) => this.isBelow(below))
    this.#listeners = this.#listeners.filter((listener) => !due.includes(listener))
    for (const { resolve } of due) resolve()
  }
}
