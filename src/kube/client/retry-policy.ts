/**
 * Whether and when a failed call is repeated. The caller of the client decides: a controller's queue retries by itself and wants no retries
 * here, a batch of writes wants them.
 */

import type { ApiError } from "./api-errors.ts"

export interface RetryPolicy {
  /** ms until the next attempt; `undefined`: no further attempt. `attempt`: how many have failed, from 1. */
  delayMs(error: ApiError, attempt: number): number | undefined
}

/** No retries: every failure reaches the caller. */
export const noRetries: RetryPolicy = { delayMs: () => undefined }

/**
 * Whether repeating the call is safe: the server has certainly not acted (429, or any response with Retry-After: client-go's rule, because
 * the server rejects such a request before acting on it), or acting twice has the same effect as once (reads and applies, so for them also
 * failures of the connection, deadlines, and 500, 502, 503, 504).
 */
export const isSafeToRepeat = (error: ApiError): boolean => {
  if (error._tag === "TooManyRequestsError") return true
  const isIdempotent = error.verb === "get" || error.verb === "list" || error.verb === "apply"
  if (error._tag === "ApiUnreachableError")
    return isIdempotent && (error.failure === "connection" || error.failure === "deadline")
  if (error._tag !== "ApiRefusalError" || error.code < 500) return false
  return error.retryAfterMs !== undefined || (isIdempotent && error.code !== 501)
}

interface BackOffOptions {
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Total number of attempts, the first included. Default 5. */
  readonly attempts?: number
  /** ms before the second attempt, doubled for each further one. Default 250. */
  readonly baseMs?: number
  /** Longest wait in ms, unless the server requests a longer one. Default 30,000. */
  readonly maximumMs?: number
  /** Which errors are retried. Default {@link isSafeToRepeat}. */
  readonly mayRepeat?: (error: ApiError) => boolean
}

/** Exponential back-off; up to half of each wait is added at random, and no wait is shorter than the server's Retry-After. */
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
