/**
 * The body of `POST /export`: SimKube's own request (simkube.md §3.1) with our additions.
 *
 * Fields we do not know are ignored, as SimKube ignores them.
 */
import * as Schema from "effect/Schema"

export const ExportRequest = Schema.Struct({
  /** Window start, Unix seconds, inclusive. */
  start_ts: Schema.Int,
  /** Window end, Unix seconds, exclusive. */
  end_ts: Schema.Int,
  /** Where the client will put the trace. SimKube's tracer uploads itself when this names an object store. */
  export_path: Schema.String,
  filters: Schema.Struct({
    excluded_namespaces: Schema.Array(Schema.String),
    excluded_labels: Schema.Array(Schema.Unknown),
  }),
  /** Ours: `simkube` (default, so that SimKube's own client gets what it expects) or `ndjson`. */
  format: Schema.optionalKey(Schema.Literals(["simkube", "ndjson"])),
  /** Ours: exact bounds in µs since the Unix epoch, instead of whole seconds. */
  start_time: Schema.optionalKey(Schema.Int),
  end_time: Schema.optionalKey(Schema.Int),
})

export type ExportRequest = typeof ExportRequest.Type

/** Largest body in bytes, SimKube's limit. */
export const exportRequestBytes = 1024 * 1024

/** Object stores a path can name; uploading to them is not part of this version. */
export const objectStoreOf = (path: string): string | undefined =>
  /^(s3|s3a|gs|azure|az|adl|abfs|abfss):\/\//.exec(path)?.[1] ??
  (/^https:\/\/[^/]*\.(amazonaws|r2\.cloudflarestorage)\.com\//.test(path) ? "s3" : undefined)
