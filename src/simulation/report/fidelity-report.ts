/** How close a replay came to its trace: the part `fidelity` of the report, documented in docs/reference/replay-report.md. */
import type { Spread } from "./replay-report.ts"

/** A field that is not as applied. */
export interface FieldDifference {
  /** `spec.template.spec.containers[0].image`. */
  readonly path: string
  /** Short JSON; `undefined`: it should not be there. */
  readonly applied: string | undefined
  /** Short JSON; `undefined`: it is not there. */
  readonly observed: string | undefined
}

/**
 * What became of one write: `equal`: the target had that state; `different`: fields that were applied are not as applied; `early`: something else
 * had deleted the object before the replay could; `missing`: the target never had the state; `refused`: it did not accept it; `unwritten`: the
 * replay ended before, or left a field to its owner in the target; `skipped`: there was nothing to write; `unmeasured`: the recording does not tell.
 */
export type WriteResult =
  | "equal"
  | "different"
  | "early"
  | "missing"
  | "refused"
  | "unwritten"
  | "skipped"
  | "unmeasured"

/** A kind that is not, or not completely, in the recording. */
export interface UnmeasuredKind {
  readonly gvk: string
  readonly reason: string
}

/** The target could not be recorded. */
export interface FidelityUnknown {
  /** For people. */
  readonly unknown: string
}

/** How close a replay came, by the recording of its target. Durations are ms of real time. Lists are cut, numbers count everything. */
export interface FidelityReport {
  /** Shares between 0 and 1, of what the trace has: what was refused, never written or never observed counts. `null`: there was nothing to measure. */
  readonly score: {
    /** Of the objects, those that the trace lacks included: every state was observed as applied, in order, and nothing else changed it. */
    readonly objectsEqual: number | null
    /** Of the states: observed as applied, and in order. */
    readonly statesInOrder: number | null
    /** Of the events: observed within `tolerance.ms` of the moment at which they were due, neither earlier nor later. */
    readonly onTime: number | null
    /** Of the gaps between successive events: as planned, within `tolerance`. */
    readonly gapsWithin: number | null
    /**
     * Of the pods of the trace and those that only the target had: both had it, and the webhook had given it its life
     * if it was to.
     */
    readonly pods: number | null
  }
  /** A gap is as planned if it differs by at most the larger of `ms` and `share` of itself; pauses in it are no part of that share. */
  readonly tolerance: { readonly ms: number; readonly share: number }
  readonly recording: {
    /** ms waited after the last response. */
    readonly settlingMs: number
    /** Whether nothing changed any more when the recording ended. */
    readonly isSettled: boolean
    /** Kinds of which the recording lacks something: their objects are not equal, whatever was seen of them. */
    readonly unmeasured: ReadonlyArray<UnmeasuredKind>
    /** Kinds of which extra objects could not be looked for. */
    readonly unlisted: ReadonlyArray<UnmeasuredKind>
  }
  readonly objects: {
    readonly total: number
    readonly equal: number
    /** Of the total: the recording lacks something of their kind. */
    readonly unmeasured: number
    /** Not of the total: the trace does not have them. */
    readonly extra: number
  }
  /** The first of those; at most {@link mostExtraObjects}. */
  readonly extraObjects: ReadonlyArray<ExtraObject>
  /** States and deletions of the trace, by what became of them. */
  readonly states: Readonly<Record<Exclude<WriteResult, "skipped">, number>> & {
    readonly total: number
    /** Of the equal ones: observed after a later state of the same object. */
    readonly outOfOrder: number
    /** Not caused by the replay, and not as it had applied. */
    readonly extra: number
  }
  /** ms from due to the arrival of the state at the recorder; of events, not of the state at the start. `null`: none was observed. */
  readonly observedMs: Spread | null
  /** Events by the schedule; those of the total that are in none of the other numbers were not observed. `null` at speed `max`. */
  readonly onTime: {
    readonly total: number
    readonly within: number
    readonly early: number
    readonly late: number
  } | null
  /**
   * Between successive events of the trace. `errorMs`: by how many ms it is longer or shorter than planned; `null`: no two successive ones were
   * observed. `null` at speed `max`.
   */
  readonly gaps: { readonly total: number; readonly within: number; readonly errorMs: Spread | null } | null
  /** `null` if neither trace nor target has pods, or those of the target could not be recorded. */
  readonly pods: PodFidelity | null
  readonly timeline: Timeline
  /** The ten worst writes and why. */
  readonly worst: ReadonlyArray<WorstWrite>
  /** Objects in detail: those with differences first, then the latest; at most {@link mostDetails}. */
  readonly details: ReadonlyArray<ObjectDetail>
}

/** An object that the trace does not have. */
export interface ExtraObject {
  readonly gvk: string
  /** In the target. */
  readonly namespace: string
  readonly name: string
}

/** Pods that were created during the run, except where it says all. Durations in real ms; those of the trace are divided by the speed. */
export interface PodFidelity {
  /**
   * What the trace has of its pods: their objects, or only when they started and ended, in whole seconds: then its pods are those that started
   * during the run (those of the target likewise), and how long they were pending is not known. `null`: nothing.
   */
  readonly recordedFrom: "objects" | "lives" | null
  readonly created: PodCount
  /** Of those, how many were pending until the end or their deletion: they are in no duration. `recorded` is `null` for lives. */
  readonly neverStarted: PodCount
  /** Pods of the trace that have a counterpart: the n-th pod of the same owner; for lives, with the same stable spec. */
  readonly paired: number
  /** See {@link FidelityReport.score}. */
  readonly asRecorded: number | null
  /** Of all pods of the target, those at the start too: beyond what the trace has of the same owner. `null`: the trace has no pods. */
  readonly extra: number | null
  /** Of all pods of the trace: without a counterpart. */
  readonly missing: number | null
  /** Pods whose creation the API server did not tell the webhook, so that they do not lead recorded lives; 0 if there was no webhook. */
  readonly unasked: number
  /** From creation to the first phase after Pending; `null`: none was measured. */
  readonly pendingMs: Both<Spread | null>
  /** From there to the end or the deletion. */
  readonly runningMs: Both<Spread | null>
  /** ms by which the durations of a pair differ. */
  readonly pendingDifferenceMs: Spread | null
  readonly runningDifferenceMs: Spread | null
  /** The ten pairs that differ most. */
  readonly worst: ReadonlyArray<{
    readonly owner: string
    readonly pod: Both<string>
    readonly pendingMs: Both<number | null>
    readonly runningMs: Both<number | null>
  }>
}

/** `null`: the trace has no pods. */
interface PodCount {
  readonly recorded: number | null
  readonly replayed: number
}

/** Something in the trace, and in the target. */
export interface Both<T> {
  readonly recorded: T
  readonly replayed: T
}

/** Numbers at the end of each step; ms of real time after the first moment. Those of the trace are at the times at which they were due. */
export interface Timeline {
  readonly stepMs: number
  readonly points: number
  /** By phase; of a trace that has only lives of pods, those that run. */
  readonly pods: Both<Readonly<Record<string, ReadonlyArray<number>>> | null>
  /** `null`: the trace has none, or those of the target could not be recorded. */
  readonly nodes: Both<ReadonlyArray<number> | null>
  /** Objects that the replay writes, by kind; kinds beyond the eight most frequent are together in `others`. */
  readonly objects: Both<Readonly<Record<string, ReadonlyArray<number>>>>
  /** The latest of each step, by the time at which they were due; `null`: nothing was due. */
  readonly lateMs: {
    readonly sent: ReadonlyArray<number | null>
    readonly answered: ReadonlyArray<number | null>
    readonly observed: ReadonlyArray<number | null>
  }
}

/** A write that went wrong, or was among the latest. */
export interface WorstWrite {
  readonly gvk: string
  /** In the target. */
  readonly namespace: string
  readonly name: string
  /** µs since the Unix epoch, in the trace. */
  readonly time: number
  readonly verb: "apply" | "delete"
  readonly result: WriteResult
  /** ms; `null`: not observed, or without schedule. */
  readonly observedMs: number | null
  /** For people. */
  readonly reason: string
}

/** What became of one object, state by state. */
export interface ObjectDetail {
  readonly gvk: string
  /** In the target. */
  readonly namespace: string
  readonly name: string
  readonly isEqual: boolean
  /** All of them; `states` has at most {@link mostStates}. */
  readonly total: number
  readonly states: ReadonlyArray<StateDetail>
  /** What happened to it besides. */
  readonly extra: ReadonlyArray<{
    /** ms after the first moment. */
    readonly at: number
    readonly reason: string
    readonly differences: ReadonlyArray<FieldDifference>
  }>
}

/** Times in ms after the first moment of the trace was due; `null`: it did not happen, or has no schedule. */
export interface StateDetail {
  /** µs since the Unix epoch, in the trace. */
  readonly time: number
  readonly verb: "apply" | "delete"
  readonly result: WriteResult
  readonly isInOrder: boolean
  readonly due: number | null
  readonly sent: number | null
  readonly answered: number | null
  readonly observed: number | null
  /** Why it was not accepted; the empty string if it was. */
  readonly reason: string
  readonly differences: ReadonlyArray<FieldDifference>
}

/** Objects in detail: few enough for a page of some hundred kB. */
export const mostDetails = 60
/** States of one object in detail: first those that went wrong. */
export const mostStates = 30
/** Extra objects that are named. */
export const mostExtraObjects = 20
/** Wide enough for a server that is busy for a moment, and far below the seconds that pods take to start. */
export const gapTolerance = { ms: 250, share: 0.05 } as const
