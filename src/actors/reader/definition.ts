/** The reader as others see it: questions about the recording, which change nothing and may be asked again. */
import * as Schema from "effect/Schema"
import type { ActorDefinition } from "../../runtime/actor.ts"
import { GivenFilters } from "../../trace/selection/filters.ts"

export interface ReaderConfig {
  /** The data directory; opened read-only for each question. */
  readonly directory: string
}

/** µs since the Unix epoch. */
const ReadWindow = Schema.Struct({
  /** Inclusive. */
  fromTime: Schema.Number,
  /** Exclusive. */
  untilTime: Schema.Number,
})

/** What a recording holds of one kind within a window; as readCoverage has it. */
const ReadKind = Schema.Struct({
  gvk: Schema.String,
  events: Schema.Number,
  since: Schema.UndefinedOr(Schema.Number),
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
      /** The only namespace that it concerns; empty: all of them. */
      namespace: Schema.String,
    }),
  ),
})
export type ReadKind = typeof ReadKind.Type

const RecordedSince = Schema.Struct({ gvk: Schema.String, namespace: Schema.String, since: Schema.Number })

const ReadCoverage = Schema.Struct({
  /** Sequence number of the last event on disk. */
  cut: Schema.Number,
  kinds: Schema.Array(ReadKind),
})
export type ReadCoverage = typeof ReadCoverage.Type

/** What is to be counted. */
export const CountQuestion = Schema.Struct({
  ...ReadWindow.fields,
  /** Last sequence number that counts. */
  cut: Schema.Number,
  kinds: Schema.Array(Schema.String),
  /** Those by name and namespace are applied; the others would need every object to be read. */
  filters: GivenFilters,
})
export type CountQuestion = typeof CountQuestion.Type

/** The question cannot be answered, and why. */
export class ReadingFailed extends Schema.TaggedError<ReadingFailed>()("ReadingFailed", {
  message: Schema.String,
  /** `recording`: it cannot be read. `busy`: {@link maximumWaiting} questions wait already; ask again. */
  fault: Schema.Literals(["recording", "busy"]),
}) {}

/**
 * Questions that take long and wait for the one at work: beyond this the client is told to ask again. 64 counts of 100,000 events each
 * are some ten seconds of work.
 */
export const maximumWaiting = 64

/**
 * Priority of the reader's thread, as `nice` counts. Below that of whatever records, which goes first, and above exports, which
 * take minutes anyway: somebody waits for an answer. Where they compete for a core, it gets a third of what a watcher gets.
 */
export const readerNice = 5

const readerControl = {
  /** What is recorded of each kind within a window, from rows and tables of contents: some ms, whatever the recording's size. */
  coverage: { payload: ReadWindow, success: ReadCoverage, error: ReadingFailed },
  /** Since when each kind and namespace is recorded, as readRecordedSince has it. */
  recordedSince: { payload: Schema.Void, success: Schema.Array(RecordedSince), error: ReadingFailed },
  /** By kind how many objects exist when the window begins, and how many changes it holds: without reading an object. One at a time. */
  count: {
    payload: CountQuestion,
    success: Schema.Record(Schema.String, Schema.Struct({ objects: Schema.Number, events: Schema.Number })),
    error: ReadingFailed,
  },
} as const

export type ReaderControl = typeof readerControl

export const readerDefinition: ActorDefinition<ReaderConfig, ReaderControl, never> = {
  role: "reader",
  control: readerControl,
}
