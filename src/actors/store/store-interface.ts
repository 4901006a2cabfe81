/** The store's interface: its configuration, its control calls and its reports. */
import * as Schema from "effect/Schema"
import { PinRefused } from "../../archive/index.ts"
import { RedactedValues } from "../../kube/offline.ts"
import type { ActorDefinition } from "../../runtime/index.ts"
import { writeEffects } from "../../trace/index.ts"
import { DiscoveredKind } from "../../wire/index.ts"
import { PinFields, PinRequestFields } from "../pins.ts"

export interface StoreConfig {
  /** The data directory; locked for as long as the store lives. */
  readonly directory: string
  /**
   * `interval`: a crash of the process loses nothing acknowledged, a power failure loses at most the last second. `always`: every commit
   * waits for the disk, and a power failure loses nothing either.
   */
  readonly fsync: "interval" | "always"
  /** Watchers that will be linked, by actor name, with the kind each records. The control call `expect` changes them. */
  readonly watchers: ReadonlyArray<StoreWatcher>
  /** Whether an owner-resolver may be linked: without one no owners are looked up. */
  readonly asksOwners: boolean
  /**
   * Kinds all of whose objects are recorded (no selector, no namespaces, not `skipOwned: ingest`): their owners need no look-up. Changed
   * likewise.
   */
  readonly recordedKinds: ReadonlyArray<string>
  /** NAMESPACE/NAME of the recorder's Lease, for another process that wants the directory too. Default: none. */
  readonly lease?: string
  /** Whether the recording is archived: what is not yet is held then ({@link Retention.hold}). Default: it is not. */
  readonly isArchived?: boolean
  /** How much is kept. The control call `setRetention` changes it. Default: everything. */
  readonly retention?: RetentionSettings
}

const limits = {
  /** µs for which what was received is kept. */
  forMicros: Schema.optionalKey(Schema.Number),
  /** Bytes on disk. */
  bytes: Schema.optionalKey(Schema.Number),
}

/** How much of a recording is kept, as plain data: archive/retention/policy.ts. */
export const RetentionSettings = Schema.Struct({
  ...limits,
  kinds: Schema.Array(Schema.Struct({ gvk: Schema.String, ...limits })),
  /** Of each kind that `kinds` does not have. */
  each: Schema.optionalKey(Schema.Struct(limits)),
})
export interface RetentionSettings extends Schema.Schema.Type<typeof RetentionSettings> {}

/** A watcher that will be linked. */
interface StoreWatcher {
  readonly name: string
  readonly gvk: string
  /** Whether it follows pod lifecycles; at most one does. */
  readonly tracksPods: boolean
}

/** The watchers that the store expects to be linked from now on. */
export const ExpectedKinds = Schema.Struct({
  watchers: Schema.Array(Schema.Struct({ name: Schema.String, gvk: Schema.String, tracksPods: Schema.Boolean })),
  recordedKinds: Schema.Array(Schema.String),
})
export interface ExpectedKinds extends Schema.Schema.Type<typeof ExpectedKinds> {}

/** Reported only when it matters to people. */
export type StoreReport =
  /** The recording cannot be written now; nothing is dropped, and writing is retried. */
  | { readonly type: "commit-failed"; readonly message: string }
  | { readonly type: "commit-recovered" }
  /**
   * A frame of this life of a sender cannot be decoded. Neither it nor anything that the same life sends later is recorded; the sender has
   * to restart from the recorded state.
   */
  | { readonly type: "refused"; readonly sender: string; readonly incarnation: number; readonly message: string }
  /** An owner that is not recorded was named, for the first time in this life, or one from an earlier life is still open. */
  | { readonly type: "owners-named" }
  /** What was committed is not on the disk any more. This life ends, and senders must continue from what is recorded then. */
  | { readonly type: "distrusted"; readonly message: string }
  /** The recording was damaged: its files were moved, and a new one was begun. */
  | { readonly type: "set-aside"; readonly path: string; readonly reason: string }
  /** Other users can read or change files of the recording. Reported once. */
  | { readonly type: "exposed"; readonly message: string }
  /** What is to be removed cannot be removed; `undefined`: it can again. Nothing that was recorded is affected. */
  | { readonly type: "retention"; readonly trouble: string | undefined }
  /** The recording's files were removed: recording cannot continue. */
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
  /** Bytes waiting for a commit. */
  pendingBytes: Schema.Number,
  /** ms for which the oldest uncommitted frame has waited; 0 if none waits. */
  lagMs: Schema.Number,
  /** Sequence number of the last committed event, 0 for none. */
  sequence: Schema.Number,
  /** ms since the sync began that has not ended yet; 0: none runs. */
  syncingMs: Schema.Number,
  /** Bytes on disk of the database, of them free, and of its log. */
  databaseBytes: Schema.Number,
  freeBytes: Schema.Number,
  logBytes: Schema.Number,
  /** Blocks and events removed by retention in this life, and events carried over. */
  removedBlocks: Schema.Number,
  removedEvents: Schema.Number,
  carriedEvents: Schema.Number,
  /** How many values were replaced in what is recorded. */
  redacted: Schema.Array(RedactedValues),
  /** Whether a reader's lease keeps what is to be removed. */
  isRetentionHeldUp: Schema.Boolean,
  /** Events removed in this life although they were not archived, because the disk was full. */
  unsentEvents: Schema.Number,
  /** ms of the longest turn of retention in this life. */
  longestRetentionMs: Schema.Number,
  /** µs since the Unix epoch: kinds without limits of their own are kept from then on; 0: nothing was removed. */
  removedThrough: Schema.Number,
})

const GapFields = Schema.Struct({
  fromVersion: Schema.String,
  toVersion: Schema.String,
  fromTime: Schema.Number,
  toTime: Schema.Number,
  reason: Schema.Literals(["expired", "overload", "stopped", "cluster-restored", "damaged"]),
  detail: Schema.String,
  namespace: Schema.String,
})

const Author = Schema.Struct({
  user: Schema.String,
  groups: Schema.Array(Schema.String),
  userAgent: Schema.String,
  sourceIPs: Schema.Array(Schema.String),
  impersonated: Schema.optionalKey(Schema.String),
  verb: Schema.String,
  subresource: Schema.optionalKey(Schema.String),
  fieldManager: Schema.optionalKey(Schema.String),
})

/** What a batch of audit events says of who wrote. */
export const AuditBatch = Schema.Struct({
  writes: Schema.Array(
    Schema.Struct({
      ...{ group: Schema.String, resource: Schema.String, object: Schema.String },
      ...{ effect: Schema.Literals(writeEffects), version: Schema.String, isCertain: Schema.Boolean },
      auditID: Schema.String,
      ...{ received: Schema.Number, completed: Schema.Number, author: Author },
    }),
  ),
  /** µs since the Unix epoch, of the first and the last event of the batch, whether they are writes or not. */
  range: Schema.Struct({ from: Schema.Number, to: Schema.Number }),
})
export interface AuditBatch extends Schema.Schema.Type<typeof AuditBatch> {}

const storeControl = {
  /** The number of a sender's next life; increases for ever, also across restarts of the process. */
  nextIncarnation: { payload: Schema.String, success: Schema.Number, error: StoreUnavailable },
  /** Commits pending frames; returns the sequence number up to which everything is on disk. */
  cut: { payload: Schema.Void, success: Schema.Number, error: StoreUnavailable },
  /** Records a gap for a kind that has no watcher any more; has no effect if the gap is already recorded. */
  recordGap: {
    payload: Schema.Struct({ gvk: Schema.String, gap: GapFields }),
    success: Schema.Void,
    error: StoreUnavailable,
  },
  /** UID of namespace kube-system as recorded; the empty string if unknown. */
  clusterUid: { payload: Schema.Void, success: Schema.String, error: Schema.Never },
  /** What the previous recorder of the directory stored by `setRecorderState`; the empty string for none. */
  recorderState: { payload: Schema.Void, success: Schema.String, error: Schema.Never },
  /** Keeps what is recorded now, for readers without the recorder; see the recorder's `recorder-state.ts`. */
  setRecorderState: { payload: Schema.String, success: Schema.Void, error: StoreUnavailable },
  /** Keeps what the API server's discovery says of a kind, for readers of the recording. */
  learnKind: { payload: DiscoveredKind, success: Schema.Void, error: StoreUnavailable },
  /** The recording's place in its stream, as it was kept; the empty string: it was never archived. */
  tenure: { payload: Schema.Void, success: Schema.String, error: Schema.Never },
  /** Keeps it in place of another, and up to where blocks are in the stream for good; fails if this recording has neither. */
  keepTenure: {
    payload: Schema.Struct({
      before: Schema.String,
      text: Schema.String,
      heldAfter: Schema.Number,
      sentWrites: Schema.Number,
    }),
    success: Schema.Void,
    error: StoreUnavailable,
  },
  /** The recorder has all its first lists, at that moment (µs since the Unix epoch). Has no effect on a recording that other recorders began. */
  firstLists: { payload: Schema.Number, success: Schema.Void, error: StoreUnavailable },
  /** Adds who wrote, durably with the reply. Returns how many writes were to recorded kinds; others are not kept. */
  addAuthors: { payload: AuditBatch, success: Schema.Number, error: StoreUnavailable },
  /** Makes a pin, or extends the one with the same key, durably with the reply. */
  pin: { payload: PinRequestFields, success: PinFields, error: Schema.Union([StoreUnavailable, PinRefused]) },
  /** Removes a pin and its copy; whether there was one. */
  unpin: { payload: Schema.String, success: Schema.Boolean, error: StoreUnavailable },
  /** The window of a pin was exported at that moment, µs since the Unix epoch; whether there is such a pin. */
  pinExported: {
    payload: Schema.Struct({ id: Schema.String, atMicros: Schema.Number }),
    success: Schema.Boolean,
    error: StoreUnavailable,
  },
  setClusterUid: { payload: Schema.String, success: Schema.Void, error: StoreUnavailable },
  /**
   * Replaces `watchers` and `recordedKinds` of the configuration. Watchers must be linked only after the reply, and those omitted here must
   * have ended before. Repeating the call has no effect. While the disk fails, the watchers change at once and the recorded kinds with the
   * next commit.
   */
  expect: { payload: ExpectedKinds, success: Schema.Void, error: Schema.Never },
  /** Replaces `retention` of the configuration. */
  setRetention: { payload: RetentionSettings, success: Schema.Void, error: Schema.Never },
  /** The end of a kind's recording. */
  kindState: {
    payload: Schema.String,
    success: Schema.Struct({
      /** The empty string before the first list, and if each namespace has its own. */
      resumeVersion: Schema.String,
      /** µs since the Unix epoch at which the kind was last complete. */
      completeTime: Schema.Number,
      /** µs since the Unix epoch since which the kind is recorded; 0: its first list is not complete. */
      recordedSince: Schema.Number,
      /** Empty unless the kind is watched namespace by namespace. */
      namespaces: Schema.Array(
        Schema.Struct({ namespace: Schema.String, resumeVersion: Schema.String, recordedSince: Schema.Number }),
      ),
    }),
    error: StoreUnavailable,
  },
  /** Whether `owners-named` was reported in this life: the report may still be on its way when this returns. */
  asksForOwners: { payload: Schema.Void, success: Schema.Boolean, error: Schema.Never },
  statistics: { payload: Schema.Void, success: StoreStatistics, error: Schema.Never },
  /** ms of the longest commit since the previous call: for a single regular caller, which is `/metrics`. */
  takeLongestCommit: { payload: Schema.Void, success: Schema.Number, error: Schema.Never },
} as const

export type StoreControl = typeof storeControl

export const storeDefinition: ActorDefinition<StoreConfig, StoreControl, StoreReport> = {
  role: "store",
  control: storeControl,
}
