/** Short responses of the HTTP interface: text for people, JSON for programs. */
import type { ServerResponse } from "node:http"
import * as Effect from "effect/Effect"

/** Why a request is rejected: the status, and a message for the client. */
export interface ExportRefusal {
  readonly status: number
  readonly message: string
  /** s after which to retry; absent: unknown. */
  readonly retryAfterSeconds?: number
}

const plain = "text/plain; charset=utf-8"

export const text = (response: ServerResponse, status: number, body: string, type = plain): void => {
  // Headers that an export set before it failed do not belong in the response to its failure.
  response.removeHeader("Trailer")
  response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) })
  response.end(body)
}

export const json = (response: ServerResponse, status: number, value: unknown): void =>
  text(response, status, `${JSON.stringify(value)}\n`, "application/json")

/** Responds with the reason in one line; does nothing if the client is gone. */
export const refuse = (response: ServerResponse, { status, message, retryAfterSeconds }: ExportRefusal): void => {
  if (response.destroyed || response.headersSent) return
  if (retryAfterSeconds !== undefined) response.setHeader("Retry-After", String(retryAfterSeconds))
  text(response, status, `${message}\n`)
}

/** Completes when the client closes the connection before the response is complete. */
export const clientGone = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const close = (): void => {
      if (!response.writableFinished) resume(Effect.void)
    }
    if (response.destroyed) return close()
    response.once("close", close)
    return Effect.sync(() => response.off("close", close))
  })

/** Responds with the result of an Effect as JSON, or with its refusal. Interrupted if the client disconnects. */
export const respondJson = <A>(
  response: ServerResponse,
  question: Effect.Effect<A, ExportRefusal>,
): Effect.Effect<void> =>
  Effect.raceFirst(
    Effect.match(question, {
      onSuccess: (value) => json(response, 200, value),
      onFailure: (refusal) => refuse(response, refusal),
    }),
    clientGone(response),
  )
