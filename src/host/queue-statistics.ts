/** What a work queue counts, for metrics: client-go's depth, adds, latency, work duration and retries. */

/** Counters since the queue was made. */
export interface QueueCounters {
  /** Keys added, those included that were queued already. */
  adds: number
  /** Runs that ended, well or not. */
  runs: number
  /** Runs that failed. */
  failures: number
  /** Keys added again after a failure. */
  retries: number
  /** ms that keys waited between being added and being worked on, in all and at most. */
  waitedMs: number
  longestWaitMs: number
  /** ms that runs took, in all and at most. */
  workedMs: number
  longestRunMs: number
}

export interface QueueStatistics extends Readonly<QueueCounters> {
  /** Keys waiting or in work now. */
  readonly depth: number
  /** Keys that wait for a time. */
  readonly delayed: number
  /** ms for which the oldest run has been in work; 0 without one. */
  readonly longestRunningMs: number
}

export const noStatistics = (): QueueCounters => ({
  adds: 0,
  runs: 0,
  failures: 0,
  retries: 0,
  waitedMs: 0,
  longestWaitMs: 0,
  workedMs: 0,
  longestRunMs: 0,
})
