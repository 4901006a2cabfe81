/**
 * The life of a Simulation as a state machine, pure and total. An ended Simulation never gets a Job; a Job is only
 * created in a turn; nothing is released as long as anything is left; the actions always lead to an end.
 */

import type { SimulationState, SimulationStatus } from "../../api/status.ts"
import { conditionOf, hasBegun, invalidReason, isSettled, lifeOf } from "./life.ts"

// All that the next step of a Simulation depends on. The observer asks the server where a cache that lags behind would
// lead to a wrong step.

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

// What is to be said of a Simulation, and done for it next.

/** A condition without its time. */
interface Verdict {
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

/** ms after which a step that fails, or waits for something that does not come, is given up. Long enough for an administrator to notice, and to grant a right. */
export const givenUpAfterMs = 10 * 60_000
/** ms for the first pod of a driver to start: an autoscaler may have to bring a node, and that node to pull the image. */
export const startsWithinMs = 30 * 60_000

/** The next step. */
export const decide = (observed: Observation): Decision => {
  switch (lifeOf(observed.status, observed.isDeleted)) {
    case "waiting":
      return decideWaiting(observed)
    case "begun":
      return decideBegun(observed)
    case "ending":
      return decideEnding(observed)
    case "settled":
      return { report: {}, action: { tag: "done" } }
  }
}

const yes = (reason: string, message = ""): Verdict => ({ status: "True", reason, message })
const no = (reason: string, message = ""): Verdict => ({ status: "False", reason, message })
const asExpected = no("AsExpected")
const wait: Action = { tag: "wait" }

const decideWaiting = ({ unusable, problem, turn }: Observation): Decision => {
  if (unusable !== undefined) {
    const [verdict, degraded] = [no(invalidReason, unusable), yes(invalidReason, unusable)]
    return {
      report: { state: "Failed", Ready: verdict, Progressing: verdict, Degraded: degraded },
      action: wait,
    }
  }
  if (problem !== undefined)
    return { report: { Degraded: yes(problem.reason, problem.message), Progressing: yes("Starting") }, action: wait }
  if (turn.tag === "next") return { report: {}, action: { tag: "take turn" } }
  if (turn.tag === "own") {
    const message = "the driver is being prepared"
    return {
      report: {
        state: "Initializing",
        Ready: no("Initializing", message),
        Progressing: yes("Initializing", message),
        Degraded: asExpected,
      },
      action: { tag: "again" },
      announce: {
        type: "Normal",
        reason: "SimulationStarted",
        action: "NewSimulationResourceCreated",
        message: "the simulation has begun",
      },
    }
  }
  const message = `it waits for the simulation ${turn.holder}: one runs at a time, in the order of their creation`
  const blocked = no("Blocked", message)
  return {
    report: { state: "Blocked", Ready: blocked, Progressing: blocked, Degraded: asExpected },
    action: wait,
    announce: { type: "Normal", reason: "Blocked", action: "OtherSimulationRunning", message },
  }
}

const decideBegun = (observed: Observation): Decision => {
  const { status, unusable, problem, job, turn, preStart, degradedMs } = observed
  if (job.tag === "complete") return finished(job)
  if (job.tag === "failed") return failed("DriverFailed", job.message, job)
  if (unusable !== undefined) return failed("SpecUnusable", unusable)
  if (problem !== undefined) {
    if (problem.kind === "permanent") return failed(problem.reason, problem.message)
    if (problem.kind === "awaited") return awaiting(problem.reason, problem.message)
    // What fails for the controller does not stop a driver that runs.
    if (job.tag === "active") return troubled(decideRunning(observed, job), problem)
    if (degradedMs > givenUpAfterMs)
      return failed(problem.reason, `it was retried for ${Math.round(degradedMs / 60_000)} minutes: ${problem.message}`)
    return retrying(problem.reason, problem.message)
  }
  if (job.tag === "foreign") {
    const message =
      "a Job with the name of the driver's belongs to something else: delete it, or give the Simulation another name"
    return retrying("JobExists", message, degradedMs)
  }
  if (job.tag === "active") return decideRunning(observed, job)
  if (status?.state === "Running" || status?.state === "Paused" || hasStarted(status))
    return failed("DriverDeleted", "the driver's Job was deleted while it ran; create the Simulation again to run it")
  // Its turn was taken away by someone who changed the Lease.
  if (turn.tag === "next") return { report: {}, action: { tag: "take turn" } }
  if (turn.tag === "waiting")
    return retrying("LeaseLost", `the Lease of simulations is held by ${turn.holder}`, degradedMs)
  if (preStart.tag === "failed") return failed("PreStartHookFailed", preStart.message)
  return preStart.tag === "open"
    ? { report: {}, action: { tag: "run hooks", phase: "preStart" } }
    : { report: {}, action: { tag: "prepare" } }
}

const decideRunning = (
  { status, isPaused, turn }: Observation,
  { isDeleting, startTime, completedRuns, notStartedMs, trouble }: DriverJob & { readonly tag: "active" },
): Decision => {
  if (isDeleting)
    return failed("DriverDeleted", "the driver's Job was deleted while it ran; create the Simulation again to run it")
  if (notStartedMs !== undefined && notStartedMs > startsWithinMs) {
    const why = trouble ?? "the cluster does not say why; look at the events of the Job"
    return failed("DriverNotStarted", `the driver has not started for ${startsWithinMs / 60_000} minutes: ${why}`)
  }
  const state = isPaused ? "Paused" : "Running"
  const message = isPaused ? "it is paused; resume it by removing spec.pausedTime" : "the driver's Job runs"
  return {
    report: {
      state,
      startTime,
      completedRuns,
      Ready: yes(state, message),
      Progressing: isPaused ? no(state, message) : yes(state, message),
      Degraded: trouble === undefined ? asExpected : yes("DriverWaits", trouble),
    },
    action: turn.tag === "next" ? { tag: "take turn" } : wait,
    ...(status?.state !== "Running" &&
      status?.state !== "Paused" && {
        announce: {
          type: "Normal",
          reason: "SuccessfulDriverCreate",
          action: "SimulationPrerequisitesCreated",
          message: "the driver's Job was created",
        },
      }),
  }
}

const troubled = (decision: Decision, { reason, message }: Problem): Decision =>
  decision.report.state === "Failed"
    ? decision
    : { ...decision, report: { ...decision.report, Degraded: yes(reason, message) }, action: wait }

/** Its driver has run, whatever the state says: a second one must not be started. */
const hasStarted = (status: Observation["status"]): boolean => (status?.startTime ?? undefined) !== undefined

const awaiting = (reason: string, message: string): Decision => ({
  report: {
    state: "Initializing",
    Ready: no(reason, message),
    Progressing: yes(reason, message),
    Degraded: asExpected,
  },
  action: wait,
  announce: {
    type: "Normal",
    reason,
    action: "PrometheusResourceCreated",
    message,
  },
})

/** `degradedMs`: after {@link givenUpAfterMs} of them it has failed. */
const retrying = (reason: string, message: string, degradedMs = 0): Decision =>
  degradedMs > givenUpAfterMs
    ? failed(reason, message)
    : {
        report: {
          state: "Retrying",
          Ready: no("Retrying", message),
          Progressing: yes("Retrying"),
          Degraded: yes(reason, message),
        },
        action: wait,
      }

const cleaning = yes("CleaningUp", "what belongs to the simulation is being removed")

const finished = ({ startTime, endTime, completedRuns }: Ended): Decision => ({
  report: {
    ...{ state: "Finished", startTime, endTime, completedRuns, Progressing: cleaning, Degraded: asExpected },
    Ready: yes("Finished", "all repetitions are complete"),
  },
  action: { tag: "again" },
})

type Ended = Extract<DriverJob, { readonly tag: "complete" | "failed" }>

const failed = (reason: string, message: string, times?: Ended): Decision => ({
  report: {
    state: "Failed",
    ...{ startTime: times?.startTime, endTime: times?.endTime, completedRuns: times?.completedRuns },
    Ready: no(reason, message),
    Progressing: cleaning,
    Degraded: yes(reason, message),
  },
  action: { tag: "again" },
  // Hooks announce their own failures.
  ...(reason !== "PreStartHookFailed" && {
    announce: { type: "Warning", reason: "SimulationDriverFailed", action: "SimulationDriverRunning", message },
  }),
})

const decideEnding = (observed: Observation): Decision => {
  const { status, isDeleted, job, remains, postStop, turn, runningHooks, problem } = observed
  const going: Report = isDeleted
    ? { Ready: no("Deleting", "it is being deleted"), Progressing: yes("Deleting", leftOf(observed)) }
    : { Progressing: { ...cleaning, message: leftOf(observed) } }
  if (problem !== undefined) {
    const message = `the clean-up continues once this is solved: ${problem.message}`
    return {
      report: { ...going, Degraded: yes("CleanupFailed", message) },
      action: wait,
      announce: { type: "Warning", reason: "CleanupFailed", action: "SimulationCleanupInitiated", message },
    }
  }
  const step = (action: Action): Decision => ({ report: going, action })
  const mayRunHooks = hasBegun(status) && !isSettled(status)
  // They prepare what will not be.
  if (runningHooks === "preStart") return step({ tag: "stop hooks" })
  if (job.tag === "active" || (isDeleted && (job.tag === "complete" || job.tag === "failed")))
    return step(job.isDeleting ? wait : { tag: "delete job" })
  const [next] = remains
  if (next !== undefined) {
    const objects = remains.filter(({ stage, isDeleting }) => stage === next.stage && !isDeleting)
    return step(objects.length === 0 ? wait : { tag: "remove", objects })
  }
  if (mayRunHooks && postStop.tag === "open") return step({ tag: "run hooks", phase: "postStop" })
  if (turn.tag === "own") return step({ tag: "release" })
  if (isDeleted) return { report: {}, action: { tag: "done" } }
  return { report: settled(observed), action: { tag: "done" } }
}

const leftOf = ({ job, remains }: Observation): string => {
  const names = [
    ...(job.tag === "active" || (job.tag !== "absent" && job.tag !== "foreign" && job.isDeleting)
      ? ["the driver's Job"]
      : []),
    ...remains.map(({ stage, name }) => `the ${stage} ${name}`),
  ]
  if (names.length === 0) return "the hooks after the end run"
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ""
  return `waits until ${names.slice(0, 3).join(", ")}${more} are gone`
}

const settled = ({ status, postStop }: Observation): Report => {
  const ready = conditionOf(status, "Ready")
  const state = status?.state ?? "Failed"
  const done = no(state, "nothing is left of it but its Job and its reports")
  if (postStop.tag === "failed") return { Progressing: done, Degraded: yes("PostStopHookFailed", postStop.message) }
  const failure = yes(ready?.reason ?? "Failed", ready?.message ?? "")
  return { Progressing: done, Degraded: state === "Failed" ? failure : asExpected }
}
