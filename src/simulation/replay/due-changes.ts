/**
 * Hands out the changes of a trace, each once it is due by the schedule, never before; changes of the schedule take
 * effect at once. A trace from a pipe ends with the requested window although the pipe has not ended.
 */
import type { Clock } from "../../clock.ts"
import { type LiveSchedule, ReplayClock, type Speed } from "../schedule/replay-clock.ts"
import type { WriteDue } from "./replay-options.ts"
import type { ReplayWindow } from "./trace-changes.ts"
import type { Upcoming, UpcomingChanges } from "./upcoming-changes.ts"

/** The changes, and the schedule as it is at the beginning. */
export interface DueChangesOptions {
  readonly upcoming: UpcomingChanges
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  /** µs since the Unix epoch: the moment that is due now. */
  readonly start: number
  readonly window: ReplayWindow
  readonly isPipe: boolean
  readonly speed: Speed
  readonly isPaused: boolean
  /** Real ms by which a change may be late before `onLag` applies. */
  readonly maximumLagMs: number
  readonly onLag: "slow" | "fail"
  /** Called for a change that is too late if `onLag` is `fail`. */
  readonly onTooLate: (lateMs: number) => void
  /** Called before each wait. */
  readonly onWait: () => void
  /** Ends waiting. */
  readonly signal: AbortSignal
}

/** A change that is due, or was late. */
interface DueChange extends WriteDue {
  readonly upcoming: Upcoming
}

/** ms for which a pipe may be silent after the end of the window: what it has for the window may be late. */
const silenceMs = 1000

/** Begins its schedule when it is constructed. Call `next` until it gives `undefined`, then `end`; the other methods at any time. */
export class DueChanges {
  readonly #options: DueChangesOptions
  readonly #schedule: ReplayClock
  /** µs at which the requested window ends. */
  readonly #limit: number
  /** Requested, and not yet made. */
  #steps = 0
  /** When the source last had something. */
  #heardMs: number
  #wake: () => void = () => undefined

  constructor(options: DueChangesOptions) {
    this.#options = options
    const { start, speed, isPaused, window, signal } = options
    const { to = Number.POSITIVE_INFINITY, duration = Number.POSITIVE_INFINITY } = window
    this.#schedule = new ReplayClock(start, speed, this.#now, isPaused)
    this.#limit = Math.min(to, start + duration)
    this.#heardMs = this.#now
    signal.addEventListener("abort", () => this.#wake(), { once: true })
  }

  /** To read. */
  get schedule(): LiveSchedule {
    return this.#schedule
  }

  /** µs: the moment of the trace that is due now. */
  get position(): number {
    return this.#schedule.positionMicros(this.#now)
  }

  /** Real ms by which the schedule was delayed because changes were too late. */
  get delayedMs(): number {
    return this.#schedule.delayedMs
  }

  get pausedMs(): number {
    return this.#schedule.pausedMs(this.#now)
  }

  pause(): void {
    this.#schedule.pause(this.#now)
    this.#wake()
  }

  resume(): void {
    this.#steps = 0
    this.#schedule.resume(this.#now)
    this.#wake()
  }

  setSpeed(speed: Speed): void {
    this.#schedule.setSpeed(speed, this.#now)
    this.#wake()
  }

  /** While it is paused: everything of the next moments that have changes is due now; after the last of them, the end of the trace. */
  step(moments: number): void {
    if (this.#schedule.isPaused) this.#steps += moments
    this.#wake()
  }

  /** The next change, once it is due; `undefined` after the last one, and once the signal is aborted. Rejects with the error of the source. */
  async next(): Promise<DueChange | undefined> {
    const { upcoming, signal } = this.#options
    while (!signal.aborted && !upcoming.isOver) {
      const { head } = upcoming
      const dueMs = head === undefined ? this.#silentUntilMs : this.#dueMs(head.change.time)
      const waitMs = dueMs - this.#now
      if (waitMs > 0) await this.#sleep(waitMs, upcoming.readAhead())
      else if (head === undefined) upcoming.cutOff(this.#limit)
      else return this.#take(head, dueMs)
    }
    return undefined
  }

  /** After the last change: resolves when the end of the trace is due, or the signal is aborted. */
  async end(): Promise<void> {
    const { upcoming, signal } = this.#options
    for (;;) {
      const waitMs = this.#dueMs(upcoming.end) - this.#now
      if (signal.aborted || waitMs <= 0) return
      await this.#sleep(waitMs, undefined)
    }
  }

  /** Without a schedule a change is due when its turn comes. What is late stays late, also if the rest is delayed for it. */
  #take(head: Upcoming, dueMs: number): DueChange {
    const { time } = head.change
    this.#options.upcoming.take()
    this.#heardMs = this.#now
    const isTimed = this.#schedule.isTimed(time)
    const { delayedMs } = this.#schedule
    this.#schedule.reached(time)
    if (isTimed) this.#keepUp(this.#now - dueMs)
    const plannedMs = isTimed ? dueMs - delayedMs : Number.NaN
    const pausedMs = this.#schedule.pausedBeforeMs(time)
    return { upcoming: head, dueMs: isTimed ? dueMs : this.#now, plannedMs, pausedMs }
  }

  #keepUp(lateMs: number): void {
    const { maximumLagMs, onLag, onTooLate } = this.#options
    if (lateMs <= maximumLagMs) return
    if (onLag === "slow") this.#schedule.delay(lateMs)
    else onTooLate(lateMs)
  }

  /** Monotonic ms; a step may make the moment due. */
  #dueMs(moment: number): number {
    if (this.#steps > 0 && this.#schedule.dueMs(moment) === Number.POSITIVE_INFINITY) {
      this.#steps--
      this.#schedule.step(moment, this.#now)
    }
    return this.#schedule.dueMs(moment)
  }

  /** Until when a pipe that has nothing at the moment is waited for: monotonic ms. */
  get #silentUntilMs(): number {
    const isEndless = !this.#options.isPipe || this.#limit === Number.POSITIVE_INFINITY
    if (isEndless || !this.#schedule.isTimed(this.#limit)) return Number.POSITIVE_INFINITY
    return Math.max(this.#schedule.dueMs(this.#limit), this.#heardMs) + silenceMs
  }

  /** Until the time has passed, more of the trace was read, the schedule has changed, or the signal is aborted. */
  async #sleep(ms: number, reading: Promise<void> | undefined): Promise<void> {
    const { clock, signal, onWait } = this.#options
    onWait()
    let cancel = (): void => undefined
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
      if (signal.aborted) return resolve()
      if (ms === Number.POSITIVE_INFINITY) return
      const timer = clock.after(ms, resolve)
      cancel = () => timer.cancel()
    })
    try {
      if (reading === undefined) await woken
      else if ((await Promise.race([woken, reading.then(() => "heard")])) === "heard") this.#heardMs = this.#now
    } finally {
      cancel()
    }
  }

  get #now(): number {
    return this.#options.clock.monotonicMs()
  }
}
