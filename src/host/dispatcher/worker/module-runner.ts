/**
 * One module in its worker: what waits for it, and the calls into it.
 *
 * Guaranteed:
 * - The guest is never entered while it runs. A result that arrives meanwhile waits; results of one operation come in order.
 * - A result for an operation that the guest never started, or that has ended, is dropped: an unknown id traps a Rust guest.
 * - After the first error of the guest (a trap, an exit, memory beyond its limit) it is never entered again, and everything
 *   that waited is dropped: the results belong to operations that no later instance knows.
 * - An idle guest can be unloaded. What it asked for goes on, and the next result loads it again as it was.
 */
import type { Clock } from "../../../clock.ts"
import type { GuestImage, OperationKind } from "../../guest/guest-image.ts"
import type { OperationHost } from "../../guest/guest-operations.ts"
import type { RunnerStatistics } from "./definition.ts"

/** What the runner needs of a `GuestInstance`. Each call runs guest code, and throws what ended the guest. */
export interface Guest {
  start(): void
  wakeFuture(id: bigint, value: Uint8Array | undefined): unknown
  wakeStream(id: bigint, value: Uint8Array | undefined): unknown
  /** Bytes of its linear memory. */
  readonly memoryBytes: number
  /** Its state, from which another instance of the same module continues. */
  image(): GuestImage
}

/** Makes an instance that calls these; from an image, or from the beginning. Throws why it cannot. */
export type MakeGuest = (calls: OperationHost, image: GuestImage | undefined) => Guest

/** Keeps the image of an unloaded guest. */
export interface ImageStore {
  /** Throws if it cannot be kept; the guest then stays loaded. */
  write(image: GuestImage): void
  /** Throws if what was written cannot be read. */
  read(): GuestImage
  remove(): void
}

interface RunnerOptions {
  readonly make: MakeGuest
  /** Gets the operations that the guest starts, whose results are passed to the runner. Must not call it. */
  readonly operations: OperationHost
  /** Absent: the guest is never unloaded. */
  readonly unloading?: {
    readonly images: ImageStore
    /** Gets why an image was not written. The guest goes on. */
    readonly onFailed: (cause: unknown) => void
  }
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
  readonly #open = new Map<bigint, OperationKind>()
  /** What waits, from `#first` on. */
  #queue: WakeUp[] = []
  #first = 0
  #queuedBytes = 0
  #guest: Guest | undefined
  #isStarted = false
  #hasEnded = false
  #isInside = false
  #lastRunMs: number
  #wakeUps = 0
  #runMs = 0
  #longestMs = 0
  #dropped = 0
  #unloads = 0

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#lastRunMs = options.clock.monotonicMs()
  }

  /** The guest has been ended, by itself or by {@link close}. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get isLoaded(): boolean {
    return this.#guest !== undefined
  }

  /** The guest has to be started, or something waits for it. */
  get isReady(): boolean {
    return !this.#hasEnded && (!this.#isStarted || this.#first < this.#queue.length)
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
    if (this.#open.get(id) !== "watch") return void this.#dropped++
    if (value === undefined) this.#open.delete(id)
    this.#push({ id, ofWatch: true, value, taken })
  }

  /** A request or a delay is done. */
  completed(id: bigint, value: Uint8Array | undefined): void {
    const operation = this.#open.get(id)
    if (operation === undefined || operation === "watch") return void this.#dropped++
    this.#open.delete(id)
    this.#push({ id, ofWatch: false, value, taken: undefined })
  }

  /**
   * Starts the guest, and enters it for what waits, until nothing does or `sliceMs` are over. Returns whether something still waits.
   */
  run(sliceMs: number): boolean {
    const { clock } = this.#options
    const end = clock.monotonicMs() + sliceMs
    while (this.isReady) {
      this.#guarded(() => this.#next())
      if (clock.monotonicMs() >= end) break
    }
    return this.isReady
  }

  /**
   * Unloads the guest if it has not been entered for `idleMs` and no request is open: a response is usually near. Returns whether it did.
   */
  unloadIfIdle(idleMs: number): boolean {
    const { clock, unloading } = this.#options
    const guest = this.#guest
    if (unloading === undefined || guest === undefined) return false
    if (this.isReady || this.#isInside || this.#count("request") > 0) return false
    if (clock.monotonicMs() - this.#lastRunMs < idleMs) return false
    try {
      unloading.images.write(guest.image())
    } catch (cause) {
      // Not at every look: once more after another idle time.
      this.#lastRunMs = clock.monotonicMs()
      unloading.onFailed(cause)
      return false
    }
    this.#guest = undefined
    this.#unloads++
    return true
  }

  /** The guest is never entered again. */
  close(): void {
    this.#hasEnded = true
    this.#guest = undefined
    this.#queue = []
    this.#first = 0
    this.#queuedBytes = 0
    this.#open.clear()
    this.#options.unloading?.images.remove()
  }

  statistics(): RunnerStatistics {
    return {
      wakeUps: this.#wakeUps,
      runMs: this.#runMs,
      longestMs: this.#longestMs,
      dropped: this.#dropped,
      unloads: this.#unloads,
      queued: this.#queue.length - this.#first,
      queuedBytes: this.#queuedBytes,
      memoryBytes: this.#guest?.memoryBytes ?? 0,
      isLoaded: this.isLoaded,
      openWatches: this.#count("watch"),
      openRequests: this.#count("request"),
      openDelays: this.#count("delay"),
    }
  }

  readonly #calls: OperationHost = {
    watch: (id, request) => {
      this.#open.set(id, "watch")
      this.#options.operations.watch(id, request)
    },
    request: (id, request) => {
      this.#open.set(id, "request")
      this.#options.operations.request(id, request)
    },
    delay: (id, ms) => {
      this.#open.set(id, "delay")
      this.#options.operations.delay(id, ms)
    },
  }

  #push(wakeUp: WakeUp): void {
    this.#queue.push(wakeUp)
    this.#queuedBytes += wakeUp.value?.length ?? 0
  }

  /** Starts the guest, or enters it with the first of what waits. */
  #next(): void {
    if (!this.#isStarted) {
      this.#isStarted = true
      // Within the entry: how long the engine takes for the instance is the module's doing.
      this.#enter(() => {
        const guest = this.#options.make(this.#calls, undefined)
        this.#guest = guest
        guest.start()
      })
      return
    }
    const { id, ofWatch, value, taken } = this.#queue[this.#first] as WakeUp
    // Outside of it: how long reading the image takes is the disk's, and nothing of the guest runs.
    this.#guest ??= this.#options.make(this.#calls, this.#options.unloading?.images.read())
    const guest = this.#guest
    this.#first++
    if (this.#first >= cutAfter || this.#first === this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first)
      this.#first = 0
    }
    this.#queuedBytes -= value?.length ?? 0
    this.#enter(() => (ofWatch ? guest.wakeStream(id, value) : guest.wakeFuture(id, value)))
    taken?.()
  }

  #enter(call: () => void): void {
    const { clock, entry } = this.#options
    if (this.#isInside) throw new Error("a guest was entered from within itself")
    const begun = clock.monotonicMs()
    this.#isInside = true
    entry.begin()
    try {
      call()
    } finally {
      const end = clock.monotonicMs()
      entry.end()
      this.#isInside = false
      this.#lastRunMs = end
      this.#wakeUps++
      this.#runMs += end - begun
      this.#longestMs = Math.max(this.#longestMs, end - begun)
    }
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (cause) {
      if (this.#hasEnded) return
      this.close()
      this.#options.onEnded(cause)
    }
  }

  #count(wanted: OperationKind): number {
    let count = 0
    for (const operation of this.#open.values()) if (operation === wanted) count++
    return count
  }
}
