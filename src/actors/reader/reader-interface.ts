/** The reader's interface: queries about the recording, which change nothing and can be repeated. */
import * as Schema from "effect/Schema"
import { RedactedValues } from "../../kube/offline.ts"
import type { ActorDefinition } from "../../runtime/index.ts"
import { GivenFilters } from "../../trace/index.ts"
import { EventTimes, LateChanges } from "../late-changes.ts"
import { PinFields } from "../pins.ts"
import { Question } from "./question.ts"

export interface ReaderConfig {
  /** The data directory; opened read-only for each query. */
  readonly directory: string
}

/** µs since the Unix epoch. */
const ReadWindow = Schema.Struct({
  /** Inclusive. */
  fromTime: Schema.Number,
  /** Exclusive. */
  untilTime: Schema.Number,
  /** Which times the window has. Default: when events happened. */
  times: Schema.optionalKey(EventTimes),
})

/** The recorded part of one kind within a window, as from readCoverage. */
const ReadKind = Schema.Struct({
  gvk: Schema.String,
  events: Schema.Number,
  since: Schema.UndefinedOr(Schema.Number),
  /** µs since the Unix epoch up to which retention has removed everything; 0 or absent: nothing. */
  removedThrough: Schema.optionalKey(Schema.Number),
  completeTime: Schema.Number,
  namespaces: Schema.Array(
    Schema.Struct({
      namespace: Schema.String,
      since: Schema.UndefinedOr(Schema.Number),
      completeTime: Schema.Number,
    }),
  ),
  gaps: Schema.Array(
    Schema.Struct({
      fromTime: Schema.Number,
      toTime: Schema.Number,
      reason: Schema.String,
      detail: Schema.String,
      /** The only namespace that the gap concerns; empty: all namespaces. */
      namespace: Schema.String,
    }),
  ),
  late: Schema.Array(LateChanges),
})
export type ReadKind = typeof ReadKind.Type

const RecordedSince = Schema.Struct({
  gvk: Schema.String,
  namespace: Schema.String,
  since: Schema.Number,
  removedThrough: Schema.optionalKey(Schema.Number),
  isLater: Schema.optionalKey(Schema.Literal(true)),
  completeTime: Schema.Number,
})

const ReadCoverage = Schema.Struct({
  /** Sequence number of the last event on disk. */
  cut: Schema.Number,
  kinds: Schema.Array(ReadKind),
  /** How many values were replaced in the whole recording. */
  redacted: Schema.Array(RedactedValues),
  /** µs since the Unix epoch between which audit events were taken; absent: none ever were. */
  authors: Schema.optionalKey(Schema.Struct({ from: Schema.Number, to: Schema.Number })),
})
export type ReadCoverage = typeof ReadCoverage.Type

const AskedKind = Schema.Struct({
  gvk: Schema.String,
  /** `deployments`; absent: not recorded. */
  plural: Schema.optionalKey(Schema.String),
  namespaced: Schema.optionalKey(Schema.Boolean),
  /** In which objects were recorded; absent: not asked for. */
  namespaces: Schema.optionalKey(Schema.Array(Schema.String)),
})

/** What to count. */
export const CountQuestion = Schema.Struct({
  ...ReadWindow.fields,
  /** Sequence number of the last event to count. */
  cut: Schema.Number,
  kinds: Schema.Array(Schema.String),
  /** Only filters by name and namespace are applied; the others would require reading every object. */
  filters: GivenFilters,
})
export type CountQuestion = typeof CountQuestion.Type

/** Why the query failed. */
export class ReadingFailed extends Schema.TaggedError<ReadingFailed>()("ReadingFailed", {
  message: Schema.String,
  /**
   * `recording`: it cannot be read. `busy`: {@link maximumWaiting} queries are already waiting; retry later. `question`: it is wrong. `not-recorded`: it is
   * about a kind that the recording does not have. `gone`: about events that it does not have any more.
   */
  fault: Schema.Literals(["recording", "busy", "question", "not-recorded", "gone"]),
}) {}

/**
 * Long queries that wait for the running one: the reader refuses more, and the client has to retry. 64 counts of
 * 100,000 events each take some ten seconds.
 */
export const maximumWaiting = 64

/**
 * Priority of the reader's thread, in `nice` units: below recording, which has precedence, and above exports, which take minutes anyway,
 * because a client is waiting. When competing for a core, it gets a third of a watcher's share.
 */
export const readerNice = 5

/** bytes of an answer that may be under way: enough for a client on this machine never to wait, little for a hundred that do not read. */
const answerWindowBytes = 512 * 1024

const readerControl = {
  /** The recorded parts of each kind within a window, from rows and tables of contents: some ms for a recording of any size. */
  coverage: { payload: ReadWindow, success: ReadCoverage, error: ReadingFailed },
  /** From when and up to when each kind and namespace is recorded; excludes those whose first list is in progress. */
  recordedSince: { payload: Schema.Void, success: Schema.Array(RecordedSince), error: ReadingFailed },
  /** The windows that are kept, the earliest first. */
  pins: { payload: Schema.Void, success: Schema.Array(PinFields), error: ReadingFailed },
  /**
   * By kind, the number of objects that exist at the start of the window, and of changes in it, without reading an object. One at a time.
   */
  count: {
    payload: CountQuestion,
    success: Schema.Record(Schema.String, Schema.Struct({ objects: Schema.Number, events: Schema.Number })),
    error: ReadingFailed,
  },
  /**
   * The kinds that these names mean, and all others that are recorded, with what has to be known to ask for rights to them; `withNamespaces`: also where
   * objects of them were recorded. Fails as a question with these names would.
   */
  askedKinds: {
    payload: Schema.Struct({ names: Schema.Array(Schema.String), withNamespaces: Schema.Boolean }),
    success: Schema.Struct({ named: Schema.Array(AskedKind), others: Schema.Array(AskedKind) }),
    error: ReadingFailed,
  },
  /**
   * A question about the past; the answer follows as the frames of the stream, JSON in UTF-8. Closing the stream gives it up. Answers run at once, a piece at a
   * time in turn.
   */
  query: {
    payload: Question,
    success: Schema.Void,
    error: ReadingFailed,
    stream: { windowBytes: answerWindowBytes },
  },
} as const

export type ReaderControl = typeof readerControl

export const readerDefinition: ActorDefinition<ReaderConfig, ReaderControl, never> = {
  role: "reader",
  control: readerControl,
}
