/** Holds back or delays the answers to reads of single objects: an API server under load, as owner look-ups meet it. */

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

  /** Answers what is held, in order of arrival, and holds no more. */
  release(): void {
    this.#holding = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const answer of waiting) answer()
  }

  /** Every read arriving from now on is answered this many ms later; 0 ends it. */
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

  /** Forgets what is pending: the clients are gone. */
  close(): void {
    this.#waiting = []
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }
}
