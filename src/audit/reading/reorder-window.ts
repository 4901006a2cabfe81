/**
 * Puts nearly ordered items in order: an item waits until others of the log are later by a window, or until too many bytes wait. Items of one time
 * keep their order. An item that comes later than the window allows comes out late; nothing is lost.
 */

import { parseResourceVersion, type ResourceVersion } from "../../kube/offline.ts"
import { factsOf } from "../lives/object-facts.ts"
import type { AuditedWrite } from "../shapes/audited-write.ts"

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

/** µs: requests at the same time end within milliseconds of one another, on a busy server within tenths of a second. */
const waitMicros = 1_000_000

/** Writes that wait: more than a busy API server logs in a second. */
const mostWaiting = 2000

/** A place in the order, and the write that is there now. */
interface Place {
  readonly time: number
  write: AuditedWrite
  version: ResourceVersion | undefined
}

/**
 * Puts writes of one object that were made at nearly the same time in the order of its versions: two requests may be
 * answered in the other order than that in which they were stored, as happens to some writes in a thousand. A write
 * waits until others are later by a second, or until too many wait. Of two writes that change places, each gets the
 * time of the other's place; writes without an object and a version stay where they are.
 */
export class VersionOrder {
  #places: Place[] = []
  /** Places before this one were taken. */
  #first = 0
  /** The places of each object, by its UID. */
  readonly #objects = new Map<string, Place[]>()

  push(write: AuditedWrite): void {
    const { uid, version } = versionOf(write)
    const place: Place = { time: write.time, write, version }
    this.#places.push(place)
    if (uid === "" || version === undefined) return
    const others = this.#objects.get(uid)
    if (others === undefined) {
      this.#objects.set(uid, [place])
      return
    }
    others.push(place)
    // Sorted but for the last one: it moves up past those with newer versions.
    for (let at = others.length - 1; at > 0; at--) {
      const [one, other] = [others[at - 1] as Place, others[at] as Place]
      const isOver = one.time <= write.time - waitMicros
      if (isOver || (one.version ?? 0) <= (other.version ?? 0)) break
      const { write: moved, version: movedVersion } = one
      one.write = other.write
      one.version = other.version
      other.write = moved
      other.version = movedVersion
    }
  }

  /** The writes that need not wait any more. `isEnd`: no more will come. */
  *ready(isEnd = false): Generator<AuditedWrite> {
    const newest = this.#places.at(-1)?.time ?? 0
    while (this.#first < this.#places.length) {
      const place = this.#places[this.#first] as Place
      const mustWait = place.time > newest - waitMicros && this.#places.length - this.#first <= mostWaiting
      if (mustWait && !isEnd) break
      this.#first++
      this.#forget(place)
      yield place.write.time === place.time ? place.write : { ...place.write, time: place.time }
    }
    if (this.#first > mostWaiting) {
      this.#places = this.#places.slice(this.#first)
      this.#first = 0
    }
  }

  #forget(place: Place): void {
    const { uid, version } = versionOf(place.write)
    const places = this.#objects.get(uid)
    if (version === undefined || places === undefined) return
    places.shift()
    if (places.length === 0) this.#objects.delete(uid)
  }
}

const versionOf = ({ response }: AuditedWrite) => {
  const { uid, resourceVersion } = response === undefined ? noFacts : factsOf(response)
  return { uid, version: parseResourceVersion(resourceVersion) }
}

const noFacts = { uid: "", resourceVersion: "" }
