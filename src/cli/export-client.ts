/**
 * Asks a running recorder for a trace: `POST /export` in SimKube's form (its own client and its own tracer understand each
 * other and us), with exact times and a format added.
 *
 * Guarantees: a response that is not 200 becomes {@link ExportRefused}; a connection that breaks, or is silent for longer
 * than `idleTimeoutMs`, becomes an error and never a short trace; nothing is buffered.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http"
import { visible } from "../tracer/configuration/quoted.ts"
import { codeOf, ExportCut, ExportInterrupted, ExportRefused, ServerUnreachable } from "./export-errors.ts"
import type { TraceFormat } from "./trace-check.ts"

/** A selector of labels as Kubernetes objects carry it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist"
    readonly values?: readonly string[]
  }>
}

export interface ExportQuery {
  /** Base URL of the recorder. */
  readonly server: URL
  /** µs since the Unix epoch, inclusive. */
  readonly startTime: number
  /** µs since the Unix epoch, exclusive. */
  readonly endTime: number
  readonly format: TraceFormat
  readonly excludedNamespaces: readonly string[]
  readonly excludedLabels: readonly LabelSelector[]
  /** Whether what objects of the trace own, and what DaemonSets own, is in it; `undefined`: the recorder's default. */
  readonly owned: "include" | "exclude" | undefined
  readonly daemonSetOwned: "include" | "exclude" | undefined
  /** ms that the recorder may wait for look-ups of owners; `undefined`: its default. */
  readonly ownerDeadlineMs: number | undefined
  /** ms without a byte after which the recorder counts as gone. */
  readonly idleTimeoutMs: number
  readonly userAgent: string
}

/** A trace that has begun to arrive. */
export interface ExportResponse {
  /** Kinds whose recording is not complete, as the recorder names them (`v1.Pod=forbidden, …`). */
  readonly incomplete: string | undefined
  /** Gaps of the recording within the window. */
  readonly gaps: number
  /** Recorded kinds that the format cannot tell of, `v1.ConfigMap, v1.Service`. */
  readonly leftOut: string | undefined
  /** How many owners are not known, and the first of them; whether their objects belong in the trace is a guess. */
  readonly unknownOwners: string | undefined
  /** To be read once. Ends only if the whole response came; otherwise throws a tagged error. */
  readonly pieces: AsyncIterable<Uint8Array>
}

/**
 * Sends the request and waits for the head of the response. Rejects with {@link ServerUnreachable}, {@link ExportRefused} or,
 * once `signal` is aborted, {@link ExportInterrupted}.
 */
export const requestExport = async (query: ExportQuery, signal: AbortSignal): Promise<ExportResponse> => {
  const server = query.server.origin
  const { request } = query.server.protocol === "https:" ? await import("node:https") : await import("node:http")
  const response = await send(query, request, signal).catch((cause: unknown) => {
    throw signal.aborted ? new ExportInterrupted() : unreachable(server, cause)
  })
  if (response.statusCode !== 200) {
    const detail = await beginningOf(response)
    throw new ExportRefused({ server, status: response.statusCode ?? 0, detail })
  }
  return {
    incomplete: headerOf(response, "kubereel-incomplete"),
    gaps: Number(headerOf(response, "kubereel-gaps") ?? 0),
    leftOut: headerOf(response, "kubereel-left-out"),
    unknownOwners: headerOf(response, "kubereel-unknown-owners"),
    pieces: piecesOf(response, server, signal),
  }
}

const second = 1_000_000

/** Whole seconds for SimKube's tracer, which knows no others: they contain the window. */
export const exportBody = (query: Omit<ExportQuery, "server" | "idleTimeoutMs" | "userAgent">): string =>
  JSON.stringify({
    start_ts: Math.floor(query.startTime / second),
    end_ts: Math.ceil(query.endTime / second),
    // A local path: the trace comes back in the response. Where it is put is not the recorder's business.
    export_path: "file:///export",
    filters: {
      excluded_namespaces: query.excludedNamespaces,
      excluded_labels: query.excludedLabels,
      excluded_owned: isExcluded(query.owned),
      excluded_daemonset_owned: isExcluded(query.daemonSetOwned),
    },
    owner_deadline_ms: query.ownerDeadlineMs,
    format: query.format,
    start_time: query.startTime,
    end_time: query.endTime,
  })

/** `undefined` is left out of the JSON. */
const isExcluded = (mode: "include" | "exclude" | undefined): boolean | undefined =>
  mode === undefined ? undefined : mode === "exclude"

type Requester = (url: URL, options: RequestOptions) => ClientRequest

/** No byte came for the allowed time. */
class IdleError extends Error {
  readonly code = "TIMEOUT"
}

const send = (query: ExportQuery, request: Requester, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const body = exportBody(query)
    const url = new URL(query.server)
    url.pathname = `${url.pathname.replace(/\/$/, "")}/export`
    const sent = request(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "accept-encoding": "identity",
        "user-agent": query.userAgent,
      },
      // One request: a kept connection would only keep the process alive.
      agent: false,
      signal,
    })
    let response: IncomingMessage | undefined
    sent.setTimeout(query.idleTimeoutMs, () => {
      const idle = new IdleError(`nothing came for ${query.idleTimeoutMs / 1000} s`)
      // Once there is a response, only that one passes the reason on to its reader.
      if (response === undefined) sent.destroy(idle)
      else response.destroy(idle)
    })
    sent.on("response", (received) => {
      response = received
      resolve(received)
    })
    sent.on("error", reject)
    sent.end(body)
  })

const unreachable = (server: string, cause: unknown): ServerUnreachable =>
  new ServerUnreachable({ server, code: codeOf(cause), detail: cause instanceof Error ? cause.message : String(cause) })

const headerOf = (response: IncomingMessage, name: string): string | undefined => {
  const value = response.headers[name]
  const text = Array.isArray(value) ? value.join(", ") : value
  return text === undefined || text === "" ? undefined : visible(text)
}

const longestDetail = 500

/** What a refusal says, on one line. A refusal that breaks off says what came. */
const beginningOf = async (response: IncomingMessage): Promise<string> => {
  const pieces: Uint8Array[] = []
  let length = 0
  try {
    for await (const piece of response as AsyncIterable<Uint8Array>) {
      pieces.push(piece)
      length += piece.length
      if (length > 4 * longestDetail) break
    }
  } catch {
    // The status has been refusal enough; its text is a courtesy.
    pieces.push(Buffer.from(" …"))
  }
  const text = Buffer.concat(pieces).toString("utf8").replace(/\s+/g, " ").trim()
  return visible(text.slice(0, longestDetail))
}

async function* piecesOf(
  response: IncomingMessage,
  server: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0
  try {
    for await (const piece of response as AsyncIterable<Uint8Array>) {
      bytes += piece.length
      yield piece
    }
  } catch (cause) {
    if (signal.aborted) throw new ExportInterrupted()
    const code = codeOf(cause)
    const reason =
      code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE"
        ? "the recorder closed the connection; its log says why"
        : cause instanceof Error
          ? cause.message
          : code
    throw new ExportCut({ server, bytes, reason })
  }
}
