/** The archivist's interface. Every call may be repeated. */
import * as Schema from "effect/Schema"
import { ChainLink, Shipment, Tenure } from "../../fleet/index.ts"
import type { ActorDefinition } from "../../runtime/index.ts"

export interface ArchivistConfig {
  /** The data directory. */
  readonly directory: string
  /** Where the stream is: s3://, gs://, azure://, or a directory. */
  readonly address: string
}

/** Something could not be done now; it is tried again. The message says what, and what to do. */
export class ArchivingFailed extends Schema.TaggedError<ArchivingFailed>()("ArchivingFailed", {
  message: Schema.String,
  /** Whether only a person can end it: a right, a bucket or a package is missing. */
  isLasting: Schema.Boolean,
}) {}

/** Whose a recording is, by what its recorders keep in it: `K/N` of a shard; absent: a whole cluster's. */
const RecordedShard = Schema.Struct({ shard: Schema.optionalKey(Schema.String) })

const FoundStream = Schema.Struct({
  id: Schema.String,
  clusterUid: Schema.String,
  last: Schema.optional(ChainLink),
  /** What the recording in the directory says; absent: there is none, or it was never archived. */
  tenure: Schema.optional(Tenure),
  /** Of the recording in the directory; absent: nothing says it. */
  recorded: Schema.optional(RecordedShard),
})

const Restored = Schema.Struct({
  tenure: Tenure,
  /** Where the recording is that was in the directory; the empty string: there was none. */
  setAside: Schema.String,
  /** Blocks that were damaged when they were sent. */
  lostBlocks: Schema.Number,
})

/** Of the state that a recorder keeps, what an archivist needs; a trace that was made a recording says no kinds. */
export const RecordedState = Schema.fromJsonString(
  Schema.Struct({ ...RecordedShard.fields, kinds: Schema.Array(Schema.Unknown) }),
)

/** The stream is that of another shard, or of a whole cluster. Nothing was added to it. */
export class StreamOfAnotherShard extends Schema.TaggedError<StreamOfAnotherShard>()("StreamOfAnotherShard", {
  ...RecordedShard.fields,
  /** Where the recording is that was in the directory; the empty string: there was none. */
  setAside: Schema.String,
}) {}

const error = ArchivingFailed

const archivistControl = {
  /** Reads the end of the stream, which is begun for this cluster if there is none. */
  find: { payload: Schema.Struct({ clusterUid: Schema.String }), success: FoundStream, error },
  /**
   * Only while no store has the directory: sets aside what is in it, and restores the stream, if it is that of `shard`. The recording has the next epoch's tenure
   * then.
   */
  restore: { payload: RecordedShard, success: Restored, error: Schema.Union([error, StreamOfAnotherShard]) },
  /**
   * Builds the segment after the one that the tenure has shipped, and keeps its bytes until the next call. Without an intent, nothing has happened since.
   * `isForced`: build it all the same.
   */
  build: {
    payload: Schema.Struct({ tenure: Tenure, isForced: Schema.Boolean }),
    success: Schema.Struct({ intent: Schema.optional(Shipment) }),
    error,
  },
  /** Creates the segment that was built, if it has this hash; `lost`: it is not here any more. */
  create: {
    payload: Schema.Struct({ sha256: Schema.String }),
    success: Schema.Literals(["created", "exists", "lost"]),
    error,
  },
  /** What is under a number. */
  look: { payload: Schema.Number, success: Schema.Struct({ link: Schema.optional(ChainLink) }), error },
  /** Up to which number segments have been compacted; 0: none. */
  compacted: { payload: Schema.Void, success: Schema.Number, error },
} as const

export type ArchivistControl = typeof archivistControl

/** How far a restore is. */
export interface ArchivistReport {
  /** Number of the segment that was applied last. */
  readonly segments: number
  readonly allSegments: number
  readonly bytes: number
}

/** Priority of the thread, in `nice` units: recording has precedence. */
export const archivistNice = 10

export const archivistDefinition: ActorDefinition<ArchivistConfig, ArchivistControl, ArchivistReport> = {
  role: "archivist",
  control: archivistControl,
}
