/**
 * Exponential back-off with jitter: clients that failed together would otherwise retry together.
 */
export interface BackOffPolicy {
  /** ms before the first retry. */
  readonly initialMs: number
  /** Largest base delay in ms; jitter comes on top. */
  readonly maximumMs: number
  readonly factor: number
  /** The delay is uniform in [base, base × (1 + jitter)). */
  readonly jitter: number
  /** ms without a failure after which the next one starts at `initialMs` again. */
  readonly resetAfterMs: number
}

/** The state of one retry loop. `random` returns a number in [0, 1). */
export class BackOff {
  readonly #policy: BackOffPolicy
  readonly #random: () => number
  #base = 0
  #lastFailureMs = Number.NEGATIVE_INFINITY

  constructor(policy: BackOffPolicy, random: () => number) {
    this.#policy = policy
    this.#random = random
  }

  /** The delay in ms before the next attempt, after one failed at `nowMs` (monotonic). */
  next(nowMs: number): number {
    const { initialMs, maximumMs, factor, jitter, resetAfterMs } = this.#policy
    const quiet = nowMs - this.#lastFailureMs > resetAfterMs
    this.#base = quiet || this.#base === 0 ? initialMs : Math.min(maximumMs, this.#base * factor)
    this.#lastFailureMs = nowMs
    return this.#base * (1 + jitter * this.#random())
  }

  /** Forgets all failures. */
  reset(): void {
    this.#base = 0
  }
}
