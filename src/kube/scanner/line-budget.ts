/**
 * Memory for unfinished lines and list items that are larger than any ordinary object, shared by all threads that read from the API server.
 *
 * Each thread may keep {@link freeBytes} of a line without asking, which is enough for the largest object of an API server with its usual limits, so a
 * thread that reads ordinary objects never depends on the others. Beyond that, all of them together have one budget: the thread that asks for more
 * than is left is refused, and gives up its stream.
 *
 * One slot for each thread, which only that thread writes to. A thread that dies leaves its slot to its successor, which starts it at 0.
 */

/** etcd refuses objects above 1.5 MiB unless configured otherwise. As JSON with its managedFields, an object may be somewhat larger than it is stored. */
export const freeBytes = 2 * 1024 * 1024

/** Threads at most; beyond that many, threads share slots, and what one that dies has taken is given back by whichever of them starts next. */
const slots = 1024

export class LineBudget {
  readonly #taken: Int32Array
  readonly #slot: number
  readonly #limit: number

  /** `memory`: from {@link LineBudget.memory}, the same for all threads. `limit`: bytes for all threads together. */
  constructor(memory: SharedArrayBuffer, slot: number, limit: number) {
    this.#taken = new Int32Array(memory)
    this.#slot = slot % slots
    this.#limit = limit
    Atomics.store(this.#taken, this.#slot, 0)
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT)
  }

  /** Takes bytes; false, and nothing taken, if all threads together would have more than the limit. */
  take(bytes: number): boolean {
    // Its own share first: of two threads that ask at the same moment, at most both are refused.
    Atomics.add(this.#taken, this.#slot, bytes)
    let sum = 0
    for (let slot = 0; slot < slots; slot++) sum += Atomics.load(this.#taken, slot)
    if (sum <= this.#limit) return true
    Atomics.sub(this.#taken, this.#slot, bytes)
    return false
  }

  /** Gives back bytes that were taken, at once or little by little. */
  give(bytes: number): void {
    Atomics.sub(this.#taken, this.#slot, bytes)
  }
}
