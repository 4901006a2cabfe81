/**
 * Jittered exponential back-off.
 *
 * The defaults are client-go's for a reflector (800 ms doubling to 30 s, jitter factor 1, reset after 2 min of quiet): about 0.22 requests
 * per second and client while a server is unhealthy, which an API server survives from thousands of clients. Never without jitter: clients
 * that failed together would retry together.
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

export const defaultBackOff: BackOffPolicy = {
  initialMs: 800,
  maximumMs: 30_000,
  factor: 2,
  jitter: 1,
  resetAfterMs: 120_000,
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
