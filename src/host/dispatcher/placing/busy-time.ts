/**
 * How busy a module keeps its worker: the worker adds up its time in shared memory, and another thread reads it when it wants to, without
 * waking the worker.
 */

/** Bytes of shared memory of a counter. */
const counterBytes = 4

/** Memory for the time of one module, in one worker after another. */
export const busyMemory = (): SharedArrayBuffer => new SharedArrayBuffer(counterBytes)

/** The worker's side: `ms` more have passed within the module. */
export const addBusyTime = (memory: SharedArrayBuffer, ms: number): void => {
  // Whole µs that wrap around: a double could be read half-written.
  Atomics.add(new Int32Array(memory), 0, Math.round(ms * 1000))
}

interface Sample {
  readonly atMs: number
  readonly busyMs: number
}

/** The reading side: the share of time that passed within the module, over a sliding window. */
export class BusyWindow {
  readonly #view: Int32Array
  readonly #windowMs: number
  /** Oldest first; the first one is at or before the window's beginning. */
  #samples: Sample[] = []
  #micros: number

  /** `windowMs`: length of the window. */
  constructor(memory: SharedArrayBuffer, windowMs: number) {
    this.#view = new Int32Array(memory)
    this.#windowMs = windowMs
    this.#micros = Atomics.load(this.#view, 0)
  }

  /** Reads the counter. Call it more often than it wraps around, which takes 35 minutes within the module. `nowMs`: monotonic. */
  sample(nowMs: number): void {
    const micros = Atomics.load(this.#view, 0)
    const before = this.#samples.at(-1)?.busyMs ?? 0
    const busyMs = before + ((micros - this.#micros) | 0) / 1000
    this.#micros = micros
    this.#samples.push({ atMs: nowMs, busyMs })
    while ((this.#samples[1]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs - this.#windowMs) this.#samples.shift()
  }

  /** Whether the window has been filled. */
  get isFull(): boolean {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    return first !== undefined && last !== undefined && last.atMs - first.atMs >= this.#windowMs
  }

  /** From 0 to 1; 0 before the second sample. */
  get share(): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return 0
    // A call is counted when it ends, and may have begun before the window.
    return Math.min(1, (last.busyMs - first.busyMs) / (last.atMs - first.atMs))
  }
}
