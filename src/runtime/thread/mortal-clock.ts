/** A clock for one life in a thread that goes on after it: the life's timers end with it, as they would with its own thread. */
import type { Clock, Timer } from "../../clock.ts"

export class MortalClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #isOver = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wallMicros(): number {
    return this.#clock.wallMicros()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  after(delayMs: number, action: () => void): Timer {
    if (this.#isOver) return { cancel: () => undefined }
    const running = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer)
      action()
    })
    const timer: Timer = {
      cancel: () => {
        this.#timers.delete(timer)
        running.cancel()
      },
    }
    this.#timers.add(timer)
    return timer
  }

  /** Cancels all timers, and those that are asked for later. */
  end(): void {
    this.#isOver = true
    for (const timer of [...this.#timers]) timer.cancel()
  }
}
