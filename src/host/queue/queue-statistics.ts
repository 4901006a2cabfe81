/** The counters of a work queue, for metrics: client-go's depth, adds, latency, work duration and retries. */

/** Counters since the queue was made. */
interface QueueCounters {
  /** Keys added, including those that were queued already. */
  adds: number
  /** Runs that ended, successful or not. */
  runs: number
  /** Runs that failed. */
  failures: number
  /** Keys added again after a failure. */
  retries: number
  /** ms that keys waited between being added and being processed: sum and maximum. */
  waitedMs: number
  longestWaitMs: number
  /** ms that runs took: sum and maximum. */
  workedMs: number
  longestRunMs: number
}

export interface QueueStatistics extends Readonly<QueueCounters> {
  /** Keys waiting or being processed now. */
  readonly depth: number
  /** Delayed keys. */
  readonly delayed: number
  /** ms since the oldest current run began; 0 without one. */
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

/** Of a queue and one that came after it: counters are added; what describes the present is that of `now`. */
export const sumOf = (past: QueueStatistics, now: QueueStatistics): QueueStatistics => ({
  adds: past.adds + now.adds,
  runs: past.runs + now.runs,
  failures: past.failures + now.failures,
  retries: past.retries + now.retries,
  waitedMs: past.waitedMs + now.waitedMs,
  longestWaitMs: Math.max(past.longestWaitMs, now.longestWaitMs),
  workedMs: past.workedMs + now.workedMs,
  longestRunMs: Math.max(past.longestRunMs, now.longestRunMs),
  depth: now.depth,
  delayed: now.delayed,
  longestRunningMs: now.longestRunningMs,
})
