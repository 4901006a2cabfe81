/**
 * The recorder of one shard on this replica: there is at most one process; it is started while the shard is this replica's, again after a pause if it ends by
 * itself, and is ended, at last by force, once the shard is not.
 */
import type { Clock, Timer } from "../clock.ts"
import { BackOff } from "../runtime/index.ts"
import type { ShardEnd, ShardListener, ShardMessage, ShardProcess } from "./shard-process.ts"

/** ms from SIGTERM to SIGKILL: a recorder ends in less than 15 s. */
const graceMs = 30_000

const restarts = { initialMs: 1000, maximumMs: 60_000, factor: 2, jitter: 0.2, resetAfterMs: 300_000 } as const

interface ShardOptions {
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly start: (listener: ShardListener) => ShardProcess
  readonly line: (text: string) => void
  readonly heard: (message: ShardMessage) => void
  /** After each end; `pauseMs`: before the next one starts, if none told it to end. */
  readonly ended: (end: ShardEnd, pauseMs: number | undefined) => void
}

export class Shard {
  readonly #options: ShardOptions
  readonly #backOff: BackOff
  /** What it has said since it was started. */
  said: ShardMessage = {}
  /** Ends that were not asked for. */
  ends = 0
  /** Monotonic ms of the last message; `undefined`: it has not begun. A machine that is too busy to start it in time needs no further start. */
  heardMs: number | undefined
  #isOwned = false
  #process: ShardProcess | undefined
  #isEnding = false
  /** Ends the pause before the next process, or the patience with one that is to end. */
  #timer: Timer | undefined

  constructor(options: ShardOptions) {
    this.#options = options
    this.#backOff = new BackOff(restarts, options.random)
  }

  /** Whether there is a process, which was not told to end. */
  get isRunning(): boolean {
    return this.#process !== undefined && !this.#isEnding
  }

  /** Whether it is neither this replica's nor has a process. */
  get isNone(): boolean {
    return !this.#isOwned && this.#process === undefined
  }

  /** Says whose it is. */
  own(isOwned: boolean): void {
    this.#isOwned = isOwned
    if (isOwned) this.#start()
    else if (this.#process === undefined) this.#setTimer(undefined)
    else if (!this.#isEnding) {
      this.#isEnding = true
      this.signal("SIGTERM")
      this.#setTimer(this.#options.clock.after(graceMs, () => this.signal("SIGKILL")))
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.signal(name)
  }

  /** Unless there is a process, or a pause. */
  #start(): void {
    if (this.#process !== undefined || this.#timer !== undefined) return
    const { clock, start, line, heard } = this.#options
    this.said = {}
    this.heardMs = undefined
    this.#process = start({
      line,
      heard: (message) => {
        this.said = { ...this.said, ...message }
        this.heardMs = clock.monotonicMs()
        heard(message)
      },
      ended: (end) => this.#ended(end),
    })
  }

  #ended(end: ShardEnd): void {
    const { clock, ended } = this.#options
    const pauseMs = this.#backOff.next(clock.monotonicMs())
    const isToldTo = this.#isEnding
    this.#process = undefined
    this.#isEnding = false
    if (!isToldTo) this.ends++
    const goOn = (): void => {
      this.#setTimer(undefined)
      if (this.#isOwned) this.#start()
    }
    if (isToldTo) goOn()
    else this.#setTimer(clock.after(pauseMs, goOn))
    ended(end, isToldTo ? undefined : pauseMs)
  }

  #setTimer(timer: Timer | undefined): void {
    this.#timer?.cancel()
    this.#timer = timer
  }
}
