/**
 * Asks a running recorder for a trace: `POST /export` in SimKube's form (its own client and its own tracer understand each
 * other and us), with exact times and a format added.
 *
 * Guarantees: a response that is not 200 becomes ExportRefused; a connection that breaks, or is silent for too long, becomes an
 * error and never a short trace; bytes that do not have the checksum that follows them become an error; nothing is buffered but
 * answers that are no trace.
 */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { codeOf, ExportInterrupted } from "../../trace/files/output-errors.ts"
import type { Compression } from "../../trace/formats/compression-names.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import { ExportCut } from "./export-errors.ts"
import { headerOf, postExport, type RecorderAddress } from "./recorder-connection.ts"

/** A selector of labels as Kubernetes objects carry it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist"
    readonly values?: readonly string[]
  }>
}

/** What is in the trace, as the request has it. Names are patterns (`*`, `?`); an absent list asks for nothing. */
export interface ExportQueryFilters {
  readonly excluded_namespaces: readonly string[]
  readonly excluded_labels: readonly LabelSelector[]
  readonly namespaces: readonly string[] | undefined
  readonly labels: readonly LabelSelector[] | undefined
  readonly kinds: readonly string[] | undefined
  readonly excluded_kinds: readonly string[] | undefined
  readonly names: readonly string[] | undefined
  readonly excluded_names: readonly string[] | undefined
}

export interface ExportQuery extends RecorderAddress {
  /** µs since the Unix epoch, inclusive. */
  readonly startTime: number
  /** µs since the Unix epoch, exclusive. */
  readonly endTime: number
  /** Nobody said where it begins: a recording that is younger than the usual window lacks nothing. */
  readonly isStartDefault: boolean
  readonly format: TraceFormatName
  readonly compression: Compression
  readonly filters: ExportQueryFilters
  /** Whether what objects of the trace own, and what DaemonSets own, is in it; `undefined`: the recorder's default. */
  readonly owned: "include" | "exclude" | undefined
  readonly daemonSetOwned: "include" | "exclude" | undefined
  /** ms that the recorder may wait for look-ups of owners; `undefined`: its default. */
  readonly ownerDeadlineMs: number | undefined
  /** What is taken out of the objects; `undefined`: what the format demands. */
  readonly sanitise: "none" | "replay" | undefined
  /** `all`: a trace that lacks anything is refused. */
  readonly require: "all" | undefined
  /** s and bytes after which the recorder gives the export up; `undefined`: its own limits. */
  readonly maximumSeconds: number | undefined
  readonly maximumBytes: number | undefined
}

/** What the recorder says is missing from a trace. */
export interface ExportShortcomings {
  /** Kinds whose recording is not complete, as the recorder names them (`v1.Pod=forbidden, …`). */
  readonly incomplete: string | undefined
  /** Gaps of the recording within the window. */
  readonly gaps: number
  /** Recorded kinds that the format cannot tell of, `v1.ConfigMap, v1.Service`. */
  readonly leftOut: string | undefined
  /** How many owners are not known, and the first of them; whether their objects belong in the trace is a guess. */
  readonly unknownOwners: string | undefined
}

/** A trace that has begun to arrive. */
export interface ExportResponse extends ExportShortcomings {
  /** Whether it is a recorder of ours that answers, which understands more than SimKube's. */
  readonly isOurs: boolean
  /** Whether the checksum that follows has shown that all bytes came, unchanged. To be asked after the last piece. */
  readonly isProven: () => boolean
  /** To be read once. Ends only if the whole response came; otherwise throws a tagged error. */
  readonly pieces: AsyncIterable<Uint8Array>
}

/** Sends the request and waits for the head of the response. Rejects as {@link postExport} does. */
export const requestExport = async (query: ExportQuery, signal: AbortSignal): Promise<ExportResponse> => {
  const response = await postExport(query, exportBody(query), "*/*", signal)
  const isProven = (): boolean => checksumOf(response) !== undefined
  const isOurs = headerOf(response, "kubereel-request-id") !== undefined
  return { ...shortcomingsOf(response), isOurs, isProven, pieces: piecesOf(response, query.recorder.name, signal) }
}

/** An object that the recorder has written. */
export interface ExportedObject extends ExportShortcomings {
  readonly location: string
  /** `undefined`: the recorder does not say. */
  readonly bytes: number | undefined
}

/** Has the recorder write the trace to an object store. Rejects as {@link postExport} does. */
export const requestUpload = async (query: ExportQuery, url: string, signal: AbortSignal): Promise<ExportedObject> => {
  const response = await postExport(query, exportBody(query, { export_path: url }), "application/json", signal)
  const answer = await jsonOf(response, query.recorder.name, signal)
  // SimKube's own tracer writes it as well, and says nothing.
  const { location, bytes } = (answer ?? {}) as { readonly location?: unknown; readonly bytes?: unknown }
  return {
    ...shortcomingsOf(response),
    location: typeof location === "string" ? location : url,
    bytes: typeof bytes === "number" ? bytes : undefined,
  }
}

/** Asks what an export would hold, in the recorder's own words. Rejects as {@link postExport} does. */
export const requestForecast = async (query: ExportQuery, url: string, signal: AbortSignal): Promise<unknown> => {
  const body = exportBody(query, { export_path: url, dry_run: true })
  const response = await postExport(query, body, "application/json", signal)
  const server = query.recorder.name
  const answer = await jsonOf(response, server, signal)
  if (answer !== undefined) return answer
  throw new ExportCut({ server, bytes: 0, reason: "this recorder does not know --dry-run" })
}

/** Where a trace goes that comes back in the response: where it is put is not the recorder's business. */
export const localPath = "file:///export"

const second = 1_000_000

/** Whole seconds for SimKube's tracer, which knows no others: they contain the window. */
export const exportBody = (query: Omit<ExportQuery, keyof RecorderAddress>, more: object = {}): string =>
  JSON.stringify({
    start_ts: Math.floor(query.startTime / second),
    end_ts: Math.ceil(query.endTime / second),
    export_path: localPath,
    filters: {
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
    maximum_seconds: query.maximumSeconds,
    maximum_bytes: query.maximumBytes,
    ...more,
  })

/** `undefined` is left out of the JSON. */
const isExcluded = (mode: "include" | "exclude" | undefined): boolean | undefined =>
  mode === undefined ? undefined : mode === "exclude"

const shortcomingsOf = (response: IncomingMessage): ExportShortcomings => ({
  incomplete: headerOf(response, "kubereel-incomplete"),
  gaps: Number(headerOf(response, "kubereel-gaps") ?? 0),
  leftOut: headerOf(response, "kubereel-left-out"),
  unknownOwners: headerOf(response, "kubereel-unknown-owners"),
})

/** bytes: what a recorder says of itself is a page, of its kinds some more. */
const longestJson = 16 * 1024 * 1024

/** `undefined` if the answer is none. */
const jsonOf = async (response: IncomingMessage, server: string, signal: AbortSignal): Promise<unknown> => {
  if (!/\bjson\b/i.test(response.headers["content-type"] ?? "")) {
    response.resume()
    return undefined
  }
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of piecesOf(response, server, signal)) {
    bytes += piece.length
    if (bytes > longestJson) throw new ExportCut({ server, bytes, reason: "the answer is too long to be one" })
    pieces.push(piece)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString("utf8"))
  } catch {
    throw new ExportCut({ server, bytes, reason: "the answer is no JSON" })
  }
}

async function* piecesOf(
  response: IncomingMessage,
  server: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const digest = createHash("sha256")
  let bytes = 0
  try {
    for await (const piece of response as AsyncIterable<Uint8Array>) {
      bytes += piece.length
      digest.update(piece)
      yield piece
    }
  } catch (cause) {
    if (signal.aborted) throw new ExportInterrupted()
    throw new ExportCut({ server, bytes, reason: reasonOf(response, cause) })
  }
  const announced = checksumOf(response)
  // A proxy may have taken the trailer away.
  if (announced !== undefined && announced !== digest.digest("base64"))
    throw new ExportCut({ server, bytes, reason: "its checksum is another: it was changed on its way" })
}

/** SHA-256 in base64, as the trailer has it. */
const checksumOf = (response: IncomingMessage): string | undefined =>
  /\bsha-256=:([^:]*):/.exec(response.trailers["repr-digest"] ?? "")?.[1]

const reasonOf = (response: IncomingMessage, cause: unknown): string => {
  const code = codeOf(cause)
  if (code !== "ECONNRESET" && code !== "ERR_STREAM_PREMATURE_CLOSE")
    return cause instanceof Error ? cause.message : code
  const requestId = headerOf(response, "kubereel-request-id")
  return `the recorder closed the connection; its log says why${requestId === undefined ? "" : ` (request ${requestId})`}`
}
