/** Things to be done at given times after a beginning, in order; several that are due at once run in one go. */

import type { Clock, Timer } from "../clock.ts"

export interface DueAction {
  /** ms after the beginning. */
  readonly due: number
  readonly run: () => void
}

/**
 * ms within which two moments are the same. Sums of fractions do not come out even: without it, an action could be due in
 * less than the clock can tell, again and again.
 */
const resolution = 0.0005

export class Timeline {
  /** Resolves when the last action has run; never if time does not begin. */
  readonly finished: Promise<void>
  readonly #actions: ReadonlyArray<DueAction>
  readonly #clock: Clock
  #finish: () => void = () => undefined
  #next = 0
  #startedAt: number | undefined
  #timer: Timer | undefined

  /** `actions` must be sorted by time. */
  constructor(actions: ReadonlyArray<DueAction>, clock: Clock) {
    this.#actions = actions
    this.#clock = clock
    this.finished = new Promise((resolve) => {
      this.#finish = resolve
    })
  }

  /** ms from the beginning to the last action. */
  get duration(): number {
    return this.#actions.at(-1)?.due ?? 0
  }

  /** Lets time run; a second call does nothing. No action runs within the call. */
  begin(): void {
    if (this.#startedAt !== undefined) return
    this.#startedAt = this.#clock.monotonicMs()
    this.#timer = this.#clock.after(0, () => this.#advance(this.#startedAt ?? 0))
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #advance(startedAt: number): void {
    const elapsed = this.#clock.monotonicMs() - startedAt
    let action = this.#actions[this.#next]
    while (action !== undefined && action.due <= elapsed + resolution) {
      this.#next++
      action.run()
      action = this.#actions[this.#next]
    }
    if (action === undefined) this.#finish()
    else this.#timer = this.#clock.after(action.due - elapsed, () => this.#advance(startedAt))
  }
}
