/** The interface of a module worker: a thread that runs several modules, one at a time. */
import * as Schema from "effect/Schema"
import type { ActorDefinition } from "../../../runtime/index.ts"
import type { WatchRequest } from "../../guest/abi-values.ts"
import type { CompiledGuest } from "../../guest/compiled-guest.ts"

export interface ModuleWorkerConfig {
  /** Of {@link entryMarkBytes}: tells the dispatcher which module the worker is in. */
  readonly entryMark: SharedArrayBuffer
  /**
   * Of 4 bytes, with the number of the last subscription of any worker of the host: each is given once, in whatever life of a worker, so that a
   * row that is still under way is never taken for one of another subscription.
   */
  readonly lastSubscription: SharedArrayBuffer
}

/** Identifies an instance. */
const Instance = Schema.Struct({ module: Schema.String, incarnation: Schema.Number })

const Assignment = Schema.Struct({
  module: Schema.String,
  incarnation: Schema.Number,
  /** For the entry mark: unique among the host's modules. */
  slot: Schema.Number,
  compiled: Schema.declare((_: unknown): _ is CompiledGuest => true),
  env: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })),
  maximumMemoryBytes: Schema.Number,
  /** Where it keeps its checkpoint. Absent: it keeps none. */
  checkpointDirectory: Schema.optional(Schema.String),
})
export type Assignment = typeof Assignment.Type

/** Counters since the instance began, and gauges. Times in ms. */
const RunnerStatistics = Schema.Struct({
  /** Calls into the guest. */
  wakeUps: Schema.Number,
  runMs: Schema.Number,
  longestMs: Schema.Number,
  /** Results that came for operations that were not open any more. */
  dropped: Schema.Number,
  queued: Schema.Number,
  /** Of linear memory. */
  memoryBytes: Schema.Number,
})
export type RunnerStatistics = typeof RunnerStatistics.Type

const InstanceStatistics = Schema.Struct({
  ...RunnerStatistics.fields,
  module: Schema.String,
  incarnation: Schema.Number,
  /** Its checkpoint cannot be written, so nothing is passed to it. */
  isWaitingForCheckpoint: Schema.Boolean,
})
export type InstanceStatistics = typeof InstanceStatistics.Type

const moduleWorkerControl = {
  /** Completes before the module has run; its first call follows soon. */
  load: { payload: Assignment, success: Schema.Void, error: Schema.Never },
  /** Ends an instance; without effect if it is not there. */
  release: { payload: Instance, success: Schema.Void, error: Schema.Never },
  /** A watch cannot begin or continue: the guest gets an ERROR event unless `code` is 0, then the end. */
  endWatch: {
    payload: Schema.Struct({
      subscription: Schema.Number,
      code: Schema.Number,
      reason: Schema.String,
      message: Schema.String,
    }),
    success: Schema.Void,
    error: Schema.Never,
  },
  statistics: { payload: Schema.Void, success: Schema.Array(InstanceStatistics), error: Schema.Never },
} as const
export type ModuleWorkerControl = typeof moduleWorkerControl

/** What a worker reports to the dispatcher; all rare. */
export type ModuleWorkerReport =
  /** The instance has ended by itself. */
  | { readonly type: "ended"; readonly module: string; readonly incarnation: number; readonly reason: string }
  /** A guest wants a watch. `subscription` is the worker's number for it, for rows of deliveries. */
  | {
      readonly type: "watch"
      readonly module: string
      readonly incarnation: number
      readonly subscription: number
      readonly request: WatchRequest
    }
  /** The module cannot take more at the moment, or can again. */
  | { readonly type: "paused"; readonly module: string; readonly subscription: number; readonly isPaused: boolean }
  /** Nothing reads the subscription any more. `isExpired`: because the hub has ended it, which does not know the changes since its version. */
  | { readonly type: "unwatched"; readonly subscription: number; readonly isExpired: boolean }
  | { readonly type: "log"; readonly module: string; readonly stream: "stdout" | "stderr"; readonly line: string }
  /**
   * So many rows of a subscription have not arrived, which is a bug of the host. The watch was ended, so that the guest lists again.
   */
  | { readonly type: "missed"; readonly module: string; readonly incarnation: number; readonly rows: number }
  /** Something about the module's checkpoint that an operator should see. */
  | { readonly type: "checkpoint"; readonly module: string; readonly detail: string }

export const moduleWorkerDefinition: ActorDefinition<ModuleWorkerConfig, ModuleWorkerControl, ModuleWorkerReport> = {
  role: "module-worker",
  control: moduleWorkerControl,
}
