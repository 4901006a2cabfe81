/** How long something is left alone after it failed: a back-off that doubles with each failure, and what the server asked for. */

interface BackOffLimits {
  /** ms after the first failure; doubles with each that follows. */
  readonly firstBackOffMs: number
  readonly longestBackOffMs: number
}

/** All times are monotonic ms. */
export class Pause {
  readonly #limits: BackOffLimits
  #failures = 0
  #failedAt = Number.NEGATIVE_INFINITY
  #backOffUntil = 0
  #askedUntil = 0

  constructor(limits: BackOffLimits) {
    this.#limits = limits
  }

  /** Since it last answered. */
  get failures(): number {
    return this.#failures
  }

  /** Nothing is asked before; in the past when it need not wait. */
  get until(): number {
    return Math.max(this.#backOffUntil, this.#askedUntil)
  }

  /**
   * `retryAfterMs`: what the server asks for; 0 for nothing. Requests that were under way together fail together and count once:
   * one that started before the last failure that counted doubles nothing. `random`: in [0, 1).
   */
  failed(startedAt: number, now: number, retryAfterMs: number, random: number): void {
    const { firstBackOffMs, longestBackOffMs } = this.#limits
    if (startedAt >= this.#failedAt) {
      this.#failures++
      this.#failedAt = now
    }
    const backOff = Math.min(longestBackOffMs, firstBackOffMs * 2 ** (this.#failures - 1))
    // Half of it is jitter: what failed together must not be asked again together.
    this.#backOffUntil = Math.max(this.#backOffUntil, now + backOff * (0.5 + random / 2))
    this.#askedUntil = Math.max(this.#askedUntil, now + retryAfterMs)
  }

  /** It answers again. */
  reset(): void {
    this.#failures = 0
    this.#backOffUntil = 0
  }

  /** Somebody cannot wait. What the server asked for stands. */
  cutShort(): void {
    this.#backOffUntil = 0
  }
}
