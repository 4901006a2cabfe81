/** What one module may take of the executor, so that the others do not notice it. */

export interface ModuleLimits {
  /**
   * Requests per second, after a burst. Default 20 and 30, as client-go's clients in controller-runtime. Answers that the executor gives
   * itself count too: modules retry without a pause, and one whose kind does not exist made 550 requests a second.
   */
  readonly requestsPerSecond: number
  readonly burst: number
  /** Requests under way at the API server at the same time. Default 16. */
  readonly maximumConcurrent: number
  /** Requests that wait for their turn; further ones are answered 429. Default 256, which is 13 s at 20 a second. */
  readonly maximumQueued: number
  /** Bytes of their bodies. Default 16 MiB. */
  readonly maximumQueuedBytes: number
  /** ms from the module's request to the last byte of its response, waiting included. Default 30,000, half of the API server's own limit. */
  readonly timeoutMs: number
  /** Bytes of a request's body. Default 3 MiB, what an API server accepts. */
  readonly maximumRequestBytes: number
  /** Bytes of a response's body. Default 16 MiB: larger lists have to be read in pages. */
  readonly maximumResponseBytes: number
  /**
   * Delays and requests together that have not ended. Default 100,000, which take 30 MB. There is no answer that refuses a delay, so a module
   * beyond this limit has to be ended.
   */
  readonly maximumOperations: number
}

export const defaultLimits: ModuleLimits = {
  requestsPerSecond: 20,
  burst: 30,
  maximumConcurrent: 16,
  maximumQueued: 256,
  maximumQueuedBytes: 16 * 1024 * 1024,
  timeoutMs: 30_000,
  maximumRequestBytes: 3 * 1024 * 1024,
  maximumResponseBytes: 16 * 1024 * 1024,
  maximumOperations: 100_000,
}
