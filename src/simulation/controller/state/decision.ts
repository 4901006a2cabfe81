/** What is to be said of a Simulation, and done for it next. */
import type { SimulationState } from "../../api/status.ts"
import type { Remain } from "./observation.ts"

/** A condition without its time. */
export interface Verdict {
  readonly status: "True" | "False"
  readonly reason: string
  readonly message: string
}

/** What the status says. An absent member stays as it is. */
export interface Report {
  readonly state?: SimulationState | undefined
  readonly startTime?: string | undefined
  readonly endTime?: string | undefined
  readonly completedRuns?: number | undefined
  readonly Ready?: Verdict
  readonly Progressing?: Verdict
  readonly Degraded?: Verdict
}

/** An Event about the Simulation. */
export interface Announcement {
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly action: string
  readonly message: string
}

/** The report is written first: a controller that dies in the middle of an action finds it. */
export type Action =
  /** Nothing before something changes. */
  | { readonly tag: "wait" }
  /** The report itself changes what comes next. */
  | { readonly tag: "again" }
  | { readonly tag: "take turn" }
  | { readonly tag: "run hooks"; readonly phase: "preStart" | "postStop" }
  | { readonly tag: "stop hooks" }
  /** Everything that the driver needs, and at last its Job. */
  | { readonly tag: "prepare" }
  | { readonly tag: "delete job" }
  | { readonly tag: "remove"; readonly objects: ReadonlyArray<Remain> }
  | { readonly tag: "release" }
  /** Nothing is left to do, now and later. */
  | { readonly tag: "done" }

/** One step. */
export interface Decision {
  readonly report: Report
  readonly action: Action
  /** Announced if the report changes the state, or the reason or message of Ready or Degraded. */
  readonly announce?: Announcement
}
