/**
 * The complete, lossless trace format: NDJSON, one line per event, with the object byte for byte as the server sent it, and with the
 * kind and apiVersion that lists omit. `ndjson-writer.ts` writes it, `ndjson-reader.ts` reads it; ordinary tools (`jq`, `grep`, `head`) read it too.
 *
 * ```
 * {"format":"kubereel","version":1,"window":{"start":…,"end":…},"cut":…,"kinds":[…],"incomplete":[…]}
 * {"sequence":7,"time":…,"action":"applied","gvk":…,"uid":…,"namespace":…,"name":…,"resourceVersion":…,"snapshot":true,"object":{…}}
 * {"sequence":8,"time":…,"action":"deleted",…,"object":{…}}
 * {"sequence":9,"time":…,"action":"gap","gvk":…,"namespace":…,"fromVersion":…,"toVersion":…,"fromTime":…,"toTime":…,"reason":…,"detail":…}
 * {"end":{"snapshot":1,"events":1,"gaps":1}}
 * ```
 *
 * What only other formats have is stored in lines of its own, so that their files can be restored byte for byte:
 *
 * ```
 * {"config":{"trackedObjects":{…}}}
 * {"batch":{"time":…}}
 * {"index":{"gvk":…,"name":"namespace/name","hash":"15569719415698843698"}}
 * {"lifecycles":{"gvk":…,"owner":"namespace/name","pods":[{"hash":"…","lives":[{"state":"finished","start":…,"end":…}]}]}}
 * ```
 *
 * and a header with `"sanitised":{"for":…,"removed":[…]}`.
 *
 * Changes that were received later than they happened have `"received"` beside `"time"`, which is an estimate then, and the header has
 * `"late":[…]`: readers may ignore both. A header with `"times":"received"` says that all times are those of receipt. The schema is in docs/reference/trace-formats.md.
 *
 * Times are µs since the Unix epoch, except that those of lives are Unix seconds; hashes are decimal digits in a string, since most readers
 * of JSON lose integers beyond 2^53. `snapshot` is only on events of the start snapshot (the objects as they were at the start of the
 * window), `object` is last and absent for `vanished`. The last line counts the others: a file without it, or with other counts, is
 * incomplete.
 */

import * as Schema from "effect/Schema"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"

/** Value of `format` in the first line. */
export const NDJSON_FORMAT = "kubereel"
/** Value of `version` in the first line; increases when a reader of the old version would misread the new one. */
export const NDJSON_VERSION = 1

/** The contents of the first line, about the whole trace. */
export type NdjsonHeader = TraceHeader

/** The contents of the last line: the number of lines of each sort. `events` excludes snapshot events and gaps. */
export interface NdjsonCounts {
  readonly snapshot: number
  readonly events: number
  readonly gaps: number
  /** Written only if there are any. */
  readonly configs?: number
  readonly batches?: number
  readonly index?: number
  readonly lifecycles?: number
  /** Changes that have no line because the object is the same as before once it is sanitised. */
  readonly unchanged?: number
}

/** One parsed line. The bytes of an event's object are valid until the next item is taken. */
export type NdjsonItem = TraceItem | ({ readonly type: "end" } & NdjsonCounts)

/** A line cannot be read, or the file is incomplete. */
export class NdjsonError extends Schema.TaggedError<NdjsonError>()("NdjsonError", {
  /** Counts from 1. For `truncated`, the number of the missing line. */
  line: Schema.Int,
  /** Byte of the file at which that line starts. */
  offset: Schema.Int,
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
