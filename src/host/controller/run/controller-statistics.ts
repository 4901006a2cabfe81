/** What can be seen of a controller from outside: its state and counters, and each run as it ends. */
import type { QueueStatistics } from "../../queue/work-queue.ts"
import type { TerminalError } from "../errors.ts"

/**
 * `waiting`: for a kind that is not installed, for the first lists, or for a checkpoint that cannot be opened. `standby`: everything is known, but
 * another process leads. `reconciling`. `stopped`.
 */
export type ControllerState = "waiting" | "standby" | "reconciling" | "stopped"

/** Counters since the start, over all terms; see {@link QueueStatistics} for those of the queue (`runs` are reconciles, `failures` errors). */
export interface ControllerStatistics extends QueueStatistics {
  readonly name: string
  readonly state: ControllerState
  /** Runs that failed with a {@link TerminalError}; the other failures are `failures`. */
  readonly terminalFailures: number
  /** Runs that asked for another one with `requeueAfterMs`. */
  readonly requeues: number
  /** Runs that exceeded `reconcileTimeoutMs`. */
  readonly timeouts: number
  /** Its checkpoint cannot be opened or written, such as on a full disk: no run begins. */
  readonly isWaitingForCheckpoint: boolean
}

/** A run that has ended. `conflict`: it is repeated without a report; `given-up`: a TerminalError, or the namespace is being deleted. */
export interface ReconciledRun {
  readonly controller: string
  readonly key: string
  readonly outcome: "succeeded" | "failed" | "conflict" | "given-up"
  /** ms of the clock at its start. */
  readonly startedMs: number
  readonly durationMs: number
  /** What it threw; absent for one that succeeded. */
  readonly error?: unknown
  /** ms until the run that it asked for. */
  readonly requeueAfterMs?: number
}
