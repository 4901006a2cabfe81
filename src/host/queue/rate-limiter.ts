/** How long what failed waits before it is retried, and how long requests wait for their turn. */

import type { Clock } from "../../clock.ts"

/** ms after the first failure of a key, doubled for each further one; the longest delay; and the largest random addition, as a part of the delay. */
const baseMs = 5
const maximumMs = 1_000_000
const jitter = 0.1

/**
 * client-go's default for controllers, `DefaultTypedControllerRateLimiter`: the longer of a back-off per key (5 ms to 1,000 s) and a token bucket for
 * all keys (10 a second after a burst of 100). So one key that always fails costs little, and a server on which everything fails gets few requests.
 * client-go has no jitter, so keys that failed together are retried together.
 *
 * Memory: one number for each key that has failed and was not forgotten.
 */
export class RetryPace {
  readonly #random: () => number
  readonly #bucket: TokenBucket
  readonly #failures = new Map<string, number>()

  /** `random` returns a number in [0, 1). */
  constructor(clock: Pick<Clock, "monotonicMs">, random: () => number) {
    this.#random = random
    this.#bucket = new TokenBucket(clock, { perSecond: 10, burst: 100 })
  }

  /** A key has failed: ms until its next attempt. */
  delayMs(key: string): number {
    const before = this.failures(key)
    this.#failures.set(key, before + 1)
    const ownMs = Math.min(maximumMs, baseMs * 2 ** before * (1 + jitter * this.#random()))
    return Math.max(ownMs, this.#bucket.delayMs())
  }

  /** A key has succeeded or was dropped: its failures no longer count. A token that was taken stays taken. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** How often the key has failed since it was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0
  }
}

/**
 * Tokens are taken in advance, as by `rate.Reserve` in Go: when none is left, each further taker gets the next free
 * slot, so that never more than `burst` and then `perSecond` proceed.
 */
export class TokenBucket {
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

  /** ms until the token that this takes. */
  delayMs(): number {
    const now = this.#clock.monotonicMs()
    const tokenMs = 1000 / this.#perSecond
    this.#fullAt = Math.max(now, this.#fullAt) + tokenMs
    return Math.max(0, this.#fullAt - now - this.#burst * tokenMs)
  }
}
