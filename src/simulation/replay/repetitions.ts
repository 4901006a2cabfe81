/**
 * A trace that is replayed several times, controlled as one run: each repetition starts with the state at the start
 * again. None follows one that was stopped, that failed, or whose removal left something.
 */

import type { ReplayReport } from "../report/replay-report.ts"
import type { Speed } from "../schedule/replay-clock.ts"
import { Replay, type ReplayOptions } from "./replay.ts"
import type { ReplayWitness } from "./replay-options.ts"

/** Options of every repetition, and how many there are. */
export interface RepetitionsOptions extends Omit<ReplayOptions, "items" | "startsPaused" | "witness"> {
  /** How many; `Infinity`: until it is stopped. `keep` concerns the last one. */
  readonly repetitions: number
  /** The trace from its beginning; called once for each repetition. The signal is aborted when the repetition is over: nothing reads on. */
  readonly open: (signal: AbortSignal) => Promise<ReplayOptions["items"]>
  /** Runs each repetition with a witness, and adds to its report what that found. Default: without. */
  readonly judged?: (replay: (witness: ReplayWitness) => Promise<ReplayReport>) => Promise<ReplayReport>
  /** Gets the report of each repetition when it has ended. */
  readonly onRepetition: (report: ReplayReport) => void
}

/** One run of one or more repetitions. */
export class Repetitions {
  readonly #options: RepetitionsOptions
  #replay: Replay | undefined
  #speed: Speed
  #isPaused = false
  #number = 0
  /** The next repetition is being opened: what is asked for now is for that one. */
  #isOpening = false
  #hasFailed = false
  /** Requested before or between repetitions. */
  #steps = 0

  constructor(options: RepetitionsOptions) {
    this.#options = options
    this.#speed = options.speed
  }

  /** `Infinity`: until it is stopped. */
  get repetitions(): number {
    return this.#options.repetitions
  }

  /** From 1; 0 before the first. */
  get number(): number {
    return this.#number
  }

  /** The repetition under way, or the last one. */
  get current(): Replay | undefined {
    return this.#replay
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  get speed(): Speed {
    return this.#speed
  }

  /** See {@link Replay.pause}. */
  pause(): void {
    this.#isPaused = true
    this.#replay?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#steps = 0
    this.#replay?.resume()
  }

  setSpeed(speed: Speed): void {
    this.#speed = speed
    this.#replay?.setSpeed(speed)
  }

  /** See {@link Replay.step}. Before the first repetition and between two it takes effect in the next one. */
  step(moments = 1): void {
    if (this.#hasMoments) this.#replay?.step(moments)
    else if (this.#isPaused && !this.isOver) this.#steps += moments
  }

  /** The last repetition is at the end of its trace: there is nothing that a step could go to. */
  get isOver(): boolean {
    return this.#replay !== undefined && !this.#hasMoments && !this.#hasNext
  }

  /** Whether the repetition under way has moments that are not yet due. */
  get #hasMoments(): boolean {
    return this.#replay?.isOver === false && !this.#isOpening
  }

  /** Whether another repetition follows, as far as is known. */
  get #hasNext(): boolean {
    const { repetitions, signal } = this.#options
    if (this.#hasFailed || signal.aborted) return false
    return this.#isOpening || this.#number < repetitions
  }

  /** The reports, one for each repetition. Rejects with what {@link Replay.run} and `open` reject with. Call it once. */
  async run(): Promise<ReadonlyArray<ReplayReport>> {
    const { onRepetition } = this.#options
    const reports: ReplayReport[] = []
    do {
      const report = await this.#repeat()
      reports.push(report)
      onRepetition(report)
      this.#hasFailed ||= report.stopped !== null
    } while (this.#hasNext)
    return reports
  }

  async #repeat(): Promise<ReplayReport> {
    const { open, judged } = this.#options
    this.#isOpening = true
    this.#number++
    const reading = new AbortController()
    try {
      const items = await open(reading.signal)
      const once = (witness?: ReplayWitness): Promise<ReplayReport> => {
        this.#replay = new Replay(this.#optionsOf(items, witness))
        this.#isOpening = false
        if (this.#steps > 0) this.#replay.step(this.#steps)
        this.#steps = 0
        return this.#replay.run()
      }
      return await (judged === undefined ? once() : judged(once))
    } finally {
      reading.abort()
    }
  }

  #optionsOf(items: ReplayOptions["items"], witness: ReplayWitness | undefined): ReplayOptions {
    const { keep, repetitions, onRemovalFailed, signal } = this.#options
    const isLast = this.#number >= repetitions
    return {
      ...this.#options,
      items,
      ...(witness !== undefined && { witness }),
      speed: this.#speed,
      startsPaused: this.#isPaused,
      // Asked for at the end: one that is interrupted is the last.
      get keep() {
        return keep && (isLast || signal.aborted)
      },
      onRemovalFailed: (error) => {
        this.#hasFailed = true
        onRemovalFailed(error)
      },
    }
  }
}
