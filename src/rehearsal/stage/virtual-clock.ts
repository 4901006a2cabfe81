/**
 * The clock of a rehearsal: it shows the time of the recording, and moves only when it is told to. Timers fire in the order of their times;
 * those of one moment, in the order in which they were set.
 */
import type { Clock, Timer } from "../../clock.ts"

interface Alarm {
  /** µs since the Unix epoch. */
  readonly at: number
  readonly action: () => void
  isCancelled: boolean
}

export class VirtualClock implements Clock {
  readonly #start: number
  #now: number
  /** By time, then by the order in which they were set. */
  readonly #alarms: Alarm[] = []

  /** `start`: µs since the Unix epoch; monotonic time counts from there. */
  constructor(start: number) {
    this.#start = start
    this.#now = start
  }

  wallMicros(): number {
    return this.#now
  }

  monotonicMs(): number {
    return (this.#now - this.#start) / 1000
  }

  after(delayMs: number, action: () => void): Timer {
    const at = this.#now + Math.ceil(Math.max(0, delayMs) * 1000)
    if (!Number.isFinite(at)) return { cancel: () => undefined }
    const alarm: Alarm = { at, action, isCancelled: false }
    this.#alarms.splice(this.#placeAfter(at), 0, alarm)
    return {
      cancel: () => {
        alarm.isCancelled = true
        const index = this.#alarms.indexOf(alarm)
        if (index !== -1) this.#alarms.splice(index, 1)
      },
    }
  }

  /** The moment of the next timer in µs since the Unix epoch; `undefined` without one. */
  get next(): number | undefined {
    return this.#alarms[0]?.at
  }

  /** Moves to a moment; to an earlier one, without effect. Fires nothing. */
  moveTo(micros: number): void {
    this.#now = Math.max(this.#now, micros)
  }

  /** Fires the timers that are due; those that they set for now wait for the next call. */
  fire(): void {
    const due = this.#alarms.splice(0, this.#placeAfter(this.#now))
    // One of them may cancel another.
    for (const alarm of due) if (!alarm.isCancelled) alarm.action()
  }

  /** The index behind all alarms up to that moment. */
  #placeAfter(at: number): number {
    let low = 0
    let high = this.#alarms.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#alarms[middle]?.at ?? 0) <= at) low = middle + 1
      else high = middle
    }
    return low
  }
}
