/**
 * A queue of keys with the guarantees of client-go's work queue, and the workers that process them.
 *
 * - A key is queued at most once, and never processed twice at the same time; one that is added while it is processed is processed once more. So every
 *   `add` is followed by a run that started after it, unless the queue is closed first.
 * - A run that fails is repeated after the delay of a {@link RetryPace}; one that succeeds forgets the key's failures. Of several pending delays of a key
 *   the earliest counts.
 *
 * Keys added together are processed together, shortly afterwards and never in the middle of the code that added them.
 */
import type { Clock, Timer } from "../../clock.ts"
import { RetryPace } from "./rate-limiter.ts"

export interface WorkQueueOptions {
  readonly clock: Clock
  /** In [0, 1), for the delays of retries. Default `Math.random`. */
  readonly random?: () => number
  /** Rejections and exceptions are failures. A run that returns no promise is done when it returns. */
  readonly process: (key: string) => Promise<void> | void
  /** Keys processed at once. Default 5, the real controllers' number of workers. */
  readonly concurrency?: number
  /** Consecutive failures after which a key is dropped until it is added again; a function is asked at each failure. Default: never dropped; 0: no retries. */
  readonly maximumRetries?: number | ((error: unknown, key: string) => number)
  /** Called for every failure, before the retry. `attempt`: consecutive failures, from 1. `againMs`: until the retry; `undefined`: there is none. */
  readonly onError?: (key: string, error: unknown, attempt: number, againMs: number | undefined) => void
  /**
   * When keys added to an idle queue are processed. Default `microtask`: as soon as the code that added them is done. `timer`:
   * in a timer of 0 ms, so that a test's clock decides.
   */
  readonly start?: "microtask" | "timer"
}

export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #limiter: RetryPace
  /** Keys added since the last start, and keys to be processed now, oldest first, each with the ms at which it was added. */
  #added = new Map<string, number>()
  readonly #ready = new Map<string, number>()
  /** Keys being processed, with the ms at which the run began. */
  readonly #running = new Map<string, number>()
  /** Keys added while they were being processed. */
  readonly #again = new Set<string>()
  readonly #delayed = new Map<string, { readonly at: number; readonly timer: Timer }>()
  readonly #statistics = noStatistics()
  #start: Timer | "microtask" | undefined
  #isWorking = false
  #isClosed = false
  #idle: Array<() => void> = []

  constructor(options: WorkQueueOptions) {
    this.#options = options
    this.#limiter = new RetryPace(options.clock, options.random ?? Math.random)
  }

  /** Keys waiting or being processed, without delayed ones. */
  get depth(): number {
    return this.#added.size + this.#ready.size + this.#running.size
  }

  /** A copy of the counters, with the current depths. */
  get statistics(): QueueStatistics {
    const now = this.#options.clock.monotonicMs()
    const longestRunningMs = Math.max(0, ...[...this.#running.values()].map((began) => now - began))
    return { ...this.#statistics, depth: this.depth, delayed: this.#delayed.size, longestRunningMs }
  }

  add(key: string): void {
    if (this.#isClosed) return
    this.#statistics.adds++
    this.#queue(key)
  }

  /** Adds after `delayMs`; if a key has several pending delays, the earliest counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isClosed) return
    if (delayMs <= 0) return this.add(key)
    const at = this.#options.clock.monotonicMs() + delayMs
    const pending = this.#delayed.get(key)
    if (pending !== undefined && pending.at <= at) return
    pending?.timer.cancel()
    const timer = this.#options.clock.after(delayMs, () => {
      this.#delayed.delete(key)
      this.add(key)
    })
    this.#delayed.set(key, { at, timer })
  }

  /** Adds as after a failure: with the delay of a {@link RetryPace}, which grows with each call until the key succeeds. */
  addRateLimited(key: string): void {
    if (!this.#isClosed) this.#retry(key, this.#limiter.delayMs(key))
  }

  #retry(key: string, ms: number): void {
    this.#statistics.retries++
    this.addAfter(key, ms)
  }

  /** Takes no more keys, drops waiting ones, and resolves when running ones are done. */
  async close(): Promise<void> {
    this.#added.clear()
    this.#ready.clear()
    this.#again.clear()
    await this.drain()
  }

  /**
   * Takes no more keys, drops delayed ones, processes those that are queued or were added during their own run, and
   * resolves when all are done. A run that fails now is not retried.
   */
  drain(): Promise<void> {
    this.#isClosed = true
    for (const { timer } of this.#delayed.values()) timer.cancel()
    this.#delayed.clear()
    if (this.depth === 0) {
      this.#cancelStart()
      return Promise.resolve()
    }
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #queue(key: string): void {
    if (this.#running.has(key)) {
      this.#again.add(key)
      return
    }
    if (this.#ready.has(key) || this.#added.has(key)) return
    this.#added.set(key, this.#options.clock.monotonicMs())
    if (this.#start !== undefined) return
    if (this.#options.start === "timer") this.#start = this.#options.clock.after(0, () => this.#begin())
    else {
      this.#start = "microtask"
      queueMicrotask(() => this.#begin())
    }
  }

  #cancelStart(): void {
    if (typeof this.#start === "object") this.#start.cancel()
    this.#start = undefined
  }

  #begin(): void {
    this.#start = undefined
    for (const [key, at] of this.#added) this.#ready.set(key, at)
    this.#added.clear()
    this.#work()
  }

  /** Not re-entered by processors that are done when they return: the loop then continues by itself. */
  #work(): void {
    if (this.#isWorking) return
    this.#isWorking = true
    const { concurrency = 5 } = this.#options
    try {
      while (this.#running.size < concurrency) {
        const next = this.#ready.entries().next().value
        if (next === undefined) break
        this.#ready.delete(next[0])
        this.#run(...next)
      }
    } finally {
      this.#isWorking = false
    }
    if (this.#isClosed && this.depth === 0) for (const done of this.#idle.splice(0)) done()
  }

  #run(key: string, addedAt: number): void {
    const began = this.#options.clock.monotonicMs()
    this.#statistics.waitedMs += began - addedAt
    this.#statistics.longestWaitMs = Math.max(this.#statistics.longestWaitMs, began - addedAt)
    // Before the processor is called: it may add its own key.
    this.#running.set(key, began)
    let outcome: Promise<void> | void
    try {
      outcome = this.#options.process(key)
    } catch (error) {
      return this.#failed(key, error)
    }
    if (outcome === undefined) this.#succeeded(key)
    else
      outcome.then(
        () => this.#succeeded(key),
        (error: unknown) => this.#failed(key, error),
      )
  }

  #succeeded(key: string): void {
    this.#limiter.forget(key)
    this.#done(key)
  }

  #failed(key: string, error: unknown): void {
    const { maximumRetries: given = Number.POSITIVE_INFINITY, onError } = this.#options
    const maximumRetries = typeof given === "number" ? given : given(error, key)
    this.#statistics.failures++
    const attempt = this.#limiter.failures(key) + 1
    const againMs = this.#isClosed || attempt > maximumRetries ? undefined : this.#limiter.delayMs(key)
    try {
      onError?.(key, error, attempt, againMs)
    } finally {
      if (attempt > maximumRetries) this.#limiter.forget(key)
      if (againMs !== undefined) this.#retry(key, againMs)
      this.#done(key)
    }
  }

  #done(key: string): void {
    const began = this.#running.get(key) ?? 0
    const tookMs = this.#options.clock.monotonicMs() - began
    this.#statistics.runs++
    this.#statistics.workedMs += tookMs
    this.#statistics.longestRunMs = Math.max(this.#statistics.longestRunMs, tookMs)
    this.#running.delete(key)
    if (this.#again.delete(key)) this.#queue(key)
    this.#work()
  }
}

/** Counters since the queue was made. */
interface QueueCounters {
  /** Keys added, including those that were queued already. */
  adds: number
  /** Runs that ended, successful or not. */
  runs: number
  /** Runs that failed. */
  failures: number
  /** Keys added again after a failure. */
  retries: number
  /** ms that keys waited between being added and being processed: sum and maximum. */
  waitedMs: number
  longestWaitMs: number
  /** ms that runs took: sum and maximum. */
  workedMs: number
  longestRunMs: number
}

export interface QueueStatistics extends Readonly<QueueCounters> {
  /** Keys waiting or being processed now. */
  readonly depth: number
  /** Delayed keys. */
  readonly delayed: number
  /** ms since the oldest current run began; 0 without one. */
  readonly longestRunningMs: number
}

export const noStatistics = (): QueueCounters => ({
  adds: 0,
  runs: 0,
  failures: 0,
  retries: 0,
  waitedMs: 0,
  longestWaitMs: 0,
  workedMs: 0,
  longestRunMs: 0,
})

/** Of a queue and one that came after it: counters are added; what describes the present is that of `now`. */
export const sumOf = (past: QueueStatistics, now: QueueStatistics): QueueStatistics => ({
  adds: past.adds + now.adds,
  runs: past.runs + now.runs,
  failures: past.failures + now.failures,
  retries: past.retries + now.retries,
  waitedMs: past.waitedMs + now.waitedMs,
  longestWaitMs: Math.max(past.longestWaitMs, now.longestWaitMs),
  workedMs: past.workedMs + now.workedMs,
  longestRunMs: Math.max(past.longestRunMs, now.longestRunMs),
  depth: now.depth,
  delayed: now.delayed,
  longestRunningMs: now.longestRunningMs,
})
