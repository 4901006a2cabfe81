/** All that the next step of a Simulation depends on. Whoever observes asks the server where a cache that lags behind would lead to a wrong step. */
import type { SimulationStatus } from "../../api/status.ts"

/** The Job of the driver. */
export type DriverJob =
  | { readonly tag: "absent" }
  /** It has the name, but belongs to something else. */
  | { readonly tag: "foreign" }
  | {
      readonly tag: "active"
      readonly isDeleting: boolean
      readonly startTime: string | undefined
      readonly completedRuns: number
      /** ms since the creation of a Job none of whose pods has run yet; `undefined` if one has. */
      readonly notStartedMs: number | undefined
      /** Why the present pod does not start, as far as the cluster says. */
      readonly trouble: string | undefined
    }
  | {
      readonly tag: "complete" | "failed"
      readonly isDeleting: boolean
      readonly startTime: string | undefined
      readonly endTime: string | undefined
      readonly completedRuns: number
      /** Of a failure: why, in the words of the driver if it left some. */
      readonly message: string
    }

/** One Simulation at a time: whether it is this one's turn. */
export type Turn =
  | { readonly tag: "own" }
  /** The Lease is free for it. */
  | { readonly tag: "next" }
  | { readonly tag: "waiting"; readonly holder: string }

/** The hooks of a phase, by what is recorded of them. */
export type PhaseState =
  | { readonly tag: "open" }
  | { readonly tag: "done" }
  /** `message`: of the first failure that is not ignored. */
  | { readonly tag: "failed"; readonly message: string }

/** An object that has to be gone before the next stage of the clean-up: the webhook, then the driver's roots, then the root of everything else. */
export interface Remain {
  readonly stage: "webhook" | "driver's root" | "root"
  readonly name: string
  readonly uid: string | undefined
  readonly isDeleting: boolean
}

/** What kept the last step from being done. */
export interface Problem {
  /** One word for programs. */
  readonly reason: string
  /** For people: what happened, and what to do. */
  readonly message: string
  /** `permanent`: no other attempt helps. `awaited`: something is under way, for a limited time. `transient`: all others. */
  readonly kind: "permanent" | "awaited" | "transient"
}

/** One Simulation and its surroundings at one moment. */
export interface Observation {
  readonly status: SimulationStatus | undefined
  readonly isDeleted: boolean
  readonly isPaused: boolean
  /** Why the Simulation cannot be read, if it cannot. */
  readonly unusable: string | undefined
  readonly job: DriverJob
  readonly turn: Turn
  readonly preStart: PhaseState
  readonly postStop: PhaseState
  /** The phase of which this process runs hooks. */
  readonly runningHooks: "preStart" | "postStop" | undefined
  /** Empty as long as the Simulation is not ending. */
  readonly remains: ReadonlyArray<Remain>
  readonly problem: Problem | undefined
  /** ms for which the condition Degraded has been true; 0 if it is not. */
  readonly degradedMs: number
}
