/** Where the lives of a trace's pods come from. */
import type { Clock } from "../../clock.ts"
import type { PodLifecycle } from "../../trace/formats/simkube/simkube-trace.ts"
import type { TraceItem } from "../../trace/trace-item.ts"
import { ObservedLives } from "./observed-lives.ts"
import { type RecordedLife, RecordedLives } from "./recorded-lives.ts"

/** For one run of a replay. */
export interface LifeSource {
  readonly lives: RecordedLives
  /** Whether nothing more will be learnt. */
  readonly isFinished: boolean
  /**
   * Pods that the trace has from the first moment that is replayed until another one (µs since the Unix epoch), as far as it was read: those that the
   * replay or the target's controllers create.
   */
  pods(until: number): number
  /** Starts learning. `startMicros`: the first moment that is replayed, µs since the Unix epoch. Call it once. */
  begin(startMicros: number, environment: SourceEnvironment): void
  /** Resolves when everything is known, or after `ms`, or at once if waiting is of no use. */
  waitFor(ms: number): Promise<void>
  /** Nothing more is learnt. */
  close(): void
}

/** What a source needs of the run. */
export interface SourceEnvironment {
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  /** Gets one sentence about what limits the knowledge. */
  readonly onProblem: (problem: string) => void
}

/** Learns from items of a trace, in their order. */
export class LifeLearner {
  readonly lives = new RecordedLives()
  readonly #observed = new ObservedLives(this.lives)
  #startMicros = 0
  /** µs: starts of lives that the trace tells without their pods. */
  readonly #lived: number[] = []

  set startMicros(micros: number) {
    this.#startMicros = micros
    this.#observed.startMs = micros / 1000
  }

  /** See {@link LifeSource.pods}. Lives without their pods are those that had not ended at the first moment. */
  pods(until: number): number {
    return this.#lived.length > 0 ? this.#lived.filter((start) => start < until).length : this.#observed.count(until)
  }

  learn(item: TraceItem): void {
    if (item.type === "event") {
      if (item.event.type === "object") this.#observed.observe(item.event, item.isSnapshot)
      return
    }
    if (item.type !== "lifecycles") return
    const owner = `${item.gvk} ${item.owner}`
    for (const [hash, pods] of item.pods)
      for (const [index, pod] of pods.entries()) {
        this.lives.add(owner, hash, lifeOf(pod, this.#startMicros), index)
        const hasEnded = pod.state === "finished" && pod.end * 1_000_000 < this.#startMicros
        if (pod.state !== "empty" && !hasEnded) this.#lived.push(pod.start * 1_000_000)
      }
  }
}

/**
 * The trace as it is read by the replay itself, for one that cannot be read twice: it is known what has been read, and ends are known when
 * they are due.
 */
export class PassingLives implements LifeSource {
  readonly #learner = new LifeLearner()
  #isFinished = false

  get lives(): RecordedLives {
    return this.#learner.lives
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  pods(until: number): number {
    return this.#learner.pods(until)
  }

  /** The same items. */
  async *items(source: AsyncIterable<Iterable<TraceItem>>): AsyncGenerator<Iterable<TraceItem>, void> {
    try {
      for await (const chunk of source) yield this.#passed(chunk)
    } finally {
      this.#isFinished = true
    }
  }

  begin(startMicros: number, { onProblem }: SourceEnvironment): void {
    this.#learner.startMicros = startMicros
    onProblem(
      "this trace can be read only once: how long a pod runs is known when its end is read, and its start-up only if it was read before; a file has no such limit",
    )
  }

  waitFor(): Promise<void> {
    return Promise.resolve()
  }

  close(): void {
    this.#isFinished = true
  }

  *#passed(chunk: Iterable<TraceItem>): Generator<TraceItem, void> {
    for (const item of chunk) {
      this.#learner.learn(item)
      yield item
    }
  }
}

/** SimKube's format has whole seconds, and does not tell a pod that was deleted from one that ended; its driver ends both. */
const lifeOf = (pod: PodLifecycle, startMicros: number): RecordedLife => {
  const unknown = { startMs: undefined, readyMs: undefined, runMs: undefined, exitCode: 0, restarts: 0 }
  if (pod.state !== "finished") return unknown
  const start = Math.floor(startMicros / 1_000_000)
  // Of a pod that runs at the start of the replay, the rest is left.
  const from = pod.start < start && pod.end > start ? start : pod.start
  return { ...unknown, runMs: (pod.end - from) * 1000 }
}
