/**
 * Tells another thread which module a worker is in, and for how long: a worker in an endless loop can tell nothing itself.
 *
 * The mark is 8 bytes of shared memory: a counter that is odd while the worker is within a module, and that module's slot.
 * The watching thread measures with its own clock from the moment at which it first sees an entry, because the clocks of two
 * threads start at different times. It sleeps while the worker is idle.
 */
import type { Clock, Timer } from "../../../clock.ts"

/** Bytes of shared memory of a mark. */
export const entryMarkBytes = 8

const counter = 0
const slotOf = 1

/** The worker's side. */
export class EntryMark {
  readonly #view: Int32Array

  /** `memory` has {@link entryMarkBytes} bytes. */
  constructor(memory: SharedArrayBuffer) {
    this.#view = new Int32Array(memory)
  }

  /** The worker is about to enter the module of this slot. */
  begin(slot: number): void {
    Atomics.store(this.#view, slotOf, slot)
    Atomics.add(this.#view, counter, 1)
    Atomics.notify(this.#view, counter)
  }

  end(): void {
    Atomics.add(this.#view, counter, 1)
  }
}

/** The slot of the module that a thread was in when it ended, which clears the mark for its next life; `undefined`: in none. */
export const takeLastEntry = (memory: SharedArrayBuffer): number | undefined => {
  const view = new Int32Array(memory)
  const slot = isInside(Atomics.load(view, counter)) ? Atomics.load(view, slotOf) : undefined
  // Even again, and another number than before: the watch must not take the next entry for this one.
  if (slot !== undefined) Atomics.add(view, counter, 1)
  return slot
}

interface EntryWatchOptions {
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  /** ms that an entry of this slot may take. */
  readonly deadlineMs: (slot: number) => number
  /** Called once for an entry that takes longer, at most {@link lookEveryMs} after its deadline. */
  readonly onOverrun: (slot: number) => void
}

/** ms between two looks at a busy worker. Eight a second cost 0.01 % of a core. */
export const lookEveryMs = 125

/** The watching side. */
export class EntryWatch {
  readonly #view: Int32Array
  readonly #options: EntryWatchOptions
  #timer: Timer | undefined
  #seen = 0
  #seenAtMs = 0
  #told = false
  #isStopped = false

  /** Watches until {@link stop}. `memory` is the mark's. */
  constructor(memory: SharedArrayBuffer, options: EntryWatchOptions) {
    this.#view = new Int32Array(memory)
    this.#options = options
    this.#look()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    // The wait below would hold its memory until the next entry.
    Atomics.notify(this.#view, counter)
  }

  #look(): void {
    if (this.#isStopped) return
    const { clock, deadlineMs, onOverrun } = this.#options
    const count = Atomics.load(this.#view, counter)
    const now = clock.monotonicMs()
    if (count === this.#seen) {
      if (!isInside(count)) return this.#sleep(count)
      const slot = Atomics.load(this.#view, slotOf)
      if (!this.#told && now - this.#seenAtMs >= deadlineMs(slot)) {
        this.#told = true
        onOverrun(slot)
      }
    } else {
      this.#seen = count
      this.#seenAtMs = now
      this.#told = false
    }
    this.#timer = clock.after(lookEveryMs, () => this.#look())
  }

  /** Until the worker enters a module again. */
  #sleep(count: number): void {
    const { async, value } = Atomics.waitAsync(this.#view, counter, count)
    if (async) void value.then(() => this.#look())
    else this.#look()
  }
}

/** The counter wraps to negative numbers; its lowest bit still alternates. */
const isInside = (count: number): boolean => (count & 1) === 1
