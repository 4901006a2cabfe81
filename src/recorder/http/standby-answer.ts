/** What the HTTP interface of a recorder that stands by answers: why it does not record, and its metrics. Everything else has to wait. */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type { Access } from "../access/access.ts"
import { metricsContentType } from "../metrics/metrics-text.ts"
import { refuse, text } from "./http-answer.ts"

/** A recorder that has not begun to record, and may not for days. */
export interface StandbySources {
  /** Why, in one line. */
  readonly reason: () => string
  readonly metrics: () => string
  readonly access: Access
}

/** 503 except for metrics: a Service then routes to the recorder that records. */
export const answerStandby = (
  { headers, method }: IncomingMessage,
  response: ServerResponse,
  path: string,
  { reason, metrics, access }: StandbySources,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (path !== "/metrics" || (method !== "GET" && method !== "HEAD")) return text(response, 503, `${reason()}\n`)
    const decision = yield* Effect.promise(() => access.decide(headers, "metrics"))
    if (decision.tag !== "refused") return text(response, 200, metrics(), metricsContentType)
    if (decision.status === 401) response.setHeader("WWW-Authenticate", "Bearer")
    refuse(response, decision)
  })
