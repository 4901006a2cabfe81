/**
 * Requests a trace from a running recorder: `POST /export` in SimKube's form (compatible with SimKube's own client and tracer),
 * with exact times and a format added.
 *
 * Guarantees: a status other than 200 is reported as ExportRefused; a connection that breaks, or is silent for too long, is reported as an error and never
 * becomes a short trace; so are bytes that do not match the checksum that follows them. Only responses that are not traces are buffered.
 */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import {
  type Compression,
  codeOf,
  type ExportedFormat,
  ExportInterrupted,
  isJsonObject,
  type JsonValue,
} from "../../trace/index.ts"
import { ExportCut } from "./connection/export-errors.ts"
import { askRecorder, headerOf, type RecorderAddress } from "./connection/recorder-connection.ts"

/** A label selector as Kubernetes objects contain it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist"
    readonly values?: readonly string[]
  }>
}

/** The filters of the request. Names are patterns (`*`, `?`); an absent list filters nothing, and an empty one matches nothing. */
interface ExportQueryFilters {
  readonly excluded_namespaces?: readonly string[] | undefined
  readonly excluded_labels?: readonly LabelSelector[] | undefined
  readonly namespaces?: readonly string[] | undefined
  readonly labels?: readonly LabelSelector[] | undefined
  readonly kinds?: readonly string[] | undefined
  readonly excluded_kinds?: readonly string[] | undefined
  readonly names?: readonly string[] | undefined
  readonly excluded_names?: readonly string[] | undefined
}

/** What is absent is the recorder's default. */
export interface ExportQuery extends RecorderAddress {
  /** µs since the Unix epoch, inclusive. */
  readonly startTime: number
  /** µs since the Unix epoch, exclusive. */
  readonly endTime: number
  readonly format: ExportedFormat
  readonly compression: Compression
  readonly filters?: ExportQueryFilters
  /** Whether objects owned by other objects of the trace, and objects owned by DaemonSets, are included. */
  readonly owned?: "include" | "exclude" | undefined
  readonly daemonSetOwned?: "include" | "exclude" | undefined
  /** ms that the recorder may wait for owner look-ups. */
  readonly ownerDeadlineMs?: number | undefined
  /** What is removed from the objects. */
  readonly sanitise?: "none" | "replay" | undefined
  /**
   * `complete`: the recorder refuses to export a trace that lacks anything; `all`: or in which times are estimates, because changes were
   * received late.
   */
  readonly require?: "all" | "complete" | undefined
  /** The text of a program that the recorder runs on what it exports. */
  readonly transform?: string | undefined
  /** The times of the window and the trace: by default when changes happened. */
  readonly times?: "happened" | "received" | undefined
  /** s and bytes after which the recorder aborts the export. */
  readonly maximumSeconds?: number | undefined
  readonly maximumBytes?: number | undefined
}

/** What the recorder reports as missing from a trace. */
export interface ExportShortcomings {
  /** Kinds whose recording is not complete, as the recorder names them (`v1.Pod=forbidden, …`). */
  readonly incomplete: string | undefined
  /** The part of the window that was in the future for the recorder, `START/END`. */
  readonly future: string | undefined
  /** Gaps of the recording within the window. */
  readonly gaps: number
  /** Changes that were received later than they happened, as the recorder names them. None of them is missing. */
  readonly late: string | undefined
  /** Recorded kinds that the format cannot represent, `v1.ConfigMap, v1.Service`. */
  readonly leftOut: string | undefined
  /** What will go wrong in a replay of the trace, `…; …`. */
  readonly warnings: string | undefined
  /** The number of unknown owners and the first of them; whether the objects they own belong in the trace is a guess. */
  readonly unknownOwners: string | undefined
  /** How many values were replaced before they were recorded, `v1.Secret: 12 secret; …`. */
  readonly redacted: string | undefined
}

/** A trace that has begun to arrive. */
interface ExportResponse extends ExportShortcomings {
  /** Whether the server is a kubereel recorder, which understands more than SimKube's tracer. */
  readonly isOurs: boolean
  /** Whether the trailing checksum proved that all bytes arrived unchanged. Valid after the last piece. */
  readonly isProven: () => boolean
  /** Changes that the trace lacks because they change nothing for a replay. Valid after the last piece. */
  readonly unchanged: () => number
  /** Can be read once. Ends only if the whole response arrived; otherwise throws a tagged error. */
  readonly pieces: AsyncIterable<Uint8Array>
}

/** Sends the request and resolves with the head of the response. Rejects as {@link askRecorder} does. */
export const requestExport = async (query: ExportQuery, signal: AbortSignal): Promise<ExportResponse> => {
  const response = await askRecorder(query, { body: exportBody(query), accept: "*/*" }, signal)
  const isProven = (): boolean => checksumOf(response) !== undefined
  const isOurs = headerOf(response, "kubereel-request-id") !== undefined
  const unchanged = (): number => Number(response.trailers["kubereel-unchanged"] ?? 0)
  return {
    ...shortcomingsOf(response),
    isOurs,
    isProven,
    unchanged,
    pieces: piecesOf(response, query.recorder.name, signal, query.recorder.offline?.outcome),
  }
}

/** An object that the recorder wrote to an object store. */
interface ExportedObject extends ExportShortcomings {
  readonly location: string
  /** `undefined` if the recorder does not report it. */
  readonly bytes: number | undefined
  /** Changes that the trace lacks because they change nothing for a replay. */
  readonly unchanged: number
}

/** Has the recorder write the trace to an object store. Rejects as {@link askRecorder} does. */
export const requestUpload = async (query: ExportQuery, url: string, signal: AbortSignal): Promise<ExportedObject> => {
  const response = await askRecorder(query, { body: exportBody(query, { export_path: url }), ...json }, signal)
  const answer = await jsonOf(response, query.recorder.name, signal)
  // SimKube's own tracer writes the object too, but with an empty response.
  const { location, bytes } = isJsonObject(answer) ? answer : {}
  return {
    ...shortcomingsOf(response),
    location: typeof location === "string" ? location : url,
    bytes: typeof bytes === "number" ? bytes : undefined,
    unchanged: Number(headerOf(response, "kubereel-unchanged") ?? 0),
  }
}

/** Requests a forecast of an export, as the recorder describes it. Rejects as {@link askRecorder} does. */
export const requestForecast = async (query: ExportQuery, url: string, signal: AbortSignal): Promise<JsonValue> => {
  const body = exportBody(query, { export_path: url, dry_run: true })
  const response = await askRecorder(query, { body, ...json }, signal)
  const server = query.recorder.name
  const answer = await jsonOf(response, server, signal)
  if (answer !== undefined) return answer
  throw new ExportCut({ server, bytes: 0, reason: "this recorder does not support --dry-run" })
}

/** The kinds that the recorder records. Rejects as {@link askRecorder} does, and with ExportCut if the server is no recorder of ours. */
export const requestRecordedKinds = async (query: ExportQuery, signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  // An empty window: nothing has to be counted.
  const window = { startTime: query.endTime, endTime: query.endTime, require: undefined }
  const filters = { ...query.filters, kinds: undefined, excluded_kinds: undefined }
  const answer = await requestForecast({ ...query, ...window, filters }, localPath, signal)
  const kinds = isJsonObject(answer) ? answer.kinds : undefined
  return Array.isArray(kinds) ? kinds.map(({ gvk }) => String(gvk)) : []
}

/**
 * What is recorded in a window, in µs since the Unix epoch, as the recorder describes it. Rejects as {@link askRecorder} does, and with
 * ExportCut if the server is no recorder of ours.
 */
export const requestCoverage = async (
  address: RecorderAddress,
  { start, end }: { readonly start: number; readonly end: number },
  signal: AbortSignal,
): Promise<JsonValue> => {
  const { recorder } = address
  const parameters = new URLSearchParams({ start: String(start), end: String(end) })
  const response = await askRecorder(address, { path: "coverage", parameters, ...json }, signal)
  const answer = await jsonOf(response, recorder.name, signal)
  if (answer !== undefined) return answer
  throw new ExportCut({ server: recorder.name, bytes: 0, reason: "it is not a recorder of kubereel" })
}

/** The `export_path` of a trace that is sent in the response: the recorder does not need to know where it is stored. */
export const localPath = "file:///export"

const json = { accept: "application/json" }

const second = 1_000_000

/** `start_ts` and `end_ts` are for SimKube's tracer, which supports whole seconds only: they enclose the window. */
const exportBody = (query: Omit<ExportQuery, keyof RecorderAddress>, more: object = {}): string =>
  JSON.stringify({
    start_ts: Math.floor(query.startTime / second),
    end_ts: Math.ceil(query.endTime / second),
    export_path: localPath,
    filters: {
      excluded_namespaces: [],
      excluded_labels: [],
      ...query.filters,
      excluded_owned: isExcluded(query.owned),
      excluded_daemonset_owned: isExcluded(query.daemonSetOwned),
    },
    owner_deadline_ms: query.ownerDeadlineMs,
    format: query.format,
    compression: query.compression === "none" ? undefined : query.compression,
    start_time: query.startTime,
    end_time: query.endTime,
    sanitise: query.sanitise,
    require: query.require,
    times: query.times,
    transform: query.transform,
    maximum_seconds: query.maximumSeconds,
    maximum_bytes: query.maximumBytes,
    ...more,
  })

/** JSON omits `undefined`. */
const isExcluded = (mode: "include" | "exclude" | undefined): boolean | undefined =>
  mode === undefined ? undefined : mode === "exclude"

const shortcomingsOf = (response: IncomingMessage): ExportShortcomings => ({
  incomplete: headerOf(response, "kubereel-incomplete"),
  future: headerOf(response, "kubereel-future"),
  gaps: Number(headerOf(response, "kubereel-gaps") ?? 0),
  late: headerOf(response, "kubereel-late"),
  leftOut: headerOf(response, "kubereel-left-out"),
  warnings: headerOf(response, "kubereel-warnings"),
  unknownOwners: headerOf(response, "kubereel-unknown-owners"),
  redacted: headerOf(response, "kubereel-redacted"),
})

/** bytes. A forecast is about a page of text plus some for each kind. */
const longestJson = 16 * 1024 * 1024

/** `undefined` if the response is not JSON. */
const jsonOf = async (
  response: IncomingMessage,
  server: string,
  signal: AbortSignal,
): Promise<JsonValue | undefined> => {
  if (!/\bjson\b/i.test(response.headers["content-type"] ?? "")) {
    response.resume()
    return undefined
  }
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of piecesOf(response, server, signal)) {
    bytes += piece.length
    if (bytes > longestJson) throw new ExportCut({ server, bytes, reason: "the response is too long" })
    pieces.push(piece)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString("utf8"))
  } catch {
    throw new ExportCut({ server, bytes, reason: "the response is not JSON" })
  }
}

/** The pieces of a response, until it is complete. Throws ExportCut if it is not, or was modified in transit, and ExportInterrupted. */
export async function* piecesOf(
  response: IncomingMessage,
  server: string,
  signal: AbortSignal,
  outcome?: () => Promise<string>,
): AsyncGenerator<Uint8Array, void> {
  const digest = createHash("sha256")
  // Asked before it ends: it may end before this side notices.
  const ended = outcome?.()
  let bytes = 0
  try {
    for await (const piece of response as AsyncIterable<Uint8Array>) {
      bytes += piece.length
      digest.update(piece)
      yield piece
    }
  } catch (cause) {
    if (signal.aborted) throw new ExportInterrupted()
    throw new ExportCut({
      server,
      bytes,
      reason: (await ended)?.replace(/^(failed|aborted): /, "") ?? reasonOf(response, cause),
    })
  }
  const announced = checksumOf(response)
  // A proxy may have removed the trailer.
  if (announced !== undefined && announced !== digest.digest("base64"))
    throw new ExportCut({ server, bytes, reason: "its checksum does not match: it was modified in transit" })
}

/** SHA-256 in base64, from the trailer. */
const checksumOf = (response: IncomingMessage): string | undefined =>
  /\bsha-256=:([^:]*):/.exec(response.trailers["repr-digest"] ?? "")?.[1]

const reasonOf = (response: IncomingMessage, cause: unknown): string => {
  const code = codeOf(cause)
  if (code !== "ECONNRESET" && code !== "ERR_STREAM_PREMATURE_CLOSE")
    return cause instanceof Error ? cause.message : code
  const requestId = headerOf(response, "kubereel-request-id")
  return `the recorder closed the connection; its log says why${requestId === undefined ? "" : ` (request ${requestId})`}`
}
