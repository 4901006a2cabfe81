/**
 * `GET /v1/events`: what is committed, as it is committed, until the client goes away.
 *
 * The reader sends only as fast as the client takes it, from the recording and not from memory, so a slow client delays
 * no other and costs no memory beyond its window. The recorder checks whether it may still see what it sees
 * ({@link rightsChanged}). A stream that the recorder ends says why in its last item, if the client takes it in time
 * ({@link EventBody}); the client continues where it was, and gets what it may see then.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import * as Effect from "effect/Effect"
import type { Clock } from "../../clock.ts"
import type { Access } from "../access/access.ts"
import { retryAfterSeconds } from "../export/places.ts"
import { type ExportOutcome, transferExport } from "../export/transfer.ts"
import { clientGone, refuse } from "./body/http-answer.ts"
import { rightsChanged } from "./changed-rights.ts"
import { contentTypes, EventBody } from "./event-body.ts"
import { type PastRequest, type PastSources, withRights } from "./past.ts"
import { readPastRequest } from "./past-request.ts"
import { readerEnding, refusalOfEnd, type StreamEndReason } from "./stream-end.ts"
import type { Subscriptions } from "./subscriptions.ts"

/** What subscriptions need from the recorder, besides what questions need. */
export interface SubscriptionSources extends Pick<PastSources, "startQuery" | "shownTo" | "nowMicros"> {
  readonly access: Access
  readonly subscriptions: Subscriptions
}

/** ms until the kernel asks a client that has taken everything whether it is still there: it may have vanished without a word. */
const keepAliveMs = 60_000

/**
 * ms after which it ends in any case: 24 days, the longest time that a timer can be set to. The client continues where
 * it was.
 */
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
    const form = question.isEventStream === true ? "server-sent-events" : "lines"
    response.setHeader("Cache-Control", "no-store")
    if (request.method === "HEAD") {
      response.setHeader("Content-Type", contentTypes[form])
      response.end()
      return
    }
    const place = sources.subscriptions.take(client)
    if ("message" in place) return refuse(response, { status: 429, message: place.message, retryAfterSeconds })
    yield* Effect.gen(function* () {
      const asked = yield* withRights(question, reader, sources)
      watchConnection(request)
      const body = new EventBody(response, { form, after: asked.after, clock })
      let note: string | undefined
      const transfer = transferExport({
        start: (receiver) =>
          sources.startQuery(asked, {
            piece: (piece) => receiver.piece(piece),
            end: (error, _, said) => {
              note = said
              receiver.end(error)
            },
          }),
        sink: body,
        limits: { milliseconds: longestMs, bytes: Number.POSITIVE_INFINITY },
        ...{ gone: clientGone(response), clock, isEndless: true },
      })
      const ended = Effect.raceAllFirst<Effect.Effect<StreamEndReason>>([
        rightsChanged(request.headers, asked, sources, clock),
        Effect.as(sources.subscriptions.stopping, "stopping"),
        Effect.as(
          Effect.promise(() => body.slow),
          "slow-client",
        ),
      ])
      // The transfer continues until what is being sent is whole.
      const endedBetweenItems = Effect.tap(ended, () => Effect.promise(() => body.betweenItems()))
      const outcome = yield* Effect.raceFirst(transfer, endedBetweenItems)
      if (typeof outcome !== "string" && outcome.tag === "refused") return refuse(response, outcome.refusal)
      const reason = typeof outcome === "string" ? outcome : reasonOf(outcome, note)
      if (reason === undefined) return body.abandon()
      if (response.headersSent) yield* Effect.promise(() => body.end(reason))
      else refuse(response, { ...refusalOfEnd(reason), ...(reason !== "retention" && { retryAfterSeconds }) })
    }).pipe(
      Effect.catch((refusal) => Effect.sync(() => refuse(response, refusal))),
      Effect.ensuring(Effect.sync(() => place.giveBack())),
    )
  })

/** A client in this process has no socket, and does not vanish. */
const watchConnection = ({ socket }: IncomingMessage): void => {
  if (!(socket instanceof Socket)) return
  socket.setKeepAlive(true, keepAliveMs)
  socket.setNoDelay(true)
}

/** Why the transfer ended; `undefined`: the client has gone. */
const reasonOf = ({ tag }: ExportOutcome, note: string | undefined): StreamEndReason | undefined => {
  if (tag === "gone") return undefined
  return tag === "limit" ? "time-limit" : readerEnding(note)
}
