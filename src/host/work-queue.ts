/**
 * A queue of keys with the guarantees of client-go's work queue, and the workers that empty it.
 *
 * - A key is queued at most once, however often it is added: the queue is bounded by the number of keys, and keys are taken in
 *   the order in which they came.
 * - A key is never in work twice at the same time. One that is added while it is in work is worked on once more afterwards, however
 *   often it was added.
 * - So every `add` is followed by a run that began after it, unless the queue is closed before.
 * - A run that fails is repeated after the delay of the rate limiter; one that succeeds forgets the key's failures. Of several
 *   delays of a key the earliest counts, and a run that begins before does not cancel it.
 * - {@link WorkQueue.close} waits for what is in work; {@link WorkQueue.drain} also works off what is queued first.
 *
 * Keys that are added together are worked on together, a moment later: never in the middle of what added them.
 */

import type { Clock, Timer } from "../clock.ts"
import { noStatistics, type QueueStatistics } from "./queue-statistics.ts"
import { controllerRateLimiter, type RateLimiter } from "./rate-limiter.ts"

export interface WorkQueueOptions {
  readonly clock: Clock
  /** In [0, 1), for the default rate limiter. Default `Math.random`. */
  readonly random?: () => number
  /** Rejections and exceptions are failures. What returns without a promise is done when it returns. */
  readonly process: (key: string) => Promise<void> | void
  /** Keys in work at once. Default 5, the real controllers' number of workers. */
  readonly concurrency?: number
  /** Default: {@link controllerRateLimiter}. */
  readonly rateLimiter?: RateLimiter
  /** Failures in a row after which a key is given up until it is added again. Default: never; 0: no retries. */
  readonly maximumRetries?: number
  /** Told of every failure, before the retry. `attempt`: failures in a row, from 1. */
  readonly onError?: (key: string, error: unknown, attempt: number) => void
  /**
   * When keys that have come to an idle queue are worked on. Default `microtask`: as soon as the code that added them is done.
   * `timer`: as soon as the clock turns, so that a test's clock decides.
   */
  readonly start?: "microtask" | "timer"
}

export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #limiter: RateLimiter
  /** Keys added since the last start, and those to be worked on now, oldest first, each with the ms at which it was added. */
  #added = new Map<string, number>()
  readonly #ready = new Map<string, number>()
  /** In work, with the ms at which the run began. */
  readonly #running = new Map<string, number>()
  /** Added while in work. */
  readonly #again = new Set<string>()
  readonly #delayed = new Map<string, { readonly at: number; readonly timer: Timer }>()
  readonly #statistics = noStatistics()
  #start: Timer | "microtask" | undefined
  #isWorking = false
  #isClosed = false
  #idle: Array<() => void> = []

  constructor(options: WorkQueueOptions) {
    this.#options = options
    this.#limiter = options.rateLimiter ?? controllerRateLimiter(options.clock, options.random ?? Math.random)
  }

  /** Keys waiting or in work; not those that wait for a time. */
  get depth(): number {
    return this.#added.size + this.#ready.size + this.#running.size
  }

  /** A copy of the counters, and what is so now. */
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

  /** Adds after `delayMs`; of several pending delays of one key only the earliest counts. */
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

  /** Adds as after a failure: with the delay of the rate limiter, which grows with each call until the key succeeds. */
  addRateLimited(key: string): void {
    if (this.#isClosed) return
    this.#statistics.retries++
    this.addAfter(key, this.#limiter.delayMs(key))
  }

  /** Takes no more keys, drops those that wait, and resolves when those in work are done. */
  async close(): Promise<void> {
    this.#added.clear()
    this.#ready.clear()
    this.#again.clear()
    await this.drain()
  }

  /**
   * Takes no more keys, drops those that wait for a time, works off those that are queued or were added while in work, and
   * resolves when all are done. What fails now is not tried again.
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

  /** Not entered again by processors that are done when they return: the loop goes on by itself then. */
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
    const { maximumRetries = Number.POSITIVE_INFINITY, onError } = this.#options
    this.#statistics.failures++
    const attempt = this.#limiter.failures(key) + 1
    try {
      onError?.(key, error, attempt)
    } finally {
      if (attempt > maximumRetries) this.#limiter.forget(key)
      else this.addRateLimited(key)
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
