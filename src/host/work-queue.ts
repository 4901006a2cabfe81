/**
 * A keyed work queue with the rules of client-go's: a key is processed by one worker at a time; one added while it is
 * being processed is processed once more afterwards, however often it was added; failures come back after a growing
 * pause.
 *
 * Guaranteed: every `add` is followed by a run of the processor that began after it. Under overload keys wait, each at
 * most once, so the queue is bounded by the number of objects.
 */

import type { Clock, Timer } from "../runtime/clock.ts"

export interface WorkQueueOptions {
  readonly clock: Clock
  /** Rejections lead to a retry. */
  readonly process: (key: string) => Promise<void>
  /** Keys in work at once. Default 5, the real controllers' number of workers. */
  readonly concurrency?: number
  /** ms before the first retry, doubled for each further one. Default 5, client-go's. */
  readonly baseDelayMs?: number
  /** Longest pause between retries in ms. Default 1,000,000, client-go's. */
  readonly maximumDelayMs?: number
  /** Told of every rejection, before the retry. */
  readonly onError?: (key: string, error: unknown, attempt: number) => void
}

export class WorkQueue {
  readonly #options: WorkQueueOptions
  /** Waiting for a worker, oldest first. */
  readonly #waiting = new Set<string>()
  readonly #running = new Map<string, Promise<void>>()
  /** Added while running. */
  readonly #again = new Set<string>()
  readonly #failures = new Map<string, number>()
  readonly #delayed = new Map<string, { readonly at: number; readonly timer: Timer }>()
  #isClosed = false

  constructor(options: WorkQueueOptions) {
    this.#options = options
  }

  /** Keys waiting or in work; not those that wait for a time. */
  get depth(): number {
    return this.#waiting.size + this.#running.size
  }

  add(key: string): void {
    if (this.#isClosed) return
    if (this.#running.has(key)) this.#again.add(key)
    else {
      this.#waiting.add(key)
      // Not at once: what else the caller is about to add or change belongs to the same run.
      queueMicrotask(() => this.#work())
    }
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

  /** Stops taking keys, drops those that wait, and resolves when those in work are done. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#waiting.clear()
    this.#again.clear()
    for (const { timer } of this.#delayed.values()) timer.cancel()
    this.#delayed.clear()
    await Promise.all(this.#running.values())
  }

  #work(): void {
    const { concurrency = 5 } = this.#options
    while (this.#running.size < concurrency) {
      const [key] = this.#waiting
      if (key === undefined) return
      this.#waiting.delete(key)
      this.#running.set(key, this.#run(key))
    }
  }

  async #run(key: string): Promise<void> {
    // The entry of `#running` must stand before the processor may add its own key.
    await Promise.resolve()
    try {
      await this.#options.process(key)
      this.#failures.delete(key)
    } catch (error) {
      this.#retry(key, error)
    } finally {
      this.#running.delete(key)
      if (this.#again.delete(key)) this.add(key)
      this.#work()
    }
  }

  #retry(key: string, error: unknown): void {
    const { baseDelayMs = 5, maximumDelayMs = 1_000_000, onError } = this.#options
    const attempt = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, attempt)
    onError?.(key, error, attempt)
    this.addAfter(key, Math.min(maximumDelayMs, baseDelayMs * 2 ** (attempt - 1)))
  }
}
