/** What a replay reports of itself while it runs, for a comparison with what the target did. */
import type { OwnedLifecycles } from "../../trace/formats/simkube/simkube-trace.ts"
import type { TargetPlace } from "../objects/target-object.ts"
import type { WriteOutcome } from "../target/target-cluster.ts"
import type { TraceChange } from "./trace-changes.ts"

/** A write, when it is submitted. */
export interface SubmittedWrite {
  readonly place: TargetPlace
  readonly verb: "apply" | "delete"
  /** µs since the Unix epoch, in the trace. */
  readonly time: number
  /** `undefined` for the state at the start, which has no schedule. */
  readonly due: WriteDue | undefined
}

/** When a change is due. Monotonic ms. */
export interface WriteDue {
  /** By the schedule, which may have been delayed. */
  readonly dueMs: number
  /** By the schedule without delays; NaN if there is none (speed `max`). */
  readonly plannedMs: number
  /** How long the replay was paused before that, in all: `plannedMs` includes it. */
  readonly pausedMs: number
}

/** When moments of the trace are due; all moments are µs since the Unix epoch. */
export interface TraceSchedule {
  /** The first moment that is replayed. */
  readonly start: number
  /** Monotonic ms at which a moment is or was due; Infinity while the replay is paused before it. Also to be called after the run. */
  readonly dueMs: (moment: number) => number
}

/** The same write once it has settled. */
export interface SettledWrite {
  /** Monotonic ms; `undefined`: no request was sent. */
  readonly sentMs: number | undefined
  /** Monotonic ms. */
  readonly settledMs: number
  readonly outcome: WriteOutcome
  /** The JSON that was applied; `undefined` for deletions and for what was not sent. */
  readonly body: string | undefined
}

/** Its methods never throw or reject, and those that are called per event never wait: a replay must not be slower for being watched. */
export interface ReplayWitness {
  /**
   * Called once, before the state at the start is written, which waits for it. `kinds`: those of the trace, as far as they are known. Once
   * `signal` is aborted, because the replay was stopped, there is nothing to wait for.
   */
  begin(kinds: Iterable<string>, signal: AbortSignal): Promise<void>
  /** The trace has a change of this kind; called some time before it is due. */
  expectKind(gvk: string): void
  /** The first moment of the trace is due. `startMs`: monotonic ms. */
  started(startMs: number, schedule: TraceSchedule): void
  /** A change of the trace, replayed or not. `dueMs`: monotonic ms; `undefined` for the state at the start. */
  passed(change: TraceChange, dueMs: number | undefined): void
  /** Lives that the trace has of pods, whether or not they are in the part that is replayed. Comes in the trace's order. */
  lives(owned: OwnedLifecycles): void
  /** Returns the number of the write for {@link settled}. */
  submitted(write: SubmittedWrite): number
  settled(write: number, settled: SettledWrite): void
  /**
   * Called once everything was answered, before it is removed, which waits for it. Not called if the replay fails. `until`: the moment of the
   * trace at which the replay ended, µs since the Unix epoch. Once `signal` is aborted, because the replay was stopped, there is nothing to
   * wait for.
   */
  end(until: number, signal: AbortSignal): Promise<void>
}
