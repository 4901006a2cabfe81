/**
 * A request to a running recorder and the head of its answer.
 *
 * Guarantees: silence for longer than `idleTimeoutMs` is an error, before the answer and in the middle of it; `102 Processing` is no
 * silence. Nothing is buffered but the beginning of a refusal.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http"
import { visible } from "../tracer/configuration/quoted.ts"
import { codeOf, ExportInterrupted, ExportRefused, ServerUnreachable } from "./export-errors.ts"

export interface RecorderAddress {
  /** Base URL of the recorder. */
  readonly server: URL
  /** Shown to the recorder; `undefined`: it asks nobody who they are. */
  readonly token: string | undefined
  /** ms without a byte after which the recorder counts as gone. */
  readonly idleTimeoutMs: number
  readonly userAgent: string
}

/**
 * Posts an export request; answers a response with status 200. Rejects with {@link ServerUnreachable}, {@link ExportRefused} or,
 * once `signal` is aborted, {@link ExportInterrupted}.
 */
export const postExport = async (
  address: RecorderAddress,
  body: string,
  accept: string,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const server = address.server.origin
  const { request } = address.server.protocol === "https:" ? await import("node:https") : await import("node:http")
  const response = await send(address, body, accept, request, signal).catch((cause: unknown) => {
    throw signal.aborted ? new ExportInterrupted() : unreachable(server, cause)
  })
  if (response.statusCode === 200) return response
  const retryAfter = Number(headerOf(response, "retry-after"))
  throw new ExportRefused({
    server,
    status: response.statusCode ?? 0,
    detail: (await beginningOf(response)).slice(0, longestDetail),
    requestId: headerOf(response, "kubereel-request-id") ?? "",
    ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }),
  })
}

/** A header as one visible text; `undefined` if it is absent or empty. */
export const headerOf = (response: IncomingMessage, name: string): string | undefined => {
  const value = response.headers[name]
  const text = Array.isArray(value) ? value.join(", ") : value
  return text === undefined || text === "" ? undefined : visible(text)
}

type Requester = (url: URL, options: RequestOptions) => ClientRequest

/** No byte came for the allowed time. */
class IdleError extends Error {
  readonly code = "TIMEOUT"
}

const send = (
  { server, token, idleTimeoutMs, userAgent }: RecorderAddress,
  body: string,
  accept: string,
  request: Requester,
  signal: AbortSignal,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const url = new URL(server)
    url.pathname = `${url.pathname.replace(/\/$/, "")}/export`
    const sent = request(url, {
      method: "POST",
      headers: {
        accept,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "accept-encoding": "identity",
        "user-agent": userAgent,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      // One request: a kept connection would only keep the process alive.
      agent: false,
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

const unreachable = (server: string, cause: unknown): ServerUnreachable =>
  new ServerUnreachable({ server, code: codeOf(cause), detail: cause instanceof Error ? cause.message : String(cause) })

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
