/**
 * Tells handlers what changed in a cache.
 *
 * Guaranteed: each handler is told each change once, in order. One that is added late is first told of all objects there are, as
 * additions, then of what follows, without gap or repeat. One that throws has been told all the same, as have the others: its
 * exception is reported and its next batch comes as usual.
 */

/** `previous` is absent for an object that was not known, `current` for one that is gone. */
export interface ObjectChange<T> {
  /** Of one that is gone: its last state. */
  readonly previous: T | undefined
  readonly current: T | undefined
  /**
   * It was deleted while nobody watched: a list has shown that it is gone, and `previous` is the last state known, which may not be
   * its last (client-go's DeletedFinalStateUnknown).
   */
  readonly isFinalStateUnknown?: true
}

/** Told the changes of one network read, or of one own write, together. */
export type ChangeHandler<T> = (changes: ReadonlyArray<ObjectChange<T>>) => void

export class ChangeFeed<T> {
  readonly #objects: () => Iterable<T>
  readonly #onHandlerError: (error: unknown) => void
  readonly #handlers = new Set<ChangeHandler<T>>()
  /** Added while changes are being told. */
  #late: ChangeHandler<T>[] = []
  #batch: ObjectChange<T>[] = []
  #isTelling = false

  /** `objects`: those there are, for late handlers. */
  constructor(objects: () => Iterable<T>, onHandlerError: (error: unknown) => void) {
    this.#objects = objects
    this.#onHandlerError = onHandlerError
  }

  /** The handler is told what there is before this returns, unless it is added from within a handler: then soon after. */
  add(handler: ChangeHandler<T>): void {
    this.#late.push(handler)
    this.flush()
  }

  remove(handler: ChangeHandler<T>): void {
    this.#handlers.delete(handler)
    this.#late = this.#late.filter((late) => late !== handler)
  }

  /** To be told with the next {@link flush}. */
  push(change: ObjectChange<T>): void {
    this.#batch.push(change)
  }

  /** Tells what was pushed. From within a handler: when the present batch has been told to all. */
  flush(): void {
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      while (this.#batch.length > 0 || this.#late.length > 0) {
        const changes = this.#batch
        this.#batch = []
        if (changes.length > 0) for (const handler of [...this.#handlers]) this.#tell(handler, changes)
        // Only once nothing is due: the objects there are then hold no change that will be told again.
        if (this.#batch.length === 0) this.#addLate()
      }
    } finally {
      this.#isTelling = false
    }
  }

  #addLate(): void {
    const handler = this.#late.shift()
    if (handler === undefined) return
    this.#handlers.add(handler)
    const additions = [...this.#objects()].map((current) => ({ previous: undefined, current }))
    if (additions.length > 0) this.#tell(handler, additions)
  }

  #tell(handler: ChangeHandler<T>, changes: ReadonlyArray<ObjectChange<T>>): void {
    // One that was removed by a handler before it in this batch.
    if (!this.#handlers.has(handler)) return
    try {
      handler(changes)
    } catch (error) {
      this.#onHandlerError(error)
    }
  }
}
