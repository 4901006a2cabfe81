/** How long to wait after a failure: a back-off that doubles with each failure, and what the server asked for. */

interface BackOffLimits {
  /** ms after the first failure; doubles with each further one. */
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

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures
  }

  /** Time before which no request is made; in the past if there is no need to wait. */
  get until(): number {
    return Math.max(this.#backOffUntil, this.#askedUntil)
  }

  /**
   * `retryAfterMs`: the server's Retry-After; 0 if absent. Concurrent requests that fail together count once: a failure of a request that
   * started before the last counted failure does not double the back-off. `random`: in [0, 1).
   */
  failed(startedAt: number, now: number, retryAfterMs: number, random: number): void {
    const { firstBackOffMs, longestBackOffMs } = this.#limits
    if (startedAt >= this.#failedAt) {
      this.#failures++
      this.#failedAt = now
    }
    const backOff = Math.min(longestBackOffMs, firstBackOffMs * 2 ** (this.#failures - 1))
    // Half of it is jitter, so that requests that failed together are not repeated together.
    this.#backOffUntil = Math.max(this.#backOffUntil, now + backOff * (0.5 + random / 2))
    this.#askedUntil = Math.max(this.#askedUntil, now + retryAfterMs)
  }

  /** Call after a success. */
  reset(): void {
    this.#failures = 0
    this.#backOffUntil = 0
  }

  /** Ends the back-off because someone is waiting. A Retry-After still applies. */
  cutShort(): void {
    this.#backOffUntil = 0
  }
}
