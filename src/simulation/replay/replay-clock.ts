/**
 * The schedule of a replay: when a moment of the trace is due, by the machine's monotonic clock.
 *
 * Guaranteed: `due = start + (moment − first moment) / speed`, computed from the start each time and never from the event before, so that
 * neither the target's slowness nor rounding accumulates (SimKube adds up whole seconds per gap: 13 to 15 ms of drift per event, and gaps
 * below a second vanish at higher speeds, W-40). A change of speed, a pause and a delay take effect at the moment of the call; what was due
 * before stays due. Paused time is not trace time (W-41).
 *
 * Pure: it has no clock of its own, every method gets the time.
 */

/** Trace seconds per real second; `max`: everything is due at once. */
export type Speed = number | "max"

/** The slowest and the fastest speed that can be requested; beyond them `pause` and `max` are meant. */
export const speedLimits = { minimum: 0.01, maximum: 1000 } as const

export class ReplayClock {
  #speed: Speed
  /** A moment of the trace in µs, and the monotonic ms at which it is due; both move on a change of speed. */
  #anchorMicros: number
  #anchorMs: number
  #isPaused = false
  #delayedMs = 0

  /** `startMicros` is due at `nowMs`. */
  constructor(startMicros: number, speed: Speed, nowMs: number) {
    this.#anchorMicros = startMicros
    this.#anchorMs = nowMs
    this.#speed = speed
  }

  get speed(): Speed {
    return this.#speed
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Real ms by which {@link delay} has moved the schedule, in all. */
  get delayedMs(): number {
    return this.#delayedMs
  }

  /** Monotonic ms at which a moment of the trace is due; `Infinity` while the clock is paused before it. */
  dueMs(momentMicros: number): number {
    const ahead = momentMicros - this.#anchorMicros
    if (ahead <= 0) return this.#anchorMs
    if (this.#isPaused) return Number.POSITIVE_INFINITY
    return this.#speed === "max" ? this.#anchorMs : this.#anchorMs + ahead / 1000 / this.#speed
  }

  /** The moment of the trace that is due at `nowMs`; at speed `max` the moment last {@link reached}. */
  positionMicros(nowMs: number): number {
    if (this.#isPaused || this.#speed === "max") return this.#anchorMicros
    return this.#anchorMicros + Math.max(0, nowMs - this.#anchorMs) * 1000 * this.#speed
  }

  /** The replay has come to this moment: at speed `max` nothing else moves the clock. */
  reached(momentMicros: number): void {
    if (this.#speed === "max" && momentMicros > this.#anchorMicros) this.#anchorMicros = momentMicros
  }

  /** Without effect if it is paused. */
  pause(nowMs: number): void {
    if (this.#isPaused) return
    this.#moveAnchor(nowMs)
    this.#isPaused = true
  }

  /** Without effect if it is not paused. */
  resume(nowMs: number): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#anchorMs = nowMs
  }

  setSpeed(speed: Speed, nowMs: number): void {
    this.#moveAnchor(nowMs)
    this.#speed = speed
  }

  /** Everything that is not yet due becomes due `ms` later: the target cannot keep up. */
  delay(ms: number): void {
    this.#anchorMs += ms
    this.#delayedMs += ms
  }

  #moveAnchor(nowMs: number): void {
    this.#anchorMicros = this.positionMicros(nowMs)
    this.#anchorMs = nowMs
  }
}
