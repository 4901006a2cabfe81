/** What a replay is asked to do, and what it tells while it does it. */
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { TraceItem } from "../../trace/trace-item.ts"
import type { Placement } from "../objects/pod-templates.ts"
import type { SeededKinds } from "../objects/seeded-status.ts"
import type { FollowPods } from "../pods/followed-pods.ts"
import type { Speed } from "../schedule/replay-clock.ts"
import type { OnConflict } from "../target/target-cluster.ts"
import type { RootKeeper } from "./replay-root.ts"
import type { ReplayWitness } from "./replay-witness.ts"
import type { ReplayWindow } from "./trace-changes.ts"

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
