/**
 * The clock of a rehearsal: it shows the time of the recording, and moves only on request. Timers fire in the order of
 * their times; those of one moment, in the order in which they were set.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { Randomness } from "../../sandbox/index.ts"

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

export interface SeededRandomness extends Randomness {
  /** In [0, 1). */
  next(): number
  fill(bytes: Uint8Array): void
}

/** No vowels, no 0, 1 and 3, as the real server's suffixes. */
const letters = "bcdfghjklmnpqrstvwxz2456789"

/**
 * Random values that are the same in each run: Mulberry32, which is enough for names, UIDs and jitter, and for nothing
 * secret.
 */
export const seededRandomness = (seed: number): SeededRandomness => {
  let state = seed >>> 0
  const word = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const next = (): number => word() / 2 ** 32
  const fill = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = word() & 0xff
  }
  return {
    next,
    fill,
    uid: () => {
      const bytes = new Uint8Array(16)
      fill(bytes)
      bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
      bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
      const digits = Buffer.from(bytes).toString("hex")
      return [0, 8, 12, 16, 20].map((from, part) => digits.slice(from, [8, 12, 16, 20, 32][part])).join("-")
    },
    suffix: (length) => Array.from({ length }, () => letters[Math.floor(next() * letters.length)]).join(""),
  }
}
