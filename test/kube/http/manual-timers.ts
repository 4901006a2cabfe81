import type { Timers } from "../../../src/clock.ts"

/** Timers that fire when the test lets time pass. */
export class ManualTimers implements Timers {
  #now = 0
  readonly #waiting = new Set<{ readonly at: number; readonly action: () => void }>()

  /** ms since the start, for code that also asks for the time. */
  get now(): number {
    return this.#now
  }

  /** How many timers have neither fired nor been cancelled. */
  get pending(): number {
    return this.#waiting.size
  }

  after(delayMs: number, action: () => void): { cancel(): void } {
    const entry = { at: this.#now + delayMs, action }
    this.#waiting.add(entry)
    return { cancel: () => void this.#waiting.delete(entry) }
  }

  /** Lets `ms` pass; due timers fire in order. */
  advance(ms: number): void {
    const until = this.#now + ms
    for (;;) {
      const [next] = [...this.#waiting].filter((entry) => entry.at <= until).sort((one, other) => one.at - other.at)
      if (next === undefined) break
      this.#waiting.delete(next)
      this.#now = next.at
      next.action()
    }
    this.#now = until
  }
}
