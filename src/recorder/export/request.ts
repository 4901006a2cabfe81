/**
 * The body of `POST /export`: SimKube's own request (docs/facts/simkube.md#export-request) with our additions.
 *
 * Unknown fields are rejected by name: ignoring a misspelt filter would give a trace that looks right but is not.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { readTargetPath, type StoreAddress } from "../../blob/index.ts"
import { messageOf } from "../../message-of.ts"
import {
  type CompiledFilters,
  type Compression,
  compileFilters,
  type ExportedFormat,
  exportedFormatOf,
  formatOfAccept,
  GivenFilters,
  hasRecordedObjects,
  REMOVED_FOR_REPLAY,
  REMOVED_FOR_SIMKUBE,
  withoutCompressionExtension,
} from "../../trace/index.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { filterLimitFault } from "./limits.ts"

/** `maximum` is in the units of the field; no sensible request exceeds it. */
const count = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** Characters of a program: some hundred commands. */
const longestProgram = 65_536

export const ExportRequest = Schema.Struct({
  /** Window start, Unix seconds, inclusive. */
  start_ts: Schema.Int,
  /** Window end, Unix seconds, exclusive. */
  end_ts: Schema.Int,
  /**
   * A file path: the response is the trace, which the client writes there; or the URL of an object in a store, which the recorder writes.
   */
  export_path: Schema.String,
  filters: Schema.Struct({
    ...GivenFilters.fields,
    /**
     * Ours: leave out objects that other objects of the trace own, directly or not. Default: true in replay formats, as SimKube always
     * does.
     */
    excluded_owned: Schema.optionalKey(Schema.Boolean),
    /** Ours: leave out objects that a DaemonSet owns. Default: true in replay formats, as SimKube always does. */
    excluded_daemonset_owned: Schema.optionalKey(Schema.Boolean),
  }),
  /**
   * Ours. Default: the format that Accept names, else the one that the extension of `export_path` implies, else `simkube`, which SimKube's
   * own client expects.
   */
  format: Schema.optionalKey(Schema.Literals(["simkube", "ndjson", "kwok", "html"])),
  /** Ours: how the whole trace is compressed. Default: as the extension of `export_path` implies, else none. */
  compression: Schema.optionalKey(Schema.Literals(["none", "zstd", "gzip"])),
  /**
   * Ours: `replay` removes the fields that another cluster must be free to set; replay formats always do. Default: `none` in NDJSON, which
   * is complete.
   */
  sanitise: Schema.optionalKey(Schema.Literals(["none", "replay"])),
  /** Ours: exact bounds in µs since the Unix epoch, instead of whole seconds. */
  start_time: Schema.optionalKey(Schema.Int),
  end_time: Schema.optionalKey(Schema.Int),
  /** Ours: ms that the response may wait for owner look-ups. Default {@link ownerDeadlineMs}. */
  owner_deadline_ms: Schema.optionalKey(count(600_000)),
  /**
   * Ours: the times of the window and of the events. `happened`: those that were received later have estimates. Default. `received`: when the
   * recorder received them.
   */
  times: Schema.optionalKey(Schema.Literals(["happened", "received"])),
  /**
   * Ours: `complete` rejects the request if anything would be missing from the trace: kinds that are not being watched, gaps in the window.
   * `all` also rejects it if changes in the window were received later than they happened.
   */
  require: Schema.optionalKey(Schema.Literals(["all", "complete"])),
  /** Ours: abort the export after so many seconds. The recorder has its own limit; the smaller one applies. */
  maximum_seconds: Schema.optionalKey(count(Number.MAX_SAFE_INTEGER)),
  /** Ours: abort the export when the trace exceeds so many bytes. Likewise. */
  maximum_bytes: Schema.optionalKey(count(Number.MAX_SAFE_INTEGER)),
  /**
   * A program of the transform language (docs/reference/transform.md), as SimKube has it after 2.7. It is run on what the filters leave; times in it count from the start of
   * the window.
   */
  transform: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(longestProgram))),
  /** Ours: return what the export would contain instead of exporting. */
  dry_run: Schema.optionalKey(Schema.Boolean),
})

/** Default ms that an export waits for owner look-ups: enough for some hundred of them. */
export const ownerDeadlineMs = 5000

/** A valid request with its resolved format and compression, and its filters, compiled. */
export type ExportRequest = typeof ExportRequest.Type & {
  readonly format: ExportedFormat
  readonly compression: Compression
  readonly selects: CompiledFilters
}

/** Where the trace goes: into the response, or to an object that the recorder writes. */
export type ExportDestination = { readonly tag: "answer" } | { readonly tag: "store"; readonly address: StoreAddress }

/** A request, or the status and message to respond with instead. */
type ExportRequestReading =
  | { readonly tag: "request"; readonly request: ExportRequest; readonly destination: ExportDestination }
  | ({ readonly tag: "refused" } & ExportRefusal)

/** Reads the body of a request with its header `Accept`. Never throws. */
export const readExportRequest = (body: string, accept?: string): ExportRequestReading => {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    return refused(`the body is not JSON: ${messageOf(cause)}`)
  }
  const excess = filterLimitFault(parsed)
  if (excess !== undefined) return refused(excess)
  // All faults of a request that a person can have written are named. Each takes 5 µs, and a body of 16 kB can have 8,000.
  const isPersonal = body.length <= longestPersonal && body.split(",").length <= mostPersonal
  const errors = isPersonal ? "all" : "first"
  const decoded = Schema.decodeUnknownResult(ExportRequest)(parsed, { errors, onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    // One line: the fault comes before its position.
    const faults = decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; ")
    return refused(
      `not an export request: ${faults.length > longestFaults ? `${faults.slice(0, longestFaults)}…` : faults}`,
    )
  }
  const { fromTime, untilTime } = windowOf(decoded.success)
  if (untilTime < fromTime) return refused(`the window ends at ${untilTime} µs, before it starts at ${fromTime} µs`)
  // Before anything is started, such as an upload.
  const selects = Result.try({ try: () => compileFilters(decoded.success.filters), catch: messageOf })
  if (Result.isFailure(selects)) return refused(selects.failure)
  const request = { ...withFormat(decoded.success, accept), selects: selects.success }
  const fault = sanitiseFault(request)
  if (fault !== undefined) return refused(fault)
  const destination = readTargetPath(request.export_path)
  if (destination.tag === "refused") return refused(destination.message)
  return { tag: "request", request, destination }
}

const withFormat = (request: typeof ExportRequest.Type, accept: string | undefined): Omit<ExportRequest, "selects"> => {
  // Clients send wildcards by default, so they express no preference.
  const named = (accept ?? "").split(",").filter((range) => range.trim() !== "" && !range.includes("*"))
  const byAccept = named.length === 0 ? undefined : formatOfAccept(named.join(","))
  const path = request.export_path
  return {
    ...request,
    format: request.format ?? byAccept ?? exportedFormatOf(path) ?? "simkube",
    compression: request.compression ?? withoutCompressionExtension(path).compression,
  }
}

/** Replay formats contain only sanitised objects. */
const sanitiseFault = ({ format, sanitise, transform }: ExportRequest): string | undefined =>
  sanitise === "replay" && format === "ndjson" && transform !== undefined
    ? "transform and sanitise: replay exclude each other in the format ndjson; use a format for replay, or reel transform on the exported trace"
    : sanitise === "replay" && format === "html"
      ? "sanitise: replay is not available for the format html, which shows what was recorded"
      : sanitise === "none" && !hasRecordedObjects(format)
        ? `sanitise: none is not available for the format ${format}, whose objects are always prepared for replay; use ndjson`
        : undefined

/** The fields removed from the objects of a trace, as its header and messages name them. */
export const removedFrom = ({ format, sanitise }: ExportRequest): ReadonlyArray<string> => {
  if (format === "simkube") return REMOVED_FOR_SIMKUBE
  return format === "kwok" || sanitise === "replay" ? REMOVED_FOR_REPLAY : []
}

const refused = (message: string): ExportRequestReading => ({ tag: "refused", status: 400, message })

/** characters of a body. */
const longestPersonal = 16_384

/** Commas of it. */
const mostPersonal = 1000

/** Maximum length of a message in characters: a body of one mebibyte can have a fault in every byte. */
const longestFaults = 2000

/** A namespace that never matches: no name contains a slash. */
const nowhere = "/"

/** The filters of a request as they are applied: an empty window contains nothing, not even the objects that existed at that moment. */
export const filtersOf = (request: ExportRequest): ExportRequest["filters"] => {
  const { fromTime, untilTime } = windowOf(request)
  return fromTime < untilTime ? request.filters : { ...request.filters, namespaces: [nowhere] }
}

/** The kinds that a request asks for. */
export const wantsKind =
  ({ selects }: ExportRequest): ((gvk: string) => boolean) =>
  (gvk) =>
    !selects.excludesKind(gvk)

/** The window of a request in µs since the Unix epoch; the end is exclusive. */
export const windowOf = ({ start_time, end_time, start_ts, end_ts }: typeof ExportRequest.Type) => ({
  fromTime: start_time ?? microseconds(start_ts),
  untilTime: end_time ?? microseconds(end_ts),
})

/** Seconds far outside of any date are clamped to the integers that a number holds exactly. */
const microseconds = (seconds: number): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, seconds * 1_000_000))
