/** The store as others see it: its configuration, what it can be asked, what it reports. */
import * as Schema from "effect/Schema"
import type { ActorDefinition } from "../../runtime/actor.ts"

export interface StoreConfig {
  /** The data directory; locked for as long as the store lives. */
  readonly directory: string
  /**
   * `interval`: a crash of the process loses nothing acknowledged, power loss at most the last second. `always`: every commit waits
   * for the disk, and power loss loses nothing either.
   */
  readonly fsync: "interval" | "always"
  /** Watchers that will be linked, by actor name, with the kind each records. Changeable, see `expect` of the control. */
  readonly watchers: ReadonlyArray<StoreWatcher>
  /** Whether an owner-resolver may be linked: without one nobody is asked about owners. */
  readonly asksOwners: boolean
  /**
   * Kinds all of whose objects are recorded (no selector, no namespaces, not `skipOwned: ingest`): nobody need ask for one of them.
   * Changeable likewise.
   */
  readonly recordedKinds: ReadonlyArray<string>
}

/** A watcher that will be linked. */
interface StoreWatcher {
  readonly name: string
  readonly gvk: string
  /** Whether it follows the lives of pods; at most one does. */
  readonly tracksPods: boolean
}

/** Whom the store expects to be linked from now on. */
export const ExpectedKinds = Schema.Struct({
  watchers: Schema.Array(Schema.Struct({ name: Schema.String, gvk: Schema.String, tracksPods: Schema.Boolean })),
  recordedKinds: Schema.Array(Schema.String),
})
export interface ExpectedKinds extends Schema.Schema.Type<typeof ExpectedKinds> {}

/** Told when it matters to people. */
export type StoreReport =
  /** The recording cannot be written now; nothing is dropped, and it is tried again. */
  | { readonly type: "commit-failed"; readonly message: string }
  | { readonly type: "commit-recovered" }
  /**
   * A frame of that life of a sender cannot be understood. Nothing of it is recorded, and nothing that the same life sends after
   * it; the sender has to start again, from what is recorded.
   */
  | { readonly type: "refused"; readonly sender: string; readonly incarnation: number; readonly message: string }
  /** An owner was named that is not recorded, for the first time in this life, or stands open from an earlier one. */
  | { readonly type: "owners-named" }
  /** The recording's files were taken away: there is nothing left to go on with. */
  | { readonly type: "gone"; readonly message: string }
  /** Stopped in order. `events`: committed in this life. */
  | { readonly type: "closed"; readonly events: number }

/** The recording could not be written: the disk is full, the directory is gone. Nothing acknowledged is lost. */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  message: Schema.String,
}) {}

const StoreStatistics = Schema.Struct({
  /** Events committed in this life. */
  events: Schema.Number,
  frames: Schema.Number,
  duplicateFrames: Schema.Number,
  /** Bytes of frames committed. */
  bytes: Schema.Number,
  commits: Schema.Number,
  /** Bytes that wait for a commit. */
  pendingBytes: Schema.Number,
  /** ms that the oldest uncommitted frame has waited; 0 when none waits. */
  lagMs: Schema.Number,
  /** Sequence number of the last committed event, 0 for none. */
  sequence: Schema.Number,
})

const GapFields = Schema.Struct({
  fromVersion: Schema.String,
  toVersion: Schema.String,
  fromTime: Schema.Number,
  toTime: Schema.Number,
  reason: Schema.Literals(["expired", "overload", "stopped", "cluster-restored"]),
  detail: Schema.String,
  namespace: Schema.String,
})

const storeControl = {
  /** The next life's number of a sender; rises for ever, also across restarts of the process. */
  nextIncarnation: { payload: Schema.String, success: Schema.Number, error: StoreUnavailable },
  /** Commits what is pending; answers the sequence number up to which everything is on disk. */
  cut: { payload: Schema.Void, success: Schema.Number, error: StoreUnavailable },
  /** Records a gap on behalf of a kind that has no watcher any more; asked again for the same one it does nothing. */
  recordGap: {
    payload: Schema.Struct({ gvk: Schema.String, gap: GapFields }),
    success: Schema.Void,
    error: StoreUnavailable,
  },
  /** UID of namespace kube-system as recorded; the empty string when unknown. */
  clusterUid: { payload: Schema.Void, success: Schema.String, error: Schema.Never },
  setClusterUid: { payload: Schema.String, success: Schema.Void, error: StoreUnavailable },
  /**
   * Takes the place of `watchers` and `recordedKinds` of the configuration. A watcher is to be linked after this is answered, and
   * one that is left out here is to have ended before. Asked again for the same it does nothing. While the disk refuses,
   * the watchers count at once and the recorded kinds from the next commit on.
   */
  expect: { payload: ExpectedKinds, success: Schema.Void, error: Schema.Never },
  /** Where a kind's recording ends. */
  kindState: {
    payload: Schema.String,
    success: Schema.Struct({
      /** The empty string before the first list, and where each namespace has its own. */
      resumeVersion: Schema.String,
      /** µs since the Unix epoch at which the kind was last complete. */
      completeTime: Schema.Number,
      /** µs since the Unix epoch from which it is recorded; 0: its first list is not complete. */
      recordedSince: Schema.Number,
      /** Empty unless the kind is watched namespace by namespace. */
      namespaces: Schema.Array(
        Schema.Struct({ namespace: Schema.String, resumeVersion: Schema.String, recordedSince: Schema.Number }),
      ),
    }),
    error: StoreUnavailable,
  },
  /** Whether `owners-named` was reported in this life: a report may be under way when this answers. */
  asksForOwners: { payload: Schema.Void, success: Schema.Boolean, error: Schema.Never },
  statistics: { payload: Schema.Void, success: StoreStatistics, error: Schema.Never },
  /** ms of the longest commit since the last time this was asked: for one who asks regularly, which is `/metrics`. */
  takeLongestCommit: { payload: Schema.Void, success: Schema.Number, error: Schema.Never },
} as const

export type StoreControl = typeof storeControl

export const storeDefinition: ActorDefinition<StoreConfig, StoreControl, StoreReport> = {
  role: "store",
  control: storeControl,
}
