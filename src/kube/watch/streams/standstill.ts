/**
 * Notices that a number no longer grows. The number is looked at a few times per limit, because reading the clock whenever it grows would cost more
 * than noticing a quarter late.
 */
import type { Clock } from "../../../clock.ts"

const looksPerLimit = 4

export class Standstill {
  readonly #clock: Pick<Clock, "after">
  readonly #read: () => number
  readonly #stands: () => void
  #limitMs = Number.POSITIVE_INFINITY
  #seen = 0
  /** Looks since then that found the same number. */
  #looks = 0
  #timer: { cancel(): void } | undefined

  /** `stands` is called once for each limit that passes without growth. */
  constructor(clock: Pick<Clock, "after">, read: () => number, stands: () => void) {
    this.#clock = clock
    this.#read = read
    this.#stands = stands
  }

  /** Replaces an earlier limit and restarts the measurement. Infinite: none. */
  limit(ms: number): void {
    this.#limitMs = ms
    this.restart()
  }

  /** Measures from now on. */
  restart(): void {
    this.pause()
    if (!Number.isFinite(this.#limitMs)) return
    this.#seen = this.#read()
    this.#looks = 0
    this.#lookAgain()
  }

  /** Until {@link restart} or {@link limit}. */
  pause(): void {
    this.#timer?.cancel()
  }

  #lookAgain(): void {
    this.#timer = this.#clock.after(this.#limitMs / looksPerLimit, () => {
      const now = this.#read()
      this.#looks = now === this.#seen ? this.#looks + 1 : 0
      this.#seen = now
      if (this.#looks >= looksPerLimit) this.#stands()
      else this.#lookAgain()
    })
  }
}
