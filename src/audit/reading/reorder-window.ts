/**
 * Puts nearly ordered items in order: an item waits until others of the log are later by a window, or until too many bytes wait. Items of one time
 * keep their order. An item that comes later than the window allows comes out late; nothing is lost.
 */

/** What waits. */
interface Waiting<Item> {
  readonly time: number
  readonly order: number
  readonly bytes: number
  readonly item: Item
}

/** A heap: the earliest item is first. */
export class ReorderWindow<Item> {
  readonly #windowMicros: number
  readonly #mostBytes: number
  readonly #heap: Waiting<Item>[] = []
  #newest = Number.NEGATIVE_INFINITY
  #bytes = 0
  #order = 0

  /** @param windowMicros by which items may be out of order. @param mostBytes of the items that wait. */
  constructor(windowMicros: number, mostBytes: number) {
    this.#windowMicros = windowMicros
    this.#mostBytes = mostBytes
  }

  push(time: number, bytes: number, item: Item): void {
    if (time > this.#newest) this.#newest = time
    this.#bytes += bytes
    const heap = this.#heap
    let at = heap.length
    const added = { time, order: this.#order++, bytes, item }
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(added, heap[parent]); parent = (at - 1) >> 1) {
      heap[at] = heap[parent] as Waiting<Item>
      at = parent
    }
    heap[at] = added
  }

  /** The items that need not wait any more, in order. `isEnd`: no more will come. */
  *ready(isEnd = false): Generator<Item> {
    const heap = this.#heap
    while (heap.length > 0) {
      const first = heap[0] as Waiting<Item>
      const mustWait = first.time > this.#newest - this.#windowMicros && this.#bytes <= this.#mostBytes
      if (mustWait && !isEnd) return
      this.#removeFirst()
      this.#bytes -= first.bytes
      yield first.item
    }
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop() as Waiting<Item>
    if (heap.length === 0) return
    let at = 0
    while (true) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Waiting<Item>, heap[child])) child++
      if (!isBefore(heap[child] as Waiting<Item>, last)) break
      heap[at] = heap[child] as Waiting<Item>
      at = child
    }
    heap[at] = last
  }
}

const isBefore = (one: Waiting<unknown>, other: Waiting<unknown> | undefined): boolean =>
  other !== undefined && (one.time < other.time || (one.time === other.time && one.order < other.order))
