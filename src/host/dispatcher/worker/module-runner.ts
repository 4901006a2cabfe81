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
import type { GuestRequest, WatchRequest } from "../../guest/abi-values.ts"

/** What the runner needs of an instance. Each call runs guest code, and throws what ended the guest. */
export interface Guest {
  start(): void
  wakeFuture(id: bigint, value: Uint8Array | undefined): unknown
  wakeStream(id: bigint, value: Uint8Array | undefined): unknown
  /** Bytes of its linear memory. */
  readonly memoryBytes: number
  /** Its state, from which another instance of the same module continues. */
  image(): Uint8Array
}

/** Called by the guest while it runs; the operation's results are passed to {@link ModuleRunner}. */
export interface GuestCalls {
  watch(id: bigint, request: WatchRequest): void
  request(id: bigint, request: GuestRequest): void
  delay(id: bigint, ms: bigint): void
}

/** Makes an instance that calls these; from an image, or from the beginning. Throws why it cannot. */
export type MakeGuest = (calls: GuestCalls, image: Uint8Array | undefined) => Guest

/** Keeps the image of an unloaded guest. */
export interface ImageStore {
  /** Throws if it cannot be kept; the guest then stays loaded. */
  write(image: Uint8Array): void
  /** Throws if what was written cannot be read. */
  read(): Uint8Array
  remove(): void
}

export interface RunnerOptions {
  readonly make: MakeGuest
  /** Gets the operations that the guest starts. Must not call the runner. */
  readonly operations: GuestCalls
  readonly images: ImageStore
  readonly clock: Pick<Clock, "monotonicMs">
  /** Called around each entry, so that another thread can tell how long it takes; `ms` is how long it took. */
  readonly entry: { begin(): void; end(ms: number): void }
  /** Called once, with what ended the guest. */
  readonly onEnded: (cause: unknown) => void
  /** Gets why an image was not written. The guest goes on. */
  readonly onUnloadFailed: (cause: unknown) => void
  /** Continue as another runner, whose image `images` has, instead of starting. */
  readonly state?: RunnerState
}

/** Counters since the runner began, and gauges. */
export interface RunnerStatistics {
  /** Calls into the guest. */
  readonly wakeUps: number
  /** ms within the guest. */
  readonly runMs: number
  /** ms of the longest call. */
  readonly longestMs: number
  /** Results that came for operations that were not open any more. */
  readonly dropped: number
  readonly unloads: number
  readonly queued: number
  readonly queuedBytes: number
  /** 0 while it is unloaded. */
  readonly memoryBytes: number
  readonly isLoaded: boolean
  readonly openWatches: number
  readonly openRequests: number
  readonly openDelays: number
}

type Operation = "watch" | "request" | "delay"

interface WakeUp {
  readonly id: bigint
  readonly ofWatch: boolean
  readonly value: Uint8Array | undefined
  readonly taken: (() => void) | undefined
}

/** What a runner has left to the next one, beside the image. Plain data. */
export interface RunnerState {
  readonly open: ReadonlyMap<bigint, Operation>
  readonly waiting: ReadonlyArray<WakeUp>
  readonly counts: Pick<RunnerStatistics, "wakeUps" | "runMs" | "longestMs" | "dropped" | "unloads">
}

/** Entries of the queue that were taken and are still there: cut off in steps, because each cut moves the rest. */
const cutAfter = 1024

export class ModuleRunner {
  readonly #options: RunnerOptions
  readonly #open: Map<bigint, Operation>
  /** What waits, from `#first` on. */
  #queue: WakeUp[] = []
  #first = 0
  #queuedBytes = 0
  #guest: Guest | undefined
  #isStarted = false
  #hasEnded = false
  #isInside = false
  #isHeld = false
  #lastRunMs: number
  #wakeUps = 0
  #runMs = 0
  #longestMs = 0
  #dropped = 0
  #unloads = 0

  constructor(options: RunnerOptions) {
    const { clock, state } = options
    this.#options = options
    this.#lastRunMs = clock.monotonicMs()
    this.#open = new Map(state?.open)
    if (state === undefined) return
    this.#isStarted = true
    for (const wakeUp of state.waiting) this.#push(wakeUp)
    const { wakeUps, runMs, longestMs, dropped, unloads } = state.counts
    this.#wakeUps = wakeUps
    this.#runMs = runMs
    this.#longestMs = longestMs
    this.#dropped = dropped
    this.#unloads = unloads
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
    return !this.#hasEnded && !this.#isHeld && (!this.#isStarted || this.#first < this.#queue.length)
  }

  get isStarted(): boolean {
    return this.#isStarted
  }

  get openRequests(): number {
    return this.#count("request")
  }

  /** Bytes of its linear memory; 0 while it is unloaded. */
  get memoryBytes(): number {
    return this.#guest?.memoryBytes ?? 0
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
    const { clock, onUnloadFailed } = this.#options
    if (!this.isLoaded || this.isReady || this.#isInside || this.openRequests > 0) return false
    if (clock.monotonicMs() - this.#lastRunMs < idleMs) return false
    try {
      this.unload()
    } catch (cause) {
      // Not at every look: once more after another idle time.
      this.#lastRunMs = clock.monotonicMs()
      onUnloadFailed(cause)
      return false
    }
    return true
  }

  /** Unloads the guest, which is not running, if it is loaded. Throws why its image cannot be kept; then it stays loaded. */
  unload(): void {
    const guest = this.#guest
    if (guest === undefined) return
    this.#options.images.write(guest.image())
    this.#guest = undefined
    this.#unloads++
  }

  /** The guest is not entered until {@link resume}; what comes for it waits. */
  hold(): void {
    this.#isHeld = true
  }

  resume(): void {
    this.#isHeld = false
  }

  /** Leaves the guest, which must be unloaded, to another runner, with its image. */
  depart(): RunnerState {
    if (this.isLoaded) throw new Error("a guest that is loaded cannot depart")
    const { wakeUps, runMs, longestMs, dropped, unloads } = this.statistics()
    const state = {
      open: new Map(this.#open),
      waiting: this.#queue.slice(this.#first),
      counts: { wakeUps, runMs, longestMs, dropped, unloads },
    }
    this.#end()
    return state
  }

  /** The guest is never entered again. */
  close(): void {
    this.#end()
    this.#options.images.remove()
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
      memoryBytes: this.memoryBytes,
      isLoaded: this.isLoaded,
      openWatches: this.#count("watch"),
      openRequests: this.openRequests,
      openDelays: this.#count("delay"),
    }
  }

  readonly #calls: GuestCalls = {
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

  #end(): void {
    this.#hasEnded = true
    this.#guest = undefined
    this.#queue = []
    this.#first = 0
    this.#queuedBytes = 0
    this.#open.clear()
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
    this.#guest ??= this.#options.make(this.#calls, this.#options.images.read())
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
      entry.end(end - begun)
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

  #count(wanted: Operation): number {
    let count = 0
    for (const operation of this.#open.values()) if (operation === wanted) count++
    return count
  }
}
