/** The newest of many items. */

/** Keeps at most `most`, and counts the others. Memory: twice as many. */
export class Newest<Item> {
  readonly #most: number
  #items: Item[] = []
  #total = 0

  constructor(most: number) {
    this.#most = most
  }

  add(item: Item): void {
    this.#total++
    this.#items.push(item)
    if (this.#items.length >= 2 * this.#most) this.#items = this.#items.slice(-this.#most)
  }

  /** How many there were. */
  get total(): number {
    return this.#total
  }

  /** The one that was added last. */
  get last(): Item | undefined {
    return this.#items.at(-1)
  }

  /** Those that are kept, in order; `most`: only the newest of them. */
  items(most = this.#most): ReadonlyArray<Item> {
    const count = Math.min(most, this.#most)
    return count === 0 ? [] : this.#items.slice(-count)
  }
}
