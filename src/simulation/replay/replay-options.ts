/** What a replay is asked to do, and what it tells while it does it. */
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/index.ts"
import type { OwnedLifecycles, TraceItem } from "../../trace/index.ts"
import type { SeededKinds } from "../objects/not-replayed.ts"
import type { Placement } from "../objects/pod-templates.ts"
import type { TargetPlace } from "../objects/target-object.ts"
import type { FollowPods } from "../pods/followed-pods.ts"
import type { Speed } from "../schedule/replay-clock.ts"
import type { OnConflict, WriteOutcome } from "../target/target-cluster.ts"
import type { RootKeeper } from "./replay-root.ts"
import type { ReplayWindow, TraceChange } from "./trace-changes.ts"

// What a replay reports of itself while it runs, for a comparison with what the target did.

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

/** What is replayed, where to and how. Durations are ms of real time unless they are said to be of the trace. */
export interface ReplayOptions {
  /** Label value of everything that is created: a DNS label of at most 40 characters. */
  readonly name: string
  /** The Simulation that the replay is a repetition of. Default: none. */
  readonly simulation?: string | undefined
  /** The owner of everything that is created. Default: a namespace of its own. */
  readonly root?: RootKeeper | undefined
  /** The trace, in chunks. Its errors reject the replay, after everything was removed. */
  readonly items: AsyncIterable<Iterable<TraceItem>>
  /** The trace comes from a pipe, which may be silent for ever: the end of the window ends the replay although the pipe has not ended. */
  readonly isPipe: boolean
  readonly window: ReplayWindow
  /** For the target. Its retry policy decides what is repeated. */
  readonly client: ApiClient
  readonly clock: Clock
  readonly speed: Speed
  /** The first change after the start waits for `Replay.resume` or `Replay.step`. */
  readonly startsPaused: boolean
  /** Writes at the same time; the client must allow as many. */
  readonly concurrency: number
  /** Real ms by which an event may be late before `onLag` applies. */
  readonly maximumLagMs: number
  /** `slow`: the rest of the schedule is delayed; `fail`: the replay stops. */
  readonly onLag: "slow" | "fail"
  readonly onConflict: OnConflict
  /** The first refused object stops the replay. */
  readonly isStrict: boolean
  /** Leaves everything in the target. */
  readonly keep: boolean
  readonly namespacePrefix: string
  readonly placement: Placement
  /** Allows the target to be the cluster whose trace it is. */
  readonly intoRecordedCluster: boolean
  /** Kinds without version that are replayed although they usually are not. */
  readonly included: ReadonlySet<string>
  /** Kinds whose objects get their recorded status at the start. Default: none. */
  readonly seededStatus?: SeededKinds
  /** Gives pods their recorded lives. Default: they live as the target decides. */
  readonly followPods?: FollowPods | undefined
  /**
   * Called for each custom kind that the trace has not defined so far, before its first object is written: a target that can, serves it from
   * then on. Default: objects of kinds that the target lacks are refused.
   */
  readonly onUndefinedKind?: ((gvk: string, isNamespaced: boolean) => void) | undefined
  /** Ends the replay; what was created is removed all the same. */
  readonly signal: AbortSignal
  /** Ends the removal. */
  readonly cleanUpSignal: AbortSignal
  readonly onProgress: (progress: ReplayProgress) => void
  /** Gets RemovalUnchecked, RemovalIncomplete or an ApiError. */
  readonly onRemovalFailed: (error: unknown) => void
  /** Default: none. */
  readonly witness?: ReplayWitness
}

/** Where a replay is at this moment. */
export interface ReplayProgress {
  readonly phase: "seeding" | "replaying" | "settling" | "cleaning up"
  /** µs since the Unix epoch, in the trace. */
  readonly position: number
  /** ms since the first moment of the trace was due; 0 before. */
  readonly elapsedMs: number
  readonly isPaused: boolean
  readonly speed: Speed
  /** ms by which the schedule was delayed because the target could not keep up. */
  readonly delayedMs: number
  readonly accepted: number
  readonly refused: number
  /** Writes without response; while cleaning up, objects that are left. */
  readonly pending: number
  /** Of the last response: ms since its event was due. */
  readonly lagMs: number
}
