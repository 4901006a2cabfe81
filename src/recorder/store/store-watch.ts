/**
 * Notices from another thread that the store is silent: a file system that hangs keeps the store's thread inside one system call, so it cannot
 * report that itself, nor be asked for its figures.
 *
 * It is asked for them every second. Until it responds, metrics and readiness show its last figures and their age. Time in which the machine
 * did not run this thread either is not counted: it says nothing about the store.
 */
import type { Clock, Timer } from "../../clock.ts"

/** The figures of the store that the watch reads. */
interface StoreFigures {
  /** ms since the sync began that has not ended yet; 0: none runs. */
  readonly syncingMs: number
}

/** ms between two questions. */
export const askEveryMs = 1000

/**
 * ms without an answer after which the store counts as silent: seen within 5 s of its last answer. A commit takes some ms; one of 1 MiB on a slow disk
 * took 0.4 s.
 */
export const silentAfterMs = 4000

interface StoreWatchOptions<Figures> {
  readonly clock: Clock
  /** Rejects, or resolves with `undefined`, if the store cannot be asked. */
  readonly ask: () => Promise<Figures | undefined>
  /** Called with the reason when the store falls silent, and with `undefined` when it answers again. */
  readonly onChange: (trouble: string | undefined) => void
}

export class StoreWatch<Figures extends StoreFigures> {
  readonly #options: StoreWatchOptions<Figures>
  #timer: Timer | undefined
  #isAsking = false
  #lastAnswerMs: number
  #last: Figures | undefined
  #trouble: string | undefined

  constructor(options: StoreWatchOptions<Figures>) {
    this.#options = options
    this.#lastAnswerMs = options.clock.monotonicMs()
  }

  start(): void {
    this.#lastAnswerMs = this.#options.clock.monotonicMs()
    this.#ask()
    this.#tickLater()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** A new life of the store has begun, which counts as an answer. */
  began(): void {
    this.#last = undefined
    this.#lastAnswerMs = this.#options.clock.monotonicMs()
    this.#judge()
  }

  /** ms since the store last answered. */
  get ageMs(): number {
    return this.#options.clock.monotonicMs() - this.#lastAnswerMs
  }

  /** What its present life answered last; `undefined` if it has not answered yet. */
  get last(): Figures | undefined {
    return this.#last
  }

  /** Why nothing is written as far as can be seen from here; `undefined` if the store answers. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  #tickLater(): void {
    const { clock } = this.#options
    const due = clock.monotonicMs() + askEveryMs
    this.#timer = clock.after(askEveryMs, () => {
      const lateMs = clock.monotonicMs() - due
      if (lateMs > askEveryMs) this.#lastAnswerMs += lateMs
      this.#ask()
      this.#judge()
      this.#tickLater()
    })
  }

  #ask(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    this.#options
      .ask()
      .then(
        (figures) => this.#heard(figures),
        () => this.#heard(undefined),
      )
      .finally(() => {
        this.#isAsking = false
      })
  }

  #heard(figures: Figures | undefined): void {
    if (figures === undefined || this.#timer === undefined) return
    this.#last = figures
    this.#lastAnswerMs = this.#options.clock.monotonicMs()
    this.#judge()
  }

  #judge(): void {
    const syncingMs = this.#last?.syncingMs ?? 0
    if (this.ageMs >= silentAfterMs) this.#set("the store does not respond, as when its disk hangs.")
    else if (syncingMs >= silentAfterMs) this.#set("the disk does not finish a sync.")
    else this.#set(undefined)
  }

  #set(trouble: string | undefined): void {
    if (this.#trouble === trouble) return
    this.#trouble = trouble
    this.#options.onChange(trouble)
  }
}
