/**
 * Work that controllers put off: keys, each waiting once, done one after the other a moment later on the server's clock. So
 * a controller never acts in the middle of the write that woke it, and a test with a clock of its own decides when it acts.
 */

import type { Clock, Timer } from "../../runtime/clock.ts"

export class WorkQueue {
  readonly #clock: Clock
  readonly #work: (key: string) => void
  /** ms. */
  readonly #delay: number
  readonly #waiting = new Set<string>()
  #timer: Timer | undefined
  #closed = false

  /** `work` runs `delay` ms (default 0: as soon as the event loop turns) after a key has come to an idle queue. */
  constructor(clock: Clock, work: (key: string) => void, delay = 0) {
    this.#clock = clock
    this.#work = work
    this.#delay = delay
  }

  add(key: string): void {
    if (this.#closed) return
    this.#waiting.add(key)
    this.#timer ??= this.#clock.after(this.#delay, () => this.#run())
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#waiting.clear()
  }

  /** What comes while this runs waits for the next round. */
  #run(): void {
    this.#timer = undefined
    const keys = [...this.#waiting]
    this.#waiting.clear()
    for (const key of keys) this.#work(key)
  }
}
