/**
 * The body of `POST /export`: SimKube's own request (docs/facts/simkube.md#export-request) with our additions.
 *
 * A field that we do not know is refused by name: a misspelt filter that is ignored gives a trace that looks right and is not.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { readTargetPath, type StoreAddress } from "../../blob/target-address.ts"
import { messageOf } from "../../message-of.ts"
import { type Compression, withoutCompressionExtension } from "../../trace/formats/compression-names.ts"
import { formatOfAccept, formatOfFileName, type TraceFormatName } from "../../trace/formats/names.ts"
import { compileFilters, GivenFilters } from "../../trace/selection/filters.ts"
import { REMOVED_FOR_REPLAY, REMOVED_FOR_SIMKUBE } from "../../trace/trace-item.ts"

/** `maximum` by the units of the field; no request means more. */
const count = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

export const ExportRequest = Schema.Struct({
  /** Window start, Unix seconds, inclusive. */
  start_ts: Schema.Int,
  /** Window end, Unix seconds, exclusive. */
  end_ts: Schema.Int,
  /** A file path, whose trace is the answer and is put there by the client; or an object in a store, which the recorder writes. */
  export_path: Schema.String,
  filters: Schema.Struct({
    ...GivenFilters.fields,
    /** Ours: leave out what objects of the trace own, over any number of steps. Default: in formats that are replayed, as SimKube does always. */
    excluded_owned: Schema.optionalKey(Schema.Boolean),
    /** Ours: leave out what a DaemonSet owns. Default: in formats that are replayed, as SimKube does always. */
    excluded_daemonset_owned: Schema.optionalKey(Schema.Boolean),
  }),
  /**
   * Ours. Default: what Accept names, else what the end of `export_path` says, else `simkube`, so that SimKube's own client gets what it
   * expects.
   */
  format: Schema.optionalKey(Schema.Literals(["simkube", "ndjson", "kwok"])),
  /** Ours: how the whole trace is compressed. Default: what the end of `export_path` says, else not at all. */
  compression: Schema.optionalKey(Schema.Literals(["none", "zstd", "gzip"])),
  /**
   * Ours: `replay` takes out of the objects what another cluster must be free to decide; formats that are replayed always do. Default:
   * `none` in NDJSON, which is complete.
   */
  sanitise: Schema.optionalKey(Schema.Literals(["none", "replay"])),
  /** Ours: exact bounds in µs since the Unix epoch, instead of whole seconds. */
  start_time: Schema.optionalKey(Schema.Int),
  end_time: Schema.optionalKey(Schema.Int),
  /** Ours: ms that the answer may wait for owners that are being looked up. Default {@link ownerDeadlineMs}. */
  owner_deadline_ms: Schema.optionalKey(count(600_000)),
  /** Ours: `all` refuses a trace that lacks anything: kinds that are not being watched, gaps in the window. */
  require: Schema.optionalKey(Schema.Literals(["all"])),
  /** Ours: give the export up after so many seconds. The recorder has a limit of its own; the smaller one holds. */
  maximum_seconds: Schema.optionalKey(count(Number.MAX_SAFE_INTEGER)),
  /** Ours: give the export up when the trace is larger, in bytes. Likewise. */
  maximum_bytes: Schema.optionalKey(count(Number.MAX_SAFE_INTEGER)),
  /** Ours: answer what the export would hold instead of exporting. */
  dry_run: Schema.optionalKey(Schema.Boolean),
})

/** ms that an export waits for look-ups of owners unless the request says otherwise: some hundred of them. */
export const ownerDeadlineMs = 5000

/** A request as it is met: with the format that it amounts to. */
export type ExportRequest = typeof ExportRequest.Type & {
  readonly format: TraceFormatName
  readonly compression: Compression
}

/** Why a request is not met: a message for the client and the status to send it with. */
export interface ExportRefusal {
  readonly status: number
  readonly message: string
  /** s after which to ask again; absent: nobody knows. */
  readonly retryAfterSeconds?: number
}

/** Where the trace goes: the answer, or an object that the recorder writes. */
export type ExportDestination = { readonly tag: "answer" } | { readonly tag: "store"; readonly address: StoreAddress }

/** A request, or the status and the line to answer instead. */
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
  const decoded = Schema.decodeUnknownResult(ExportRequest)(parsed, { errors: "all", onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    // One line: what is wrong stands above where it is wrong.
    const faults = decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; ")
    return refused(
      `not an export request: ${faults.length > longestFaults ? `${faults.slice(0, longestFaults)}…` : faults}`,
    )
  }
  const request = withFormat(decoded.success, accept)
  const { fromTime, untilTime } = windowOf(request)
  if (untilTime < fromTime) return refused(`the window ends at ${untilTime} µs, before it starts at ${fromTime} µs`)
  const fault = selectorFault(request) ?? sanitiseFault(request)
  if (fault !== undefined) return refused(fault)
  const destination = readTargetPath(request.export_path)
  if (destination.tag === "refused") return refused(destination.message)
  return { tag: "request", request, destination }
}

const withFormat = (request: typeof ExportRequest.Type, accept: string | undefined): ExportRequest => {
  // Wildcards are what every client sends: they say nothing.
  const named = (accept ?? "").split(",").filter((range) => range.trim() !== "" && !range.includes("*"))
  const byAccept = named.length === 0 ? undefined : formatOfAccept(named.join(","))
  const path = request.export_path
  return {
    ...request,
    format: request.format ?? byAccept ?? formatOfFileName(path) ?? "simkube",
    compression: request.compression ?? withoutCompressionExtension(path).compression,
  }
}

/** What is wrong with a selector: told before anything is begun, in a store for instance. */
const selectorFault = ({ filters }: ExportRequest): string | undefined => {
  try {
    compileFilters(filters)
    return undefined
  } catch (cause) {
    return messageOf(cause)
  }
}

/** Formats that are replayed hold nothing else. */
const sanitiseFault = ({ format, sanitise }: ExportRequest): string | undefined =>
  sanitise === "none" && format !== "ndjson"
    ? `sanitise: none is not available for the format ${format}, whose objects are always prepared for replay; use ndjson`
    : undefined

/** What is taken out of the objects of a trace, as it is named in its header and to people. */
export const removedFrom = ({ format, sanitise }: ExportRequest): ReadonlyArray<string> => {
  if (format === "simkube") return REMOVED_FOR_SIMKUBE
  return format === "kwok" || sanitise === "replay" ? REMOVED_FOR_REPLAY : []
}

const refused = (message: string): ExportRequestReading => ({ tag: "refused", status: 400, message })

/** characters: a body of a mebibyte can have a fault in every byte. */
const longestFaults = 2000

/** A namespace that nothing is in: no name has a slash. */
const nowhere = "/"

/** The filters of a request as they are applied: a window without length holds nothing, not even what existed at that moment. */
export const filtersOf = (request: ExportRequest): ExportRequest["filters"] => {
  const { fromTime, untilTime } = windowOf(request)
  return fromTime < untilTime ? request.filters : { ...request.filters, namespaces: [nowhere] }
}

/** Which kinds a request wants at all. */
export const wantsKind = ({ filters: { kinds, excluded_kinds } }: ExportRequest): ((gvk: string) => boolean) => {
  const { excludesKind } = compileFilters({
    excluded_namespaces: [],
    excluded_labels: [],
    ...(kinds !== undefined && { kinds }),
    ...(excluded_kinds !== undefined && { excluded_kinds }),
  })
  return (gvk) => !excludesKind(gvk)
}

/** The window of a request in µs since the Unix epoch: from the one, before the other. */
export const windowOf = ({ start_time, end_time, start_ts, end_ts }: typeof ExportRequest.Type) => ({
  fromTime: start_time ?? microseconds(start_ts),
  untilTime: end_time ?? microseconds(end_ts),
})

/** Seconds that are far away are clamped to what a number holds exactly. */
const microseconds = (seconds: number): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, seconds * 1_000_000))
