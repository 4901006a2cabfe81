/**
 * Very many delays on one timer: a hierarchical wheel with nine levels of 64 slots, a millisecond each at the lowest level.
 *
 * Guaranteed: a delay never ends early; delays end in the order of their times, those of the same millisecond in the order of adding; what
 * is cancelled never ends. Adding and cancelling take constant time whatever the number of delays. At most one timer of the clock runs, and
 * none while there is no delay. A long delay wakes the thread at most once per level, when it moves to a lower one.
 *
 * Delays may be as long as 2^63 ms and longer. One that would end more than 2^53 ms (285,000 years) after the clock's start is kept, counted
 * and can be cancelled, and does not end.
 */
import type { Clock, Timer } from "../../clock.ts"

/** One delay under way. */
export interface Delay {
  /** Forgets the delay; without effect once it has ended. */
  cancel(): void
}

const slotBits = 6
const slots = 2 ** slotBits
const levels = 9
const lastMs = Number.MAX_SAFE_INTEGER

interface Entry<Owner, Value> {
  readonly owner: Owner
  readonly value: Value
  readonly due: number
  /** The list that it is in; `undefined` if it never ends. */
  list: List<Owner, Value> | undefined
  previous: Entry<Owner, Value> | undefined
  next: Entry<Owner, Value> | undefined
}

/** Entries in the order of adding; `level` has a count of them, and -1 is the list of those that are due. */
interface List<Owner, Value> {
  readonly level: number
  first: Entry<Owner, Value> | undefined
  last: Entry<Owner, Value> | undefined
}

export class TimerWheel<Owner, Value> {
  readonly #clock: Pick<Clock, "monotonicMs" | "after">
  readonly #ended: (values: ReadonlyArray<Value>) => void
  readonly #levels: ReadonlyArray<ReadonlyArray<List<Owner, Value>>>
  /** Entries in each level. */
  readonly #counts: number[] = Array.from({ length: levels }, () => 0)
  readonly #due: List<Owner, Value> = { level: -1, first: undefined, last: undefined }
  readonly #owners = new Map<Owner, Set<Entry<Owner, Value>>>()
  /** Entries that can end. */
  #pending = 0
  #size = 0
  /** The millisecond up to which the wheel has turned; every entry in a slot is due after it. */
  #turnedTo: number
  #timer: Timer | undefined
  #wakesAt = Number.POSITIVE_INFINITY
  #isTurning = false

  /** `ended` gets the values of all delays that are over at one moment. What it throws is thrown by the clock's timer. */
  constructor(clock: Pick<Clock, "monotonicMs" | "after">, ended: (values: ReadonlyArray<Value>) => void) {
    this.#clock = clock
    this.#ended = ended
    this.#turnedTo = Math.floor(clock.monotonicMs())
    this.#levels = Array.from({ length: levels }, (_, level) =>
      Array.from({ length: slots }, () => ({ level, first: undefined, last: undefined })),
    )
  }

  /** Delays under way. */
  get size(): number {
    return this.#size
  }

  /** Delays of one owner. */
  sizeOf(owner: Owner): number {
    return this.#owners.get(owner)?.size ?? 0
  }

  /** Passes `value` to `ended` after `delayMs`, never before this returns. Negative delays count as 0. */
  add(owner: Owner, delayMs: number | bigint, value: Value): Delay {
    const now = this.#clock.monotonicMs()
    // Without entries the wheel stands still, and may stand anywhere.
    if (this.#pending === 0 && !this.#isTurning) this.#turnedTo = Math.max(this.#turnedTo, Math.floor(now))
    const due = Math.ceil(now + Math.max(0, Number(delayMs)))
    const entry: Entry<Owner, Value> = { owner, value, due, list: undefined, previous: undefined, next: undefined }
    const owned = this.#owners.get(owner)
    if (owned === undefined) this.#owners.set(owner, new Set([entry]))
    else owned.add(entry)
    this.#size++
    if (due <= lastMs) {
      this.#pending++
      this.#place(entry)
      this.#arm()
    }
    return { cancel: () => this.#cancel(entry) }
  }

  /** Cancels all delays of an owner; returns how many there were. */
  cancelAll(owner: Owner): number {
    const owned = [...(this.#owners.get(owner) ?? [])]
    for (const entry of owned) this.#cancel(entry)
    return owned.length
  }

  /** Cancels everything. */
  close(): void {
    for (const owner of [...this.#owners.keys()]) this.cancelAll(owner)
  }

  #cancel(entry: Entry<Owner, Value>): void {
    if (!this.#disown(entry)) return
    if (entry.list === undefined) return
    this.#unlink(entry, entry.list)
    this.#pending--
    // A timer for nothing would keep the process alive; one that is early only turns the wheel.
    if (this.#pending === 0) this.#disarm()
  }

  #disown(entry: Entry<Owner, Value>): boolean {
    const owned = this.#owners.get(entry.owner)
    if (owned?.delete(entry) !== true) return false
    if (owned.size === 0) this.#owners.delete(entry.owner)
    this.#size--
    return true
  }

  /** The lowest level at whose next higher one the entry and the wheel are in the same slot, as in the timers of Linux and tokio. */
  #place(entry: Entry<Owner, Value>): void {
    const { due } = entry
    if (due <= this.#turnedTo) {
      this.#append(entry, this.#due)
      return
    }
    let level = 0
    let unit = 1
    while (Math.floor(due / (unit * slots)) !== Math.floor(this.#turnedTo / (unit * slots))) {
      level++
      unit *= slots
    }
    this.#append(entry, this.#levels[level]?.[Math.floor(due / unit) % slots] as List<Owner, Value>)
  }

  #append(entry: Entry<Owner, Value>, list: List<Owner, Value>): void {
    entry.list = list
    entry.next = undefined
    entry.previous = list.last
    if (list.last === undefined) list.first = entry
    else list.last.next = entry
    list.last = entry
    if (list.level >= 0) this.#counts[list.level] = (this.#counts[list.level] ?? 0) + 1
  }

  #unlink(entry: Entry<Owner, Value>, list: List<Owner, Value>): void {
    if (entry.previous === undefined) list.first = entry.next
    else entry.previous.next = entry.next
    if (entry.next === undefined) list.last = entry.previous
    else entry.next.previous = entry.previous
    if (list.level >= 0) this.#counts[list.level] = (this.#counts[list.level] ?? 0) - 1
  }

  /**
   * The next slot with entries and the time at which it begins. It is in the lowest level that has any, because all entries of a level are
   * within the present slot of the next one.
   */
  #nextSlot(): { readonly list: List<Owner, Value>; readonly at: number } | undefined {
    const level = this.#counts.findIndex((count) => count > 0)
    if (level < 0) return undefined
    const unit = slots ** level
    const turn = Math.floor(this.#turnedTo / (unit * slots))
    const present = Math.floor(this.#turnedTo / unit) % slots
    const position = this.#levels[level]?.findIndex((list, index) => index > present && list.first !== undefined) ?? -1
    const list = this.#levels[level]?.[position] as List<Owner, Value>
    return { list, at: (turn * slots + position) * unit }
  }

  #arm(): void {
    if (this.#isTurning) return
    const at = this.#due.first === undefined ? this.#nextSlot()?.at : this.#turnedTo
    if (at === undefined || (this.#timer !== undefined && this.#wakesAt <= at)) return
    this.#disarm()
    this.#wakesAt = at
    this.#timer = this.#clock.after(Math.max(0, Math.ceil(at - this.#clock.monotonicMs())), () => this.#turn())
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#wakesAt = Number.POSITIVE_INFINITY
  }

  #turn(): void {
    this.#disarm()
    const now = Math.floor(this.#clock.monotonicMs())
    for (let next = this.#nextSlot(); next !== undefined && next.at <= now; next = this.#nextSlot()) {
      this.#turnedTo = next.at
      // Entries of a higher level fall into lower ones, those of this very millisecond into the list of due ones.
      for (let entry = next.list.first; entry !== undefined; entry = next.list.first) {
        this.#unlink(entry, next.list)
        this.#place(entry)
      }
    }
    this.#turnedTo = Math.max(this.#turnedTo, now)
    const values: Value[] = []
    for (let entry = this.#due.first; entry !== undefined; entry = this.#due.first) {
      this.#unlink(entry, this.#due)
      this.#disown(entry)
      this.#pending--
      values.push(entry.value)
    }
    this.#isTurning = true
    try {
      // Delays added meanwhile, also those of 0 ms, end in a later turn, so that a loop of them does not hold the thread.
      if (values.length > 0) this.#ended(values)
    } finally {
      this.#isTurning = false
      this.#arm()
    }
  }
}
