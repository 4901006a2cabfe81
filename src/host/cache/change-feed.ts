/**
 * Passes the changes of a cache to handlers.
 *
 * Guaranteed: each handler gets each change once, in order. A handler added late first gets all present objects as additions,
 * then what follows, without gap or repeat. When a handler throws, its exception is reported; the other handlers still get the
 * batch, and the one that threw gets the next batch as usual.
 */

/** `previous` is absent for an object that was not known, `current` for one that is gone. */
export interface ObjectChange<T> {
  /** Of one that is gone: its last state. */
  readonly previous: T | undefined
  readonly current: T | undefined
  /**
   * The object was deleted while no watch was open: a list has shown that it is gone, and `previous` is the last state known, which
   * may not be its last (client-go's DeletedFinalStateUnknown).
   */
  readonly isFinalStateUnknown?: true
}

/** Gets the changes of one network read, or of one own write, together. */
export type ChangeHandler<T> = (changes: ReadonlyArray<ObjectChange<T>>) => void

export class ChangeFeed<T> {
  readonly #objects: () => Iterable<T>
  readonly #onHandlerError: (error: unknown) => void
  readonly #handlers = new Set<ChangeHandler<T>>()
  /** Handlers added while changes are being delivered. */
  #late: ChangeHandler<T>[] = []
  #batch: ObjectChange<T>[] = []
  #isNotifying = false

  /** `objects`: the present objects, for late handlers. */
  constructor(objects: () => Iterable<T>, onHandlerError: (error: unknown) => void) {
    this.#objects = objects
    this.#onHandlerError = onHandlerError
  }

  /** The handler gets the present objects before this returns or, if it is added from within a handler, soon after. */
  add(handler: ChangeHandler<T>): void {
    this.#late.push(handler)
    this.flush()
  }

  remove(handler: ChangeHandler<T>): void {
    this.#handlers.delete(handler)
    this.#late = this.#late.filter((late) => late !== handler)
  }

  /** Delivered with the next {@link flush}. */
  push(change: ObjectChange<T>): void {
    this.#batch.push(change)
  }

  /** Delivers what was pushed. From within a handler: once every handler has got the present batch. */
  flush(): void {
    if (this.#isNotifying) return
    this.#isNotifying = true
    try {
      while (this.#batch.length > 0 || this.#late.length > 0) {
        const changes = this.#batch
        this.#batch = []
        if (changes.length > 0) for (const handler of [...this.#handlers]) this.#notify(handler, changes)
        // Only once nothing is pending: otherwise a late handler would get a change twice, as part of an object and by itself.
        if (this.#batch.length === 0) this.#addLate()
      }
    } finally {
      this.#isNotifying = false
    }
  }

  #addLate(): void {
    const handler = this.#late.shift()
    if (handler === undefined) return
    this.#handlers.add(handler)
    const additions = [...this.#objects()].map((current) => ({ previous: undefined, current }))
    if (additions.length > 0) this.#notify(handler, additions)
  }

  #notify(handler: ChangeHandler<T>, changes: ReadonlyArray<ObjectChange<T>>): void {
    // It may have been removed by an earlier handler of this batch.
    if (!this.#handlers.has(handler)) return
    try {
      handler(changes)
    } catch (error) {
      this.#onHandlerError(error)
    }
  }
}
