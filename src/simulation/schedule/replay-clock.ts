/**
 * The schedule of a replay by the monotonic clock: `due = start + (moment − first moment) / speed`, computed from the
 * start each time, so that nothing accumulates (W-40). What was due before a pause or a change of speed stays due at
 * its own time; paused time is not trace time (W-41). It is a row of stretches, each with its own speed, 0 while the
 * clock is paused; all are kept, some 50 bytes each. Pure: every method gets the time.
 */

/** Trace seconds per real second; `max`: everything is due at once. */
export type Speed = number | "max"

/** The slowest and the fastest speed that can be requested; beyond them `pause` and `max` are meant. */
export const speedLimits = { minimum: 0.01, maximum: 1000 } as const

/** What others may ask of the schedule of a replay that runs. */
export type LiveSchedule = Pick<ReplayClock, "dueMs" | "positionMicros">

/** A part of the schedule with one speed. It ends where the next one begins. */
interface Stretch {
  /** µs: the moments after this one belong to it. */
  readonly after: number
  /** Monotonic ms at which `after` was due, or at which the speed was changed. */
  readonly atMs: number
  readonly speed: Speed
  /** Real ms of pauses before `atMs`. */
  readonly pausedMs: number
}

/** The schedule of one replay. All times it is given or gives are monotonic ms, all moments µs since the Unix epoch. */
export class ReplayClock {
  /** In order; never empty. */
  #stretches: Stretch[]
  /** The speed that was asked for, also while the clock is paused. */
  #speed: Speed
  #isPaused: boolean
  /** µs: the moment last {@link reached}. */
  #reached: number
  #delayedMs = 0
  /** Of all pauses that are over. */
  #pausedMs = 0
  #pausedSinceMs: number

  /** `startMicros` is due at `nowMs`. `isPaused`: what comes after it waits for {@link resume} or {@link step}. */
  constructor(startMicros: number, speed: Speed, nowMs: number, isPaused = false) {
    this.#stretches = [{ after: startMicros, atMs: nowMs, speed: isPaused ? 0 : speed, pausedMs: 0 }]
    this.#speed = speed
    this.#isPaused = isPaused
    this.#reached = startMicros
    this.#pausedSinceMs = nowMs
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

  /** Real ms that the clock has been paused until `nowMs`, in all. */
  pausedMs(nowMs: number): number {
    return this.#pausedMs + (this.#isPaused ? nowMs - this.#pausedSinceMs : 0)
  }

  /** Monotonic ms at which a moment of the trace is or was due; `Infinity` while the clock is paused before it. */
  dueMs(momentMicros: number): number {
    const { after, atMs, speed } = this.#stretchOf(momentMicros)
    const ahead = momentMicros - after
    return ahead <= 0 || speed === "max" ? atMs : atMs + ahead / 1000 / speed
  }

  /** Real ms of pauses in {@link dueMs} of this moment. */
  pausedBeforeMs(momentMicros: number): number {
    return this.#stretchOf(momentMicros).pausedMs
  }

  /** Whether the schedule gives the moment a time of its own; otherwise, at speed `max` and after a step, it is due when its turn comes. */
  isTimed(momentMicros: number): boolean {
    return this.#stretchOf(momentMicros).speed !== "max"
  }

  /** The moment of the trace that is due at `nowMs`; at speed `max` the moment last {@link reached}. */
  positionMicros(nowMs: number): number {
    const index = Math.max(
      0,
      this.#stretches.findLastIndex(({ atMs }) => atMs <= nowMs),
    )
    const { after, atMs, speed } = this.#stretches[index] as Stretch
    const position = speed === "max" ? Math.max(after, this.#reached) : after + Math.max(0, nowMs - atMs) * 1000 * speed
    return Math.min(position, this.#stretches[index + 1]?.after ?? position)
  }

  /** The replay has come to this moment, and will not ask for earlier ones. At speed `max` nothing else moves the clock. */
  reached(momentMicros: number): void {
    this.#reached = Math.max(this.#reached, momentMicros)
  }

  /** Without effect if it is paused. */
  pause(nowMs: number): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#pausedSinceMs = nowMs
    this.#begin(this.positionMicros(nowMs), 0, nowMs)
  }

  /** Without effect if it is not paused. */
  resume(nowMs: number): void {
    if (!this.#isPaused) return
    this.#pausedMs = this.pausedMs(nowMs)
    this.#isPaused = false
    this.#begin(this.positionMicros(nowMs), this.#speed, nowMs)
  }

  /** While the clock is paused: moves it on to a later moment, so that everything up to that is due now. Otherwise without effect. */
  step(momentMicros: number, nowMs: number): void {
    const position = this.positionMicros(nowMs)
    if (!this.#isPaused || momentMicros <= position) return
    this.#begin(position, "max", nowMs)
    this.#begin(momentMicros, 0, nowMs)
  }

  /** A paused clock stays paused, and later continues at this speed. */
  setSpeed(speed: Speed, nowMs: number): void {
    this.#speed = speed
    if (!this.#isPaused) this.#begin(this.positionMicros(nowMs), speed, nowMs)
  }

  /** Everything after the moment last {@link reached} becomes due `ms` later: the target cannot keep up. */
  delay(ms: number): void {
    const stretch = this.#stretchOf(this.#reached)
    const after = Math.max(stretch.after, this.#reached)
    const index = this.#stretches.indexOf(stretch) + 1
    const later = this.#stretches.splice(index).map((each) => ({ ...each, atMs: each.atMs + ms }))
    this.#stretches.push({ ...stretch, after, atMs: this.dueMs(after) + ms }, ...later)
    this.#delayedMs += ms
  }

  /** After a delay, changes of speed may lie ahead; a newer one replaces them. */
  #begin(after: number, speed: Speed, nowMs: number): void {
    this.#stretches = this.#stretches.filter(({ atMs }) => atMs <= nowMs)
    this.#stretches.push({ after, atMs: nowMs, speed, pausedMs: this.pausedMs(nowMs) })
  }

  /** The moment at which a stretch begins belongs to the one before it. */
  #stretchOf(momentMicros: number): Stretch {
    return this.#stretches.findLast(({ after }) => after < momentMicros) ?? (this.#stretches[0] as Stretch)
  }
}
