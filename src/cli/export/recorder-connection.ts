/**
 * A request to a running recorder and the head of its answer.
 *
 * Guarantees: silence for longer than `idleTimeoutMs` is an error, before the answer and in the middle of it; `102 Processing` is no
 * silence. Nothing is buffered but the beginning of a refusal.
 */
import type {
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestOptions,
} from "node:http"
import { visible } from "../../recorder/configuration/quoted.ts"
import { codeOf, ExportInterrupted } from "../../trace/files/output-errors.ts"
import { type ExportError, ExportRefused, ServerUnreachable } from "./export-errors.ts"

/** A recorder, and how requests get to it. */
export interface Recorder {
  /** What messages call it: `http://127.0.0.1:7777`, `the recorder kubereel/kubereel`. */
  readonly name: string
  /** The URL or the command that shows the state of its kinds. */
  readonly readiness: string
  /** Where exports are asked for. */
  readonly url: URL
  /** Who asks, besides what every export says of itself. Holds secrets. */
  readonly headers: OutgoingHttpHeaders
  /** How to connect: TLS, a tunnel through a proxy. Waits at most `timeoutMs`. */
  readonly connect: (signal: AbortSignal, timeoutMs: number) => Promise<RequestOptions>
  /** What it means that no answer came. */
  readonly unreachable: (cause: unknown) => ExportError
  /** What an answer means whose status is not 200. */
  readonly refused: (refusal: Refusal) => ExportError
}

/** An answer that is no trace. */
export interface Refusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Its beginning, as it came. */
  readonly body: Buffer
}

export interface RecorderAddress {
  readonly recorder: Recorder
  /** ms without a byte after which the recorder counts as gone. */
  readonly idleTimeoutMs: number
  readonly userAgent: string
}

/** A recorder that listens at a URL. `token`: `undefined` if it asks nobody who they are. */
export const recorderAt = (server: URL, token: string | undefined): Recorder => {
  const { origin } = server
  const url = new URL(server)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/export`
  return {
    name: origin,
    readiness: `${origin}/readyz?verbose`,
    url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    // One request: a kept connection would only keep the process alive.
    connect: async () => ({ agent: false }),
    unreachable: (cause) => new ServerUnreachable({ server: origin, ...describeCause(cause) }),
    refused: (refusal) =>
      refusedByRecorder(origin, refusal, {
        401: "Give a token with --token-file, or in KUBEREEL_TOKEN",
        404: "Is this a recorder? Check --server",
      }),
  }
}

/** What a recorder says, as an error. `advice` by status; of 401 only if it is a recorder that says it. */
export const refusedByRecorder = (
  server: string,
  { status, headers, body }: Refusal,
  advice: Readonly<Record<number, string>>,
): ExportRefused => {
  const requestId = headerOf({ headers }, "kubereel-request-id") ?? ""
  const retryAfter = Number(headerOf({ headers }, "retry-after"))
  const hint = status === 401 && requestId === "" ? undefined : advice[status]
  return new ExportRefused({
    server,
    status,
    detail: oneLine(body),
    requestId,
    ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }),
    ...(hint !== undefined && { advice: hint }),
  })
}

/** The facts of an error that are told. */
export const describeCause = (cause: unknown): { readonly code: string; readonly detail: string } => ({
  code: codeOf(cause),
  detail: cause instanceof Error ? cause.message : String(cause),
})

/**
 * Posts an export request; answers a response with status 200. Rejects with what {@link Recorder.unreachable} and
 * {@link Recorder.refused} make of it or, once `signal` is aborted, with {@link ExportInterrupted}.
 */
export const postExport = async (
  address: RecorderAddress,
  body: string,
  accept: string,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const { recorder } = address
  const { request } = recorder.url.protocol === "https:" ? await import("node:https") : await import("node:http")
  const response = await send(address, body, accept, request, signal).catch((cause: unknown) => {
    throw signal.aborted ? new ExportInterrupted() : recorder.unreachable(cause)
  })
  const { statusCode: status = 0, headers } = response
  if (status === 200) return response
  throw recorder.refused({ status, headers, body: await beginningOf(response) })
}

/** A header as one visible text; `undefined` if it is absent or empty. */
export const headerOf = ({ headers }: Pick<IncomingMessage, "headers">, name: string): string | undefined => {
  const value = headers[name]
  const text = Array.isArray(value) ? value.join(", ") : value
  return text === undefined || text === "" ? undefined : visible(text)
}

type Requester = (url: URL, options: RequestOptions) => ClientRequest

/** No byte came for the allowed time. */
class IdleError extends Error {
  readonly code = "TIMEOUT"
}

const send = async (
  { recorder, idleTimeoutMs, userAgent }: RecorderAddress,
  body: string,
  accept: string,
  request: Requester,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const connection = await recorder.connect(signal, idleTimeoutMs)
  return new Promise((resolve, reject) => {
    const sent = request(recorder.url, {
      ...connection,
      method: "POST",
      headers: {
        ...connection.headers,
        ...recorder.headers,
        accept,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "accept-encoding": "identity",
        "user-agent": userAgent,
      },
      signal,
    })
    let response: IncomingMessage | undefined
    sent.setTimeout(idleTimeoutMs, () => {
      const idle = new IdleError(`nothing came for ${idleTimeoutMs / 1000} s`)
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
}

/** characters of what is told of a refusal. */
const longestDetail = 500
/** bytes of it that are read: a Status of an API server is longer than the message in it. */
const longestRefusal = 16 * 1024

/** A refusal that breaks off says what came. */
const beginningOf = async (response: IncomingMessage): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  let length = 0
  try {
    for await (const piece of response as AsyncIterable<Uint8Array>) {
      pieces.push(piece)
      length += piece.length
      if (length > longestRefusal) break
    }
  } catch {
    // The status has been refusal enough; its text is a courtesy.
    pieces.push(Buffer.from(" …"))
  }
  return Buffer.concat(pieces)
}

const oneLine = (body: Buffer): string =>
  visible(body.toString("utf8").replace(/\s+/g, " ").trim().slice(0, longestDetail)).slice(0, longestDetail)
