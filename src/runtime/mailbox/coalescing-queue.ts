/**
 * A mailbox's policy for state: the latest state per key, for a consumer that takes in batches and may be slow.
 *
 * - Per key, items are taken in the order in which they were put; one that still waits when the next is put is folded
 *   into it. Between keys they are taken in the order of their last put, so a consumer that resumes after the last
 *   version taken misses nothing.
 * - No key starves: what waits is taken in rounds, whose items are not folded any more.
 * - {@link CoalescingQueue.bytes} counts what only this queue keeps alive. Beyond `maximumBytes` the owner must give the consumer up.
 */

export interface CoalescingOptions<Item> {
  /** Bytes that the queue alone may keep alive. */
  readonly maximumBytes: number
  /** The item to deliver in place of both; `waiting` has not been taken. Default: the next one. */
  readonly fold?: (waiting: Item, next: Item) => Item
}

/** How an item counts. */
export interface ItemCost {
  /** Bytes of the item. */
  readonly bytes: number
  /**
   * Whether the owner keeps the bytes anyway for as long as the item is the latest of its key. Then they count only once a later item of the
   * key has been put while this one is in a round.
   */
  readonly isShared: boolean
}

interface Entry<Item> {
  readonly item: Item
  readonly bytes: number
  isShared: boolean
}

/** Bytes of an entry beside its item: 77 on Node 26, the mean of a million. */
const entryBytes = 80

export class CoalescingQueue<Item> {
  readonly #maximumBytes: number
  readonly #fold: (waiting: Item, next: Item) => Item
  /** In the order of the last put. */
  #waiting = new Map<string, Entry<Item>>()
  /** The round under way; nothing is added to it. */
  #round = new Map<string, Entry<Item>>()
  /** Of the round: a new one would pass over all the entries taken so far. */
  #next: MapIterator<[string, Entry<Item>]> = this.#round.entries()
  #bytes = 0
  #folded = 0

  constructor({ maximumBytes, fold = (_waiting, next) => next }: CoalescingOptions<Item>) {
    this.#maximumBytes = maximumBytes
    this.#fold = fold
  }

  /** Items that have not been taken. */
  get size(): number {
    return this.#waiting.size + this.#round.size
  }

  /** Bytes of the items that only this queue keeps alive. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether at most `maximumBytes` are kept alive. */
  get isWithinBounds(): boolean {
    return this.#bytes <= this.#maximumBytes
  }

  /** Items that were folded into a later one instead of being taken. */
  get folded(): number {
    return this.#folded
  }

  /** Adds an item, which always succeeds. */
  put(key: string, item: Item, { bytes, isShared }: ItemCost): void {
    const superseded = this.#round.get(key)
    if (superseded?.isShared === true) {
      superseded.isShared = false
      this.#bytes += superseded.bytes
    }
    const before = this.#waiting.get(key)
    if (before !== undefined) {
      this.#waiting.delete(key)
      if (!before.isShared) this.#bytes -= before.bytes
      this.#folded++
    }
    const merged = before === undefined ? item : this.#fold(before.item, item)
    this.#waiting.set(key, { item: merged, bytes: bytes + entryBytes, isShared })
    if (!isShared) this.#bytes += bytes + entryBytes
  }

  /** Adds a mark: an item without bytes that a later one of the same key replaces, wherever that one waits. It counts as no fold. */
  mark(key: string, item: Item): void {
    this.#waiting.delete(key)
    this.#waiting.set(key, { item, bytes: 0, isShared: true })
  }

  /** Starts a round with what waits, if none is under way: none of it is folded any more. */
  seal(): void {
    if (this.#round.size > 0 || this.#waiting.size === 0) return
    this.#round = this.#waiting
    this.#next = this.#round.entries()
    this.#waiting = new Map()
  }

  /** Removes and returns the oldest items: at least one if there is one, then as many as fit into `maximumBytes`. */
  take(maximumBytes: number): Item[] {
    const taken: Item[] = []
    let bytes = 0
    while (taken.length === 0 || bytes < maximumBytes) {
      this.seal()
      const next = this.#next.next()
      if (next.done === true) break
      const [key, entry] = next.value
      this.#round.delete(key)
      if (!entry.isShared) this.#bytes -= entry.bytes
      bytes += entry.bytes
      taken.push(entry.item)
    }
    return taken
  }

  /** Drops everything that has not been taken. */
  clear(): void {
    this.#waiting.clear()
    this.#round.clear()
    this.#bytes = 0
  }
}
