/**
 * The body of `POST /export`: SimKube's own request (simkube.md §3.1) with our additions.
 *
 * Fields we do not know are ignored, as SimKube ignores them.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { GivenFilters } from "../trace/filters.ts"

export const ExportRequest = Schema.Struct({
  /** Window start, Unix seconds, inclusive. */
  start_ts: Schema.Int,
  /** Window end, Unix seconds, exclusive. */
  end_ts: Schema.Int,
  /** Where the client will put the trace. SimKube's tracer uploads itself when this names an object store. */
  export_path: Schema.String,
  filters: Schema.Struct({
    ...GivenFilters.fields,
    /** Ours: leave out what objects of the trace own, over any number of steps. Default: in SimKube's format, as SimKube does always. */
    excluded_owned: Schema.optionalKey(Schema.Boolean),
    /** Ours: leave out what a DaemonSet owns. Default: in SimKube's format, as SimKube does always. */
    excluded_daemonset_owned: Schema.optionalKey(Schema.Boolean),
  }),
  /** Ours: `simkube` (default, so that SimKube's own client gets what it expects) or `ndjson`. */
  format: Schema.optionalKey(Schema.Literals(["simkube", "ndjson"])),
  /** Ours: exact bounds in µs since the Unix epoch, instead of whole seconds. */
  start_time: Schema.optionalKey(Schema.Int),
  end_time: Schema.optionalKey(Schema.Int),
  /** Ours: ms that the answer may wait for owners that are being looked up. Default {@link ownerDeadlineMs}. */
  owner_deadline_ms: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600_000 }))),
})

/** ms that an export waits for look-ups of owners unless the request says otherwise: some hundred of them. */
export const ownerDeadlineMs = 5000

export type ExportRequest = typeof ExportRequest.Type

/** A request, or the status and the line to answer instead. */
export type ExportRequestReading =
  | { readonly tag: "request"; readonly request: ExportRequest }
  | { readonly tag: "refused"; readonly status: 400 | 422 | 501; readonly message: string }

/** Reads the body of a request. Never throws. */
export const readExportRequest = (body: string): ExportRequestReading => {
  const refused = (status: 400 | 422 | 501, message: string): ExportRequestReading => ({
    tag: "refused",
    status,
    message,
  })
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    return refused(400, `the body is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  const decoded = Schema.decodeUnknownResult(ExportRequest)(parsed, { errors: "all" })
  if (Result.isFailure(decoded)) {
    // One line: what is wrong stands above where it is wrong.
    const faults = decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; ")
    return refused(422, `not an export request: ${faults}`)
  }
  const store = objectStoreOf(decoded.success.export_path)
  if (store === undefined) return { tag: "request", request: decoded.success }
  return refused(501, `uploading to ${store} is not part of this version; ask for a file path and store the answer`)
}

/** Object stores a path can name; uploading to them is not part of this version. */
const objectStoreOf = (path: string): string | undefined =>
  /^(s3|s3a|gs|azure|az|adl|abfs|abfss):\/\//i.exec(path)?.[1]?.toLowerCase() ??
  (/^https:\/\/[^/]*\.(amazonaws|r2\.cloudflarestorage)\.com\//i.test(path) ? "s3" : undefined)
