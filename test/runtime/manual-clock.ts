import type { Clock, Timer } from "../../src/clock.ts"

interface Alarm {
  readonly at: number
  readonly action: () => void
}

/** A clock that the test moves. Timers fire in order of their time; those of one moment, in order of creation. */
export class ManualClock implements Clock {
  #now = 0
  readonly #alarms = new Set<Alarm>()

  wallMicros(): number {
    return 1_700_000_000_000_000 + Math.round(this.#now * 1000)
  }

  monotonicMs(): number {
    return this.#now
  }

  after(delayMs: number, action: () => void): Timer {
    const alarm = { at: this.#now + delayMs, action }
    this.#alarms.add(alarm)
    return { cancel: () => void this.#alarms.delete(alarm) }
  }

  /** Timers that have neither fired nor been cancelled. */
  get pending(): number {
    return this.#alarms.size
  }

  /** ms until the next timer fires; `undefined` without one. */
  get untilNext(): number | undefined {
    const next = this.#next()
    return next === undefined ? undefined : next.at - this.#now
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (let alarm = this.#next(); alarm !== undefined && alarm.at <= end; alarm = this.#next()) {
      this.#alarms.delete(alarm)
      this.#now = alarm.at
      alarm.action()
    }
    this.#now = end
  }

  #next(): Alarm | undefined {
    let next: Alarm | undefined
    for (const alarm of this.#alarms) if (next === undefined || alarm.at < next.at) next = alarm
    return next
  }
}
