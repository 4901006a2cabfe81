/**
 * What a segment says of itself, in its footer: enough to decide whether to read it, and to continue after it. Of the archive it knows nothing: the fence has it in a
 * recorder's main thread, which loads no SQLite.
 */
import * as Schema from "effect/Schema"

/** The only format that this program reads and writes. */
export const SEGMENT_FORMAT = 1

/** One segment of one stream. */
export const SegmentIdentity = Schema.Struct({
  /** UID of the namespace kube-system. */
  clusterUid: Schema.String,
  /** The stream's random id. */
  stream: Schema.String,
  /** From 1 on, without a hole. */
  number: Schema.Number,
  /** One more for each recorder that took the stream over. */
  epoch: Schema.Number,
  /** Random id of the writer's tenure. */
  owner: Schema.String,
  /** {@link StoredSegment.sha256} of the segment before; empty for the first. */
  previous: Schema.String,
  /**
   * Only of a compacted segment: which ones it replaces. `number` is that of the last one, `previous` the hash of the one before the first, and the
   * epoch, the owner and the position are those of the last one.
   */
  replaces: Schema.optional(
    Schema.Struct({
      /** Number of the first. */
      from: Schema.Number,
      /** Hash of the last one, which the segment behind it names as `previous`. */
      sha256: Schema.String,
    }),
  ),
})
export type SegmentIdentity = typeof SegmentIdentity.Type

const Position = Schema.Struct({
  sequence: Schema.Number,
  sealedThrough: Schema.Number,
  lives: Schema.Number,
  objects: Schema.Record(Schema.String, Schema.Number),
  ownerSets: Schema.Number,
  pods: Schema.Number,
  writes: Schema.Number,
})

const Kind = Schema.Struct({
  gvk: Schema.String,
  events: Schema.Number,
  gaps: Schema.Number,
  fromTime: Schema.Number,
  toTime: Schema.Number,
  firstVersion: Schema.String,
  lastVersion: Schema.String,
})

/** Times are µs since the Unix epoch. */
export const SegmentFacts = Schema.Struct({
  ...SegmentIdentity.fields,
  format: Schema.Literal(SEGMENT_FORMAT),
  /** Of the recording's tables. */
  recordingFormat: Schema.Number,
  /** It has what came after this sequence number, and up to this one. */
  after: Schema.Number,
  through: Schema.Number,
  /** False: it counts only with the segments that follow it, up to a whole one of the same epoch. */
  isWhole: Schema.Boolean,
  /** From where the next segment continues. */
  position: Position,
  /** Of its events; 0 if it has none. */
  fromTime: Schema.Number,
  toTime: Schema.Number,
  kinds: Schema.Array(Kind),
})
export type SegmentFacts = typeof SegmentFacts.Type

/** A segment as it is known from its footer. */
export interface StoredSegment {
  readonly facts: SegmentFacts
  /** Hexadecimal: of the footer, which has the hash of everything before it. It identifies the segment. */
  readonly sha256: string
  /** Of the object. */
  readonly bytes: number
}

/** Up to where a stream has been read or applied. The next segment names the hash as `previous`. */
export interface StreamMark {
  /** Of the last segment. */
  readonly number: number
  readonly sha256: string
}

/** The mark behind a segment, and who wrote that. */
export const markBehind = ({
  facts: { number, epoch, owner, replaces },
  sha256,
}: StoredSegment): StreamMark & Pick<SegmentIdentity, "epoch" | "owner"> => ({
  ...{ number, epoch, owner, sha256: replaces?.sha256 ?? sha256 },
})

/** A segment that is to be created. */
export interface EncodedSegment extends StoredSegment {
  /** The object, in parts of at most 8 MiB. */
  readonly parts: ReadonlyArray<Uint8Array>
  /** Rows besides those that every whole segment has: 0 says that nothing has happened. */
  readonly rows: number
}
