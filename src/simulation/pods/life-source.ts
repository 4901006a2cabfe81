/** Where the lives of a trace's pods come from. */
import type { Clock } from "../../clock.ts"
import { pause } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import {
  isJsonObject,
  MalformedJsonError,
  type PodLifecycle,
  parseExactJson,
  podKind,
  readTrackedObjects,
  type TraceItem,
  type TrackedObjects,
} from "../../trace/index.ts"
import { ObservedLives } from "./observed-lives.ts"
import { type RecordedLife, RecordedLives } from "./recorded-lives.ts"

// Whether a trace may have lives of pods, by what it says about itself at its beginning.

/** What a trace says about itself before its first event. */
export interface TraceFacts {
  /** GVKs that the trace says it has; empty if it does not say. */
  readonly kinds: ReadonlyArray<string>
  /** The trace says that it has lifecycles of pods, whatever its kinds. */
  readonly hasLifecycles: boolean
  /** SimKube's configurations in the trace, as JSON. */
  readonly configurations: ReadonlyArray<Uint8Array>
}

/** A trace without pods needs no webhook, which would cost each pod's creation a request. */
export const mayHaveLives = ({ kinds, hasLifecycles, configurations }: TraceFacts): boolean => {
  if (hasLifecycles) return true
  if (kinds.length > 0) return kinds.includes(podKind)
  const tracked = configurations.flatMap((bytes) => [...trackedIn(bytes)])
  return tracked.length === 0 || tracked.some(([gvk, { trackLifecycle }]) => trackLifecycle || gvk === podKind)
}

/** Empty if it cannot be read, as for the rest of the replay. */
const trackedIn = (bytes: Uint8Array): TrackedObjects => {
  try {
    const value = parseExactJson(bytes)
    return readTrackedObjects(isJsonObject(value) ? value.trackedObjects : undefined) ?? new Map()
  } catch (error) {
    if (error instanceof MalformedJsonError) return new Map()
    throw error
  }
}

/** What a source needs of the run. */
interface SourceEnvironment {
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  /** Gets one sentence about what limits the knowledge. */
  readonly onProblem: (problem: string) => void
}

/** For one run of a replay. */
export abstract class LifeSource {
  readonly lives = new RecordedLives()
  readonly #observed = new ObservedLives(this.lives)
  #startMicros = 0
  /** µs: starts of lives that the trace tells without their pods. */
  readonly #lived: number[] = []
  #isFinished = false

  /** Whether nothing more will be learnt. */
  get isFinished(): boolean {
    return this.#isFinished
  }

  /**
   * Pods that the trace has from the first moment that is replayed until another one (µs since the Unix epoch), as far as it was read: those that the
   * replay or the target's controllers create. Lives without their pods are those that had not ended at the first moment.
   */
  pods(until: number): number {
    return this.#lived.length > 0 ? this.#lived.filter((start) => start < until).length : this.#observed.count(until)
  }

  /** Starts learning. `startMicros`: the first moment that is replayed, µs since the Unix epoch. Call it once. */
  begin(startMicros: number, _environment: SourceEnvironment): void {
    this.#startMicros = startMicros
    this.#observed.startMs = startMicros / 1000
  }

  /** Resolves when everything is known, or after `ms`, or at once if waiting is of no use. */
  abstract waitFor(ms: number): Promise<void>

  /** Nothing more is learnt. */
  close(): void {
    this.#isFinished = true
  }

  /** Takes items of the trace in their order. */
  protected learn(item: TraceItem): void {
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
export class PassingLives extends LifeSource {
  /** The same items. */
  async *items(source: AsyncIterable<Iterable<TraceItem>>): AsyncGenerator<Iterable<TraceItem>, void> {
    try {
      for await (const chunk of source) yield this.#passed(chunk)
    } finally {
      this.close()
    }
  }

  override begin(startMicros: number, environment: SourceEnvironment): void {
    super.begin(startMicros, environment)
    environment.onProblem(
      "this trace can be read only once: how long a pod runs is known when its end is read, and its start-up only if it was read before; a file has no such limit",
    )
  }

  override waitFor(): Promise<void> {
    return Promise.resolve()
  }

  *#passed(chunk: Iterable<TraceItem>): Generator<TraceItem, void> {
    for (const item of chunk) {
      this.learn(item)
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

// Reads a trace ahead of its replay and learns the lives of its pods: a pod of the replay needs to know, when it is created, what its
// recorded counterpart does later, and SimKube's format has all lives at the end of the file.

/** ms for which nothing else has the processor before. */
const headStartMs = 1000

/** Lives from a second reading of the trace. `isFinished` once it was read to its end, or has failed. */
export class LifeScout extends LifeSource {
  readonly #open: (signal: AbortSignal) => Promise<AsyncIterable<Iterable<TraceItem>>>
  #environment: SourceEnvironment | undefined
  #reading: Promise<void> = Promise.resolve()
  readonly #closing = new AbortController()

  /** `open`: the same trace once more, from its start; the signal ends the reading, which would otherwise hold the lives while it waits. */
  constructor(open: (signal: AbortSignal) => Promise<AsyncIterable<Iterable<TraceItem>>>) {
    super()
    this.#open = open
  }

  override begin(startMicros: number, environment: SourceEnvironment): void {
    super.begin(startMicros, environment)
    this.#environment = environment
    this.#reading = this.#run(environment)
  }

  override async waitFor(ms: number): Promise<void> {
    const environment = this.#environment
    if (this.isFinished || ms <= 0 || environment === undefined) return
    const over = new AbortController()
    await Promise.race([this.#reading, pause(environment.clock, ms, over.signal)])
    over.abort()
  }

  /** Does not wait for a read under way: what the trace comes from may be silent. */
  override close(): void {
    this.#closing.abort()
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
      super.close()
    }
  }

  async #read({ clock }: SourceEnvironment): Promise<void> {
    const beganMs = clock.monotonicMs()
    for await (const chunk of await this.#open(this.#closing.signal)) {
      const chunkMs = clock.monotonicMs()
      for (const item of chunk) this.learn(item)
      const nowMs = clock.monotonicMs()
      if (this.#closing.signal.aborted) return
      if (nowMs - beganMs < headStartMs) await new Promise(setImmediate)
      else await pause(clock, Math.max(1, nowMs - chunkMs), this.#closing.signal)
      if (this.#closing.signal.aborted) return
    }
  }
}
