/** Recorded time that runs: from a moment, at a speed, to the end of the past, where it stands still. */
import type { Clock, Timer } from "../../clock.ts"

interface PlaySettings {
  /** µs since the Unix epoch of the recorded time at which it begins. */
  readonly from: number
  /** µs since the Unix epoch. */
  readonly to: number
  /** Recorded time for each unit of real time. */
  readonly speed: number
}

export class PlayClock {
  readonly to: number
  readonly #clock: Clock
  readonly #from: number
  readonly #speed: number
  readonly #startMs: number

  /** Time begins to run. */
  constructor(clock: Clock, { from, to, speed }: PlaySettings) {
    this.to = to
    this.#clock = clock
    this.#from = from
    this.#speed = speed
    this.#startMs = clock.monotonicMs()
  }

  /** The recorded moment that is now: µs since the Unix epoch. */
  now(): number {
    const elapsed = (this.#clock.monotonicMs() - this.#startMs) * 1000 * this.#speed
    return Math.min(this.to, this.#from + Math.floor(elapsed))
  }

  /** Calls `action` once a recorded moment is now; never if that is after the end. */
  at(moment: number, action: () => void): Timer {
    if (moment > this.to) return { cancel: () => undefined }
    // From the start, so that nothing accumulates.
    const dueMs = this.#startMs + (moment - this.#from) / (1000 * this.#speed)
    // Never early: a timer of whole ms could fire before the moment.
    return this.#clock.after(Math.max(0, Math.ceil((dueMs - this.#clock.monotonicMs()) * 1000) / 1000), action)
  }
}
