/**
 * A request to a running recorder and the head of its response.
 *
 * Guarantees: receiving nothing for longer than `idleTimeoutMs` is an error, before the response and in the middle of it;
 * `102 Processing` resets the time. Only the beginning of an error response is buffered.
 */
import type {
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestOptions,
} from "node:http"
import { backgroundClock } from "../../../clock.ts"
import { causeIn, codeOfError, connectionCodes, describeConnectionError, speaksTls } from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import { visible } from "../../../text/index.ts"
import { codeOf, ExportInterrupted } from "../../../trace/index.ts"
import { type ExportError, ExportRefused, ServerUnreachable } from "./export-errors.ts"

/** A recorder, and how to send requests to it. */
export interface Recorder {
  /** Its name in messages: `http://127.0.0.1:7777`, `the recorder kubereel/kubereel`. */
  readonly name: string
  /** The URL, or the command, that shows the state of its kinds. */
  readonly readiness: string
  /** The URL that export requests are sent to. */
  readonly url: URL
  /** Headers that authenticate the client, in addition to those of every export. They contain secrets. */
  readonly headers: OutgoingHttpHeaders
  /** Connection options: TLS, a tunnel through a proxy. Waits at most `timeoutMs`. */
  readonly connect: (signal: AbortSignal, timeoutMs: number) => Promise<RequestOptions>
  /** The error for a request without a response. */
  readonly unreachable: (cause: unknown) => ExportError | Promise<ExportError>
  /** The error for a response whose status is not 200. */
  readonly refused: (refusal: Refusal) => ExportError
  /** Of a recording in a directory, which no recorder answers for. */
  readonly offline?: OfflineFacts
}

/** What differs between a recording in a directory and a running recorder. */
interface OfflineFacts {
  /** µs since the Unix epoch from which on nothing is known. */
  readonly knownUntil: number
  /** Whether a recorder is writing to the directory. */
  readonly isWritten: boolean
  /** Whether changes are missing because recording.db-wal is. */
  readonly lacksLog: boolean
  /** How the export that runs ends, in words. */
  readonly outcome: () => Promise<string>
}

/** A response with a status other than 200. */
export interface Refusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Its beginning, as received. */
  readonly body: Buffer
}

export interface RecorderAddress {
  readonly recorder: Recorder
  /** ms without a byte after which the recorder is considered gone; `undefined`: it is in this process. */
  readonly idleTimeoutMs: number | undefined
  readonly userAgent: string
}

/** A recorder that listens at a URL. `token` is `undefined` if the recorder requires none. `option` named the URL, for messages. */
export const recorderAt = (server: URL, token: string | undefined, option = "--server"): Recorder => {
  const { origin } = server
  const url = new URL(server)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/export`
  return {
    name: origin,
    readiness: `${origin}/readyz?verbose`,
    url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    // For one request, a keep-alive connection would only keep the process alive.
    connect: async () => ({ agent: false }),
    unreachable: async (cause) => {
      const facts = {
        ...describeCause(cause),
        ...((await expectsTls(server, cause)) && { code: connectionCodes.tlsExpected }),
      }
      return new ServerUnreachable({ server: origin, option, ...facts })
    },
    refused: (refusal) =>
      refusedByRecorder(origin, refusal, {
        401: "Pass a token with --token-file or in KUBEREEL_TOKEN",
        404: `Is it a recorder? Check ${option}`,
      }),
  }
}

/** A recorder's error response as an error. `advice` is by status; for 401 it is used only if a recorder sent the response. */
export const refusedByRecorder = (
  server: string,
  { status, headers, body }: Refusal,
  advice: Readonly<Record<number, string>>,
): ExportRefused => {
  const requestId = headerOf({ headers }, "kubereel-request-id") ?? ""
  const retryAfter = Number(headerOf({ headers }, "retry-after"))
  const isPlainToTls = requestId === "" && causeIn(body.toString("utf8")) === "tls-expected"
  const hint = isPlainToTls ? "Write https://" : status === 401 && requestId === "" ? undefined : advice[status]
  return new ExportRefused({
    server,
    status,
    detail: oneLine(body),
    requestId,
    ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }),
    ...(hint !== undefined && { advice: hint }),
  })
}

/** The facts of an error that messages contain. */
export const describeCause = (cause: unknown): { readonly code: string; readonly detail: string } => ({
  code: (cause instanceof Error ? codeOfError(cause) : undefined) ?? codeOf(cause),
  detail: cause instanceof Error ? describeConnectionError(cause) : messageOf(cause),
})

/** Whether a plain request failed because the port speaks TLS. */
const expectsTls = async ({ protocol, hostname, port }: URL, cause: unknown): Promise<boolean> => {
  const { code } = describeCause(cause)
  if (protocol !== "http:" || !(code === "ECONNRESET" || code.startsWith("HPE_"))) return false
  const host = hostname.replace(/^\[|\]$/g, "")
  return speaksTls({ host, port: Number(port || 80) }, backgroundClock)
}

/** A request for what is below `/v1/` that is neither an export nor a question about the past. */
export interface OtherQuestion {
  readonly accept: string
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: string
  /** JSON; empty: none. */
  readonly body: string
}

/** An export, or a question about the past. */
type Question =
  | OtherQuestion
  | { readonly accept: string /** JSON. */; readonly body: string }
  | { readonly accept: string /** Below `/v1/`. */; readonly path: string; readonly parameters: URLSearchParams }

/**
 * Sends a request and resolves with the response if its status is one of success. Rejects with the errors of
 * {@link Recorder.unreachable} and {@link Recorder.refused} or, once `signal` is aborted, with {@link ExportInterrupted}.
 */
export const askRecorder = async (
  address: RecorderAddress,
  question: Question,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const { recorder } = address
  const { request } = recorder.url.protocol === "https:" ? await import("node:https") : await import("node:http")
  const response = await send(address, question, request, signal).catch(async (cause: unknown) => {
    throw signal.aborted ? new ExportInterrupted() : await recorder.unreachable(cause)
  })
  const { statusCode: status = 0, headers } = response
  if (status >= 200 && status < 300) return response
  const refused = recorder.refused({ status, headers, body: await beginningOf(response) })
  const isOfQuestion = "path" in question && refused instanceof ExportRefused
  throw isOfQuestion ? new ExportRefused({ ...refused, what: "the question" }) : refused
}

const urlOf = (exports: URL, question: Question): URL => {
  if (!("path" in question)) return exports
  const url = new URL(exports)
  url.pathname = url.pathname.replace(/export$/, `v1/${question.path}`)
  if ("parameters" in question) url.search = question.parameters.toString()
  return url
}

/** The value of a header, with control characters made visible; `undefined` if it is absent or empty. */
export const headerOf = ({ headers }: Pick<IncomingMessage, "headers">, name: string): string | undefined => {
  const value = headers[name]
  const text = Array.isArray(value) ? value.join(", ") : value
  return text === undefined || text === "" ? undefined : visible(text)
}

type Requester = (url: URL, options: RequestOptions) => ClientRequest

/** No byte arrived within the allowed time. */
class IdleError extends Error {
  readonly code = "TIMEOUT"
}

const send = async (
  { recorder, idleTimeoutMs, userAgent }: RecorderAddress,
  question: Question,
  request: Requester,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const connection = await recorder.connect(signal, idleTimeoutMs ?? 0)
  const body = "body" in question ? question.body : ""
  return new Promise((resolve, reject) => {
    const sent = request(urlOf(recorder.url, question), {
      ...connection,
      method: "method" in question ? question.method : body === "" ? "GET" : "POST",
      headers: {
        ...connection.headers,
        ...recorder.headers,
        accept: question.accept,
        ...(body !== "" && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        "accept-encoding": "identity",
        "user-agent": userAgent,
      },
      signal,
    })
    let response: IncomingMessage | undefined
    if (idleTimeoutMs !== undefined)
      sent.setTimeout(idleTimeoutMs, () => {
        const idle = new IdleError(`no data arrived for ${idleTimeoutMs / 1000} s`)
        // Once there is a response, only destroying the response passes the reason on to its reader.
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

/** characters of an error response that are shown. */
const longestDetail = 500
/** bytes of an error response that are read: an API server's Status is longer than the message in it. */
const longestRefusal = 16 * 1024

/** If the error response is truncated, returns what arrived. */
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
    // The status alone says that the request failed; the text is optional.
    pieces.push(Buffer.from(" …"))
  }
  return Buffer.concat(pieces)
}

/** The beginning of a text in one line, with control characters made visible. */
export const oneLine = (body: Buffer): string =>
  visible(body.toString("utf8").replace(/\s+/g, " ").trim().slice(0, longestDetail)).slice(0, longestDetail)
