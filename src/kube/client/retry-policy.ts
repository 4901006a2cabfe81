/**
 * Whether and when a call that failed is made again. The caller of the client decides: a controller's queue retries by itself
 * and wants none of it, a batch of writes wants to get through.
 */

import type { ApiError } from "./api-errors.ts"

export interface RetryPolicy {
  /** ms until the next attempt; `undefined`: no further one. `attempt`: how many have failed, from 1. */
  delayMs(error: ApiError, attempt: number): number | undefined
}

/** Every failure is the caller's. */
export const noRetries: RetryPolicy = { delayMs: () => undefined }

/**
 * Whether the server has certainly not acted, or acting twice is the same as acting once: 429 and whatever says Retry-After
 * (client-go's rule: the server has turned it away before doing anything), and for reads and applies also failures of the
 * connection, deadlines, and 500, 502, 503, 504.
 */
export const isSafeToRepeat = (error: ApiError): boolean => {
  if (error._tag === "TooManyRequestsError") return true
  const isIdempotent = error.verb === "get" || error.verb === "list" || error.verb === "apply"
  if (error._tag === "ApiUnreachableError")
    return isIdempotent && (error.failure === "connection" || error.failure === "deadline")
  if (error._tag !== "ApiRefusalError" || error.code < 500) return false
  return error.retryAfterMs !== undefined || (isIdempotent && error.code !== 501)
}

export interface BackOffOptions {
  /** In [0, 1). */
  readonly random: () => number
  /** Attempts in all, the first included. Default 5. */
  readonly attempts?: number
  /** ms before the second attempt, doubled for each further one. Default 250. */
  readonly baseMs?: number
  /** Longest wait in ms, unless the server asks for a longer one. Default 30,000. */
  readonly maximumMs?: number
  /** What is tried again. Default {@link isSafeToRepeat}. */
  readonly mayRepeat?: (error: ApiError) => boolean
}

/** Exponential back-off; waits are up to half as long again, at random, and never shorter than the server's Retry-After. */
export const backOff = (options: BackOffOptions): RetryPolicy => {
  const { random, attempts = 5, baseMs = 250, maximumMs = 30_000, mayRepeat = isSafeToRepeat } = options
  return {
    delayMs: (error, attempt) => {
      if (attempt >= attempts || !mayRepeat(error)) return undefined
      const ownMs = Math.min(maximumMs, baseMs * 2 ** (attempt - 1))
      const askedMs = error._tag === "ApiUnreachableError" ? 0 : (error.retryAfterMs ?? 0)
      return Math.max(ownMs, askedMs) * (1 + random() / 2)
    },
  }
}
