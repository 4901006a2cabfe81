/**
 * One module in its worker: what waits for it, and the calls into it.
 *
 * Guaranteed:
 * - The guest is never entered while it runs. A result that arrives meanwhile waits; results of one operation come in order.
 * - After the first error of the guest (a trap, an exit, memory beyond its limit) it is never entered again, and everything
 *   that waited is dropped: the results belong to operations that no later instance knows.
 */
import type { Clock } from "../../../clock.ts"
import type { GuestInstance } from "../../guest/guest-instance.ts"
import type { RunnerStatistics } from "./module-worker-interface.ts"

/** Each call runs guest code, and throws what ended the guest. */
export type Guest = Pick<GuestInstance, "start" | "wakeFuture" | "wakeStream" | "memoryBytes">

interface RunnerOptions {
  /** Makes the instance. Throws why it cannot. */
  readonly make: () => Guest
  readonly clock: Pick<Clock, "monotonicMs">
  /** Called around each entry, so that another thread can tell how long it takes. */
  readonly entry: { begin(): void; end(): void }
  /** Called once, with what ended the guest. */
  readonly onEnded: (cause: unknown) => void
}

interface WakeUp {
  readonly id: bigint
  readonly ofWatch: boolean
  readonly value: Uint8Array | undefined
  readonly taken: (() => void) | undefined
}

/** Entries of the queue that were taken and are still there: cut off in steps, because each cut moves the rest. */
const cutAfter = 1024

export class ModuleRunner {
  readonly #options: RunnerOptions
  /** What waits, from `#first` on. */
  #queue: WakeUp[] = []
  #first = 0
  #queuedBytes = 0
  #guest: Guest | undefined
  #hasEnded = false
  #wakeUps = 0
  #runMs = 0
  #longestMs = 0
  #dropped = 0

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** The guest has to be started, or something waits for it. */
  get isReady(): boolean {
    return !this.#hasEnded && (this.#guest === undefined || this.#first < this.#queue.length)
  }

  /** Bytes of the values that wait. */
  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /**
   * The next value of a watch; `undefined` ends it. `value` must not change later. `taken` is called once the guest has returned from the call
   * with the value; never if it ends before.
   */
  streamed(id: bigint, value: Uint8Array | undefined, taken?: () => void): void {
    this.#push({ id, ofWatch: true, value, taken })
  }

  /** A request or a delay is done. */
  completed(id: bigint, value: Uint8Array | undefined): void {
    this.#push({ id, ofWatch: false, value, taken: undefined })
  }

  /**
   * Starts the guest, and enters it for what waits, until nothing does or `sliceMs` are over. Returns whether something still waits.
   */
  run(sliceMs: number): boolean {
    const { clock } = this.#options
    const end = clock.monotonicMs() + sliceMs
    try {
      while (this.isReady) {
        this.#next()
        if (clock.monotonicMs() >= end) break
      }
    } catch (cause) {
      if (!this.#hasEnded) {
        this.close()
        this.#options.onEnded(cause)
      }
    }
    return this.isReady
  }

  /** The guest is never entered again. */
  close(): void {
    this.#hasEnded = true
    this.#guest = undefined
    this.#queue = []
    this.#first = 0
    this.#queuedBytes = 0
  }

  statistics(): RunnerStatistics {
    return {
      wakeUps: this.#wakeUps,
      runMs: this.#runMs,
      longestMs: this.#longestMs,
      dropped: this.#dropped,
      queued: this.#queue.length - this.#first,
      memoryBytes: this.#guest?.memoryBytes ?? 0,
    }
  }

  #push(wakeUp: WakeUp): void {
    if (this.#hasEnded) return
    this.#queue.push(wakeUp)
    this.#queuedBytes += wakeUp.value?.length ?? 0
  }

  /** Starts the guest, or enters it with the first of what waits. */
  #next(): void {
    const guest = this.#guest
    if (guest === undefined) {
      // Within the entry: how long the engine takes for the instance is the module's doing.
      this.#enter(() => {
        this.#guest = this.#options.make()
        this.#guest.start()
      })
      return
    }
    const wakeUp = this.#queue[this.#first++]
    if (wakeUp === undefined) throw new RangeError("nothing waits for the module")
    const { id, ofWatch, value, taken } = wakeUp
    if (this.#first >= cutAfter || this.#first === this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first)
      this.#first = 0
    }
    this.#queuedBytes -= value?.length ?? 0
    let isTaken = false
    this.#enter(() => {
      isTaken = ofWatch ? guest.wakeStream(id, value) : guest.wakeFuture(id, value)
    })
    if (isTaken) taken?.()
    else this.#dropped++
  }

  #enter(call: () => void): void {
    const { clock, entry } = this.#options
    const begun = clock.monotonicMs()
    entry.begin()
    try {
      call()
    } finally {
      const end = clock.monotonicMs()
      entry.end()
      this.#wakeUps++
      this.#runMs += end - begun
      this.#longestMs = Math.max(this.#longestMs, end - begun)
    }
  }
}
