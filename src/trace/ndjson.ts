/**
 * The complete, lossless trace format: NDJSON, one line per event, the object in it byte for byte as the server sent
 * it. `ndjson-writer.ts` writes it, `ndjson-reader.ts` reads it; ordinary tools (`jq`, `grep`, `head`) do too.
 *
 * ```
 * {"format":"kubereel","version":1,"window":{"start":…,"end":…},"cut":…,"kinds":[…],"incomplete":[…]}
 * {"sequence":7,"time":…,"action":"applied","gvk":…,"uid":…,"namespace":…,"name":…,"resourceVersion":…,"snapshot":true,"object":{…}}
 * {"sequence":8,"time":…,"action":"deleted",…,"object":{…}}
 * {"sequence":9,"time":…,"action":"gap","gvk":…,"fromVersion":…,"toVersion":…,"fromTime":…,"toTime":…,"reason":…,"detail":…}
 * {"end":{"snapshot":1,"events":1,"gaps":1}}
 * ```
 *
 * Times are µs since the Unix epoch. `snapshot` stands only on events of the start snapshot (the objects as they were when
 * the window began), `object` is last and absent for `vanished`. The last line counts the others: a file
 * without it, or with other counts, is not whole.
 */

import * as Schema from "effect/Schema"
import type { TraceEvent } from "./event.ts"

/** Value of `format` in the first line. */
export const NDJSON_FORMAT = "kubereel"
/** Value of `version` in the first line; rises when a reader of the old one would misread the new. */
export const NDJSON_VERSION = 1

/** What the first line says of the whole. */
export interface NdjsonHeader {
  /** µs since the Unix epoch: `start` inclusive, `end` exclusive. */
  readonly window: { readonly start: number; readonly end: number }
  /** Sequence number up to which the recording was exported. */
  readonly cut: number
  /** Every kind that was asked for, as GVK. */
  readonly kinds: ReadonlyArray<string>
  /** Kinds that were not being watched when the export was made, and their state (`forbidden`, `failing`, …). */
  readonly incomplete: ReadonlyArray<{ readonly gvk: string; readonly state: string }>
}

/** What the last line says: lines of each sort. `events` counts neither snapshot events nor gaps. */
export interface NdjsonCounts {
  readonly snapshot: number
  readonly events: number
  readonly gaps: number
}

/** One line, read. The bytes of an event's object are valid until the next item is taken. */
export type NdjsonItem =
  | ({ readonly type: "header" } & NdjsonHeader)
  | { readonly type: "event"; readonly event: TraceEvent; readonly isSnapshot: boolean }
  | ({ readonly type: "end" } & NdjsonCounts)

/** A line that cannot be read, or a file that is not whole. */
export class NdjsonError extends Schema.TaggedError<NdjsonError>()("NdjsonError", {
  /** Counts from 1. For `truncated` the line that is missing. */
  line: Schema.Int,
  /**
   * - `json`: the line is not JSON
   * - `shape`: a field is missing or has another type, or the line is not allowed at this place
   * - `format`: the first line is not the header of such a file, or of another version
   * - `truncated`: the file ends before its last line
   * - `counts`: the last line counts other numbers of lines than there are
   * - `length`: the line is longer than any object can be
   */
  reason: Schema.Literals(["json", "shape", "format", "truncated", "counts", "length"]),
  /** What was found or expected. Names fields, never quotes content. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `line ${this.line}: ${this.detail}`
  }
}
