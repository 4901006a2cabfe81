/**
 * Reads a trace ahead of its replay and learns the lives of its pods: a pod of the replay needs to know, when it is created, what its
 * recorded counterpart does later, and SimKube's format has all lives at the end of the file.
 *
 * It reads in the background: for the first second as fast as it can, then at most half of the time, so that the replay's own events are
 * not late. It keeps nothing but lives. What goes wrong ends only the scouting; the replay reads the same trace and reports the same.
 */
import type { Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { TraceItem } from "../../trace/trace-item.ts"
import { LifeLearner, type LifeSource, type SourceEnvironment } from "./life-source.ts"
import type { RecordedLives } from "./recorded-lives.ts"

/** ms for which nothing else has the processor before. */
const headStartMs = 1000

/** Lives from a second reading of the trace. `isFinished` once it was read to its end, or has failed. */
export class LifeScout implements LifeSource {
  readonly #open: (signal: AbortSignal) => Promise<AsyncIterable<Iterable<TraceItem>>>
  readonly #learner = new LifeLearner()
  #environment: SourceEnvironment | undefined
  #reading: Promise<void> = Promise.resolve()
  #isFinished = false
  readonly #closing = new AbortController()
  #wake: () => void = () => undefined

  /** `open`: the same trace once more, from its start; the signal ends the reading, which would otherwise hold the lives while it waits. */
  constructor(open: (signal: AbortSignal) => Promise<AsyncIterable<Iterable<TraceItem>>>) {
    this.#open = open
  }

  get lives(): RecordedLives {
    return this.#learner.lives
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  pods(until: number): number {
    return this.#learner.pods(until)
  }

  begin(startMicros: number, environment: SourceEnvironment): void {
    this.#environment = environment
    this.#learner.startMicros = startMicros
    this.#reading = this.#run(environment)
  }

  async waitFor(ms: number): Promise<void> {
    const environment = this.#environment
    if (this.#isFinished || ms <= 0 || environment === undefined) return
    let timer: Timer | undefined
    const late = new Promise<void>((resolve) => {
      timer = environment.clock.after(ms, resolve)
    })
    await Promise.race([this.#reading, late])
    timer?.cancel()
  }

  /** Does not wait for a read under way: what the trace comes from may be silent. */
  close(): void {
    this.#closing.abort()
    this.#wake()
  }

  async #run(environment: SourceEnvironment): Promise<void> {
    const { onProblem } = environment
    try {
      await this.#read(environment)
      const { count, isFull } = this.lives
      if (isFull) onProblem(`the trace has more than ${count} lives of pods: later pods live as the cluster decides`)
    } catch (error) {
      if (!this.#closing.signal.aborted) onProblem(`not all lives of pods could be read: ${messageOf(error)}`)
    } finally {
      this.#isFinished = true
    }
  }

  async #read({ clock }: SourceEnvironment): Promise<void> {
    const beganMs = clock.monotonicMs()
    for await (const chunk of await this.#open(this.#closing.signal)) {
      const chunkMs = clock.monotonicMs()
      for (const item of chunk) this.#learner.learn(item)
      const nowMs = clock.monotonicMs()
      if (this.#closing.signal.aborted) return
      if (nowMs - beganMs < headStartMs) await new Promise(setImmediate)
      else await this.#rest(Math.max(1, nowMs - chunkMs), clock)
      if (this.#closing.signal.aborted) return
    }
  }

  #rest(ms: number, clock: SourceEnvironment["clock"]): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(ms, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
  }
}
