/**
 * Questions of the page, passed on to the recording that it shows: a running recorder, with the token that it requires, or what is in a directory. So the browser
 * needs no token, and has one origin to talk to.
 *
 * Guarantee: nothing that the client sends is passed on but what a question consists of, and nothing of the recorder's headers but what describes the answer. What
 * breaks off at one end breaks off at the other.
 */

import type { IncomingMessage, OutgoingHttpHeaders, RequestOptions, ServerResponse } from "node:http"
import { request as plainRequest } from "node:http"
import { request as secureRequest } from "node:https"
import { pipeline } from "node:stream"
import { messageOf } from "../../message-of.ts"
import { isForeignPage, refuse } from "../../recorder/index.ts"
import { visible } from "../../text/index.ts"
import type { RecorderAddress } from "../export/connection/recorder-connection.ts"

const asked = ["accept", "accept-encoding", "content-type", "content-length", "last-event-id"]
const answered = ["content-type", "content-encoding", "content-length", "cache-control", "retry-after", "vary", "allow"]

/** What the address of the page of a pin begins with. */
const pinned = "/pins/[a-z0-9-]+"

const question = new RegExp(`^(?:${pinned})?/v1/[a-z]+(?:/[A-Za-z0-9_-]+)?$`)

/** Whether the page asks this of a recording, or of one of its pins. */
export const isQuestion = (path: string): boolean => question.test(path)

/** A path of the page of a pin, as one of the page. */
export const withoutPin = (path: string): string => path.replace(new RegExp(`^${pinned}(?=/ui/)`), "")

/** ms for a connection. Answers that do not end may be silent for longer. */
const connectMs = 30_000

/** `url`: path and query, of which {@link isQuestion} holds. */
export const passOn = async (
  { recorder, userAgent }: RecorderAddress,
  request: IncomingMessage,
  response: ServerResponse,
  url: string,
): Promise<void> => {
  if (isForeignPage(request.headers)) return refuse(response, { status: 403, message: "only its own page may ask" })
  const abort = new AbortController()
  response.once("close", () => abort.abort())
  try {
    const connection = await recorder.connect(abort.signal, connectMs)
    const answer = await send(recorder.url, url, connection, {
      method: request.method,
      headers: {
        ...connection.headers,
        ...picked(request.headers, asked),
        ...recorder.headers,
        "user-agent": userAgent,
      },
      signal: abort.signal,
      body: request,
    })
    response.writeHead(answer.statusCode ?? 502, {
      ...picked(answer.headers, answered),
      "X-Content-Type-Options": "nosniff",
    })
    // Of an answer that breaks off, the response is destroyed, and the page sees that it did.
    pipeline(answer, response, () => undefined)
  } catch (cause) {
    if (abort.signal.aborted || response.headersSent) return void response.destroy()
    const error = await recorder.unreachable(cause)
    refuse(response, { status: 502, message: visible(messageOf(error)) })
  }
}

const picked = (headers: Readonly<IncomingMessage["headers"]>, names: ReadonlyArray<string>): OutgoingHttpHeaders =>
  Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))

interface Sent {
  readonly method: string | undefined
  readonly headers: RequestOptions["headers"]
  readonly signal: AbortSignal
  readonly body: IncomingMessage
}

const send = (exports: URL, url: string, connection: RequestOptions, { body, ...options }: Sent) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const target = new URL(exports)
    const [path = "", query = ""] = url.split("?")
    target.pathname = target.pathname.replace(/\/export$/, path)
    target.search = query
    const request = target.protocol === "https:" ? secureRequest : plainRequest
    const sent = request(target, { ...connection, ...options }, resolve)
    sent.on("error", reject)
    body.pipe(sent)
  })
