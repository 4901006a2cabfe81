/** Short answers of the HTTP interface: text for people, JSON for programs. */
import type { ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type { ExportRefusal } from "../export/request.ts"
import { aborted } from "../races.ts"

const plain = "text/plain; charset=utf-8"

export const text = (response: ServerResponse, status: number, body: string, type = plain): void => {
  // What an export had said of itself before it failed is no part of a refusal.
  response.removeHeader("Trailer")
  response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) })
  response.end(body)
}

export const json = (response: ServerResponse, status: number, value: unknown): void =>
  text(response, status, `${JSON.stringify(value)}\n`, "application/json")

/** One line, which is the reason. A client that is gone gets none. */
export const refuse = (response: ServerResponse, { status, message, retryAfterSeconds }: ExportRefusal): void => {
  if (response.destroyed || response.headersSent) return
  if (retryAfterSeconds !== undefined) response.setHeader("Retry-After", String(retryAfterSeconds))
  text(response, status, `${message}\n`)
}

/** Aborted when the client closes the connection before it has its answer. */
export const goneSignal = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  const close = (): void => {
    if (!response.writableFinished) controller.abort()
  }
  if (response.destroyed) close()
  else response.once("close", close)
  return controller.signal
}

/** What a question comes to, as JSON, or why it is refused. A client that goes interrupts it. */
export const respondJson = <A>(
  response: ServerResponse,
  question: Effect.Effect<A, ExportRefusal>,
  gone: AbortSignal = goneSignal(response),
): Effect.Effect<void> =>
  Effect.raceFirst(
    Effect.match(question, {
      onSuccess: (value) => json(response, 200, value),
      onFailure: (refusal) => refuse(response, refusal),
    }),
    aborted(gone),
  )
