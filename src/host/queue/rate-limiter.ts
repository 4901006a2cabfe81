/**
 * How long a key waits before it is retried: client-go's rate limiters for work queues.
 *
 * {@link controllerRateLimiter} is client-go's default for controllers: the longer of a back-off per key and a token bucket
 * for all keys. So one key that always fails costs little, and a server on which everything fails gets at most ten requests a
 * second, after a burst.
 */

import type { Clock } from "../../clock.ts"
export interface RateLimiter {
  /** A key has failed: ms until its next attempt. */
  delayMs(key: string): number
  /** A key has succeeded or was dropped: its failures no longer count. */
  forget(key: string): void
  /** How often the key has failed since it was last forgotten. */
  failures(key: string): number
}

interface BackOffOptions {
  /** ms after the first failure, doubled for each further one. Default 5, client-go's. */
  readonly baseMs?: number
  /** Longest delay in ms, jitter included. Default 1,000,000, client-go's. */
  readonly maximumMs?: number
  /**
   * Largest random addition, as a part of the delay. Default 0.1; client-go has none, so keys that failed together are
   * retried together.
   */
  readonly jitter?: number
  /** In [0, 1). */
  readonly random: () => number
}

/** Exponential back-off per key. Memory: one number for each key that has failed and was not forgotten. */
export class KeyBackOff implements RateLimiter {
  readonly #options: Required<BackOffOptions>
  readonly #failures = new Map<string, number>()

  constructor({ baseMs = 5, maximumMs = 1_000_000, jitter = 0.1, random }: BackOffOptions) {
    this.#options = { baseMs, maximumMs, jitter, random }
  }

  delayMs(key: string): number {
    const { baseMs, maximumMs, jitter, random } = this.#options
    const before = this.failures(key)
    this.#failures.set(key, before + 1)
    return Math.min(maximumMs, baseMs * 2 ** before * (1 + jitter * random()))
  }

  forget(key: string): void {
    this.#failures.delete(key)
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0
  }
}

/**
 * A token bucket for all keys together. Tokens are taken in advance, as by `rate.Reserve` in Go: when none is left, each further
 * key gets the next free slot, so that never more than `burst` and then `perSecond` keys are retried.
 */
export class TokenBucket implements RateLimiter {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #perSecond: number
  readonly #burst: number
  /** Monotonic ms at which the bucket is, or will be, full. */
  #fullAt = Number.NEGATIVE_INFINITY

  constructor(
    clock: Pick<Clock, "monotonicMs">,
    { perSecond, burst }: { readonly perSecond: number; readonly burst: number },
  ) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
  }

  delayMs(): number {
    const now = this.#clock.monotonicMs()
    const tokenMs = 1000 / this.#perSecond
    this.#fullAt = Math.max(now, this.#fullAt) + tokenMs
    return Math.max(0, this.#fullAt - now - this.#burst * tokenMs)
  }

  forget(): void {
    // A token that was taken stays taken, even when its key is forgotten.
  }

  failures(): number {
    return 0
  }
}

/** The longest delay of several limiters. */
const longestOf = (...limiters: ReadonlyArray<RateLimiter>): RateLimiter => ({
  delayMs: (key) => Math.max(...limiters.map((limiter) => limiter.delayMs(key))),
  forget: (key) => {
    for (const limiter of limiters) limiter.forget(key)
  },
  failures: (key) => Math.max(...limiters.map((limiter) => limiter.failures(key))),
})

/** client-go's `DefaultTypedControllerRateLimiter`: 5 ms to 1,000 s per key, 10 a second after a burst of 100 in all. */
export const controllerRateLimiter = (clock: Pick<Clock, "monotonicMs">, random: () => number): RateLimiter =>
  longestOf(new KeyBackOff({ random }), new TokenBucket(clock, { perSecond: 10, burst: 100 }))
