/**
 * `GET /v1/events`: what is committed, as it is committed, until the client goes away.
 *
 * The reader sends only as fast as the client takes it, from the recording and not from memory, so a slow client delays no one and costs no memory beyond its window. Whether it may still see what it
 * sees is looked at ({@link rightsChanged}); if that has changed, the connection is closed, and the client, which goes on where it was, gets what it may see now.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type { Clock } from "../../clock.ts"
import type { Access } from "../access/access.ts"
import { retryAfterSeconds } from "../export/places.ts"
import { responseSink } from "../export/response-sink.ts"
import { transferExport } from "../export/transfer.ts"
import { rightsChanged } from "./changed-rights.ts"
import { goneSignal, refuse } from "./http-answer.ts"
import { type PastRequest, type PastSources, withRights } from "./past.ts"
import { readPastRequest } from "./past-request.ts"
import type { Subscriptions } from "./subscriptions.ts"

/** What subscriptions need from the recorder, besides what questions need. */
export interface SubscriptionSources extends Pick<PastSources, "startQuery" | "shownTo" | "nowMicros"> {
  readonly access: Access
  readonly subscriptions: Subscriptions
}

/** ms until the kernel asks a client that has taken everything whether it is still there: it may have vanished without a word. */
const keepAliveMs = 60_000

/** ms after which it ends in any case: 24 days, the longest time that a timer can be set to. The client goes on where it was. */
const longestMs = 2 ** 31 - 1

export const answerSubscription = (
  request: IncomingMessage,
  response: ServerResponse,
  { path, parameters, client, reader }: PastRequest,
  sources: SubscriptionSources,
  clock: Clock,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { accept, "last-event-id": given } = request.headers
    const lastEventId = typeof given === "string" && given !== "" ? given : undefined
    const question = readPastRequest(path, parameters, { nowMicros: sources.nowMicros(), accept, lastEventId })
    if ("status" in question) return refuse(response, question)
    const contentType = question.isEventStream === true ? "text/event-stream" : "application/x-ndjson"
    response.setHeader("Cache-Control", "no-store")
    if (request.method === "HEAD") {
      response.setHeader("Content-Type", contentType)
      response.end()
      return
    }
    const place = sources.subscriptions.take(client)
    if ("message" in place) return refuse(response, { status: 429, message: place.message, retryAfterSeconds })
    const gone = goneSignal(response)
    yield* Effect.gen(function* () {
      const asked = yield* withRights(question, reader, sources)
      request.socket.setKeepAlive(true, keepAliveMs)
      request.socket.setNoDelay(true)
      const transfer = transferExport({
        start: (receiver) => sources.startQuery(asked, receiver),
        sink: responseSink(response, contentType, clock),
        limits: { milliseconds: longestMs, bytes: Number.POSITIVE_INFINITY },
        ...{ gone, clock, isEndless: true },
      })
      const outcome = yield* Effect.raceFirst(transfer, rightsChanged(request.headers, asked, sources, clock))
      if (outcome?.tag === "refused") refuse(response, outcome.refusal)
      else response.destroy()
    }).pipe(
      Effect.catch((refusal) => Effect.sync(() => refuse(response, refusal))),
      Effect.ensuring(Effect.sync(() => place.giveBack())),
    )
  })
