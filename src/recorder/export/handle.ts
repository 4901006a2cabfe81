/**
 * `POST /export`: from a request that may be made to its answer and its line in the log.
 *
 * Whatever a client sends or fails to read costs it its own answer and nothing else. At most {@link maximumExportsAtOnce} run;
 * who comes then is told when to come again. A trace for an object store is written by the recorder, which answers when it is there.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type { Clock } from "../../runtime/clock.ts"
import { factsOf } from "../../trace/formats/names.ts"
import { json, refuse } from "../http/http-answer.ts"
import { readBody } from "../http/request-body.ts"
import { auditOf, type ExportAudit, outcomeText } from "./audit.ts"
import type { ExportForecast } from "./forecast.ts"
import {
  type ExportLimits,
  type ExportPlaces,
  maximumExportsAtOnce,
  retryAfterSeconds,
  withinLimits,
} from "./limits.ts"
import { type ExportRefusal, type ExportRequest, readExportRequest } from "./request.ts"
import { clientSink, finishClient } from "./response-sink.ts"
import type { ExportReader } from "./service.ts"
import type { StartedExport } from "./start.ts"
import { type ExportOutcome, type ExportRun, transferExport } from "./transfer.ts"
import { type UploadSources, uploadExport } from "./upload.ts"

/** What exports need; the recorder provides it. */
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

/** Somebody who may, and how their request is called. */
export interface ExportCaller {
  readonly who: string
  readonly requestId: string
}

export const handleExportRequest = async (
  request: IncomingMessage,
  response: ServerResponse,
  caller: ExportCaller,
  sources: ExportSources,
  clock: Clock,
): Promise<void> => {
  const body = await readBody(request)
  if (body.tag === "gone") return
  // What is left of the request is not read, so nothing can follow it on this connection.
  if (body.tag === "too-large") response.setHeader("Connection", "close")
  const reading = body.tag === "whole" ? readExportRequest(body.text, request.headers.accept) : body
  if (reading.tag !== "request") return refuse(response, reading)
  const { request: wanted, destination } = reading
  const startedMs = clock.monotonicMs()
  const from = request.socket.remoteAddress ?? ""
  const audit = (outcome: string, bytes: number): void => {
    const milliseconds = clock.monotonicMs() - startedMs
    sources.audit(auditOf({ ...caller, from, request: wanted, destination, bytes, milliseconds, outcome }))
  }
  const barred = destination.tag === "store" ? sources.barred(destination.address) : undefined
  if (barred !== undefined) {
    audit(barred.message, 0)
    return refuse(response, barred)
  }
  if (wanted.dry_run === true) return answerForecast(response, sources, wanted)
  const giveBack = sources.places.take()
  if (giveBack === undefined) {
    const message = `${maximumExportsAtOnce} exports are already running, which is the limit; try again`
    audit(message, 0)
    return refuse(response, { status: 429, message, retryAfterSeconds })
  }
  try {
    const gone = goneSignal(response)
    const run = {
      start: (reader: ExportReader) => sources.startExport(wanted, reader, gone),
      limits: withinLimits(sources.limits, wanted),
      gone,
      clock,
    }
    const outcome =
      destination.tag === "store"
        ? await uploadExport(request, response, destination.address, contentTypeOf(wanted), run, sources)
        : await streamExport(response, contentTypeOf(wanted), run)
    audit(outcomeText(outcome), "bytes" in outcome ? outcome.bytes : 0)
  } finally {
    giveBack()
  }
}

const streamExport = async (
  response: ServerResponse,
  contentType: string,
  run: Omit<ExportRun, "sink">,
): Promise<ExportOutcome> => {
  const outcome = await transferExport({ ...run, sink: clientSink(response, contentType, run.clock) })
  switch (outcome.tag) {
    case "whole":
      return (await finishClient(response, outcome.sha256, run.clock)) ? outcome : { tag: "gone", bytes: outcome.bytes }
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

const answerForecast = async (
  response: ServerResponse,
  sources: ExportSources,
  request: ExportRequest,
): Promise<void> => {
  const outcome = await Effect.runPromise(Effect.result(sources.forecast(request)))
  if (outcome._tag === "Failure") refuse(response, outcome.failure)
  else json(response, 200, outcome.success)
}

const contentTypeOf = ({ format, compression }: ExportRequest): string => {
  if (compression !== "none") return `application/${compression}`
  // What SimKube's tracer says; its client may look.
  if (format === "simkube") return "application/octet-stream"
  return factsOf(format).mediaTypes[0] ?? "application/octet-stream"
}

/** Aborted when the client closes the connection before it has its answer. */
const goneSignal = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  const close = (): void => {
    if (!response.writableFinished) controller.abort()
  }
  if (response.destroyed) close()
  else response.once("close", close)
  return controller.signal
}
