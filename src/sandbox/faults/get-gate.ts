/** Holds back or delays the responses to reads of single objects: an API server under load, as owner look-ups experience it. */

import type { Clock, Timer } from "../../clock.ts"

export class GetGate {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #waiting: Array<() => void> = []
  #holding = false
  #delay = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Reads not answered yet, held or delayed. */
  get pending(): number {
    return this.#waiting.length + this.#timers.size
  }

  hold(): void {
    this.#holding = true
  }

  /** Answers the held reads, in order of arrival, and holds no more. */
  release(): void {
    this.#holding = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const answer of waiting) answer()
  }

  /** Every read that arrives from now on is delayed by this many ms; 0 ends the delay. */
  delay(milliseconds: number): void {
    this.#delay = milliseconds
  }

  pass(answer: () => void): void {
    if (this.#holding) {
      this.#waiting.push(answer)
    } else if (this.#delay > 0) {
      const timer = this.#clock.after(this.#delay, () => {
        this.#timers.delete(timer)
        answer()
      })
      this.#timers.add(timer)
    } else {
      answer()
    }
  }

  /** Drops pending reads: the clients are gone. */
  close(): void {
    this.#waiting = []
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }
}
