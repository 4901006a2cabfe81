/**
 * `POST /export`: from an authorised request to its response and its audit line.
 *
 * Nothing that a client sends or fails to read affects any other request. Exports and dry runs share the {@link ExportPlaces}; requests beyond them
 * get 429 with Retry-After. A trace for an object store is written by the recorder, which responds when the object is complete.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type { Clock } from "../../clock.ts"
import { factsOf } from "../../trace/formats/names.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { goneSignal, refuse, respondJson } from "../http/body/http-answer.ts"
import type { RequestBodies } from "../http/body/request-bodies.ts"
import { auditOf, type ExportAudit, outcomeText } from "./audit.ts"
import type { ExportForecast } from "./forecast.ts"
import { type ExportLimits, withinLimits } from "./limits.ts"
import { type ExportPlaces, retryAfterSeconds } from "./places.ts"
import { type ExportRequest, readExportRequest } from "./request.ts"
import { finishClient, responseSink } from "./response-sink.ts"
import type { ExportReader } from "./service.ts"
import type { StartedExport } from "./start.ts"
import { type ExportOutcome, type ExportRun, transferExport } from "./transfer.ts"
import { type UploadSources, uploadExport } from "./upload.ts"

/** What exports need from the recorder. */
export interface ExportSources extends UploadSources {
  readonly startExport: (
    request: ExportRequest,
    reader: ExportReader,
    gone: AbortSignal,
  ) => Effect.Effect<StartedExport, ExportRefusal>
  readonly forecast: (request: ExportRequest) => Effect.Effect<ExportForecast, ExportRefusal>
  readonly places: ExportPlaces
  readonly limits: ExportLimits
  readonly audit: (line: ExportAudit) => void
}

/** The authorised client, the ID of its request, and what receives its body. */
interface ExportCaller {
  readonly who: string
  readonly requestId: string
  readonly bodies: RequestBodies
}

export const handleExportRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  { who, requestId, bodies }: ExportCaller,
  sources: ExportSources,
  clock: Clock,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const from = request.socket.remoteAddress ?? ""
    const client = `${who} at ${from}`
    const gone = goneSignal(response)
    const body = yield* Effect.promise(() => bodies.receive(request, response, client, gone))
    if (body.tag === "gone") return
    const reading = body.tag === "whole" ? readExportRequest(body.text, request.headers.accept) : body
    if (reading.tag !== "request") return refuse(response, reading)
    const { request: wanted, destination } = reading
    const startedMs = clock.monotonicMs()
    const audit = (outcome: string, bytes: number): void => {
      const milliseconds = clock.monotonicMs() - startedMs
      sources.audit(auditOf({ who, requestId, from, request: wanted, destination, bytes, milliseconds, outcome }))
    }
    const barred = destination.tag === "store" ? sources.barred(destination.address) : undefined
    if (barred !== undefined) {
      audit(barred.message, 0)
      return refuse(response, barred)
    }
    const place = sources.places.take(client)
    if ("message" in place) {
      audit(place.message, 0)
      return refuse(response, { status: 429, message: place.message, retryAfterSeconds })
    }
    const giveBack = Effect.sync(() => place.giveBack())
    if (wanted.dry_run === true)
      return yield* respondJson(response, sources.forecast(wanted), gone).pipe(Effect.ensuring(giveBack))
    const run = {
      start: (reader: ExportReader) => sources.startExport(wanted, reader, gone),
      limits: withinLimits(sources.limits, wanted),
      gone,
      clock,
      place,
    }
    const contentType = contentTypeOf(wanted)
    const exporting =
      destination.tag === "store"
        ? uploadExport(request, response, destination.address, contentType, run, sources)
        : streamExport(response, contentType, run)
    yield* exporting.pipe(
      Effect.map((outcome) => audit(outcomeText(outcome), "bytes" in outcome ? outcome.bytes : 0)),
      Effect.ensuring(giveBack),
    )
  })

const streamExport = (
  response: ServerResponse,
  contentType: string,
  run: Omit<ExportRun, "sink">,
): Effect.Effect<ExportOutcome> =>
  transferExport({ ...run, sink: responseSink(response, contentType, run.clock) }).pipe(
    Effect.flatMap((outcome) => Effect.promise(() => finishResponse(response, outcome, run.clock))),
  )

const finishResponse = async (
  response: ServerResponse,
  outcome: ExportOutcome,
  clock: Clock,
): Promise<ExportOutcome> => {
  switch (outcome.tag) {
    case "whole":
      return (await finishClient(response, outcome, clock)) ? outcome : { tag: "gone", bytes: outcome.bytes }
    case "refused":
      refuse(response, outcome.refusal)
      return outcome
    case "failed":
    case "limit":
      if (response.headersSent) response.destroy()
      else refuse(response, { status: outcome.tag === "limit" ? outcome.status : 500, message: outcome.message })
      return outcome
    case "gone":
      return outcome
  }
}

const contentTypeOf = ({ format, compression }: ExportRequest): string => {
  if (compression !== "none") return `application/${compression}`
  // SimKube's tracer sends this type; its client may check it.
  if (format === "simkube") return "application/octet-stream"
  return factsOf(format).mediaTypes[0] ?? "application/octet-stream"
}
