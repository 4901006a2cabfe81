/**
 * `POST /export`: from an authorised request to its response and its audit line.
 *
 * Nothing that a client sends or fails to read affects any other request. Exports and dry runs share the {@link ExportPlaces}; requests beyond them
 * get 429 with Retry-After. A trace for an object store is written by the recorder, which responds when the object is complete.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { addressUrl, type ExportTarget, type StoreAddress, TargetError, type WrittenObject } from "../../blob/index.ts"
import type { Clock, Timer } from "../../clock.ts"
import { mediaTypeOf } from "../../trace/index.ts"
import { clientGone, type ExportRefusal, json, refuse, respondJson, text } from "../http/body/http-answer.ts"
import type { RequestBodies } from "../http/body/request-bodies.ts"
import type { ExportForecast } from "./forecast.ts"
import { type ExportLimits, withinLimits } from "./limits.ts"
import { type ExportPlaces, retryAfterSeconds } from "./places.ts"
import { type ExportDestination, type ExportRequest, readExportRequest, windowOf } from "./request.ts"
import { finishClient, reprDigest, responseSink, setFacts, unchangedField } from "./response-sink.ts"
import type { ExportReader } from "./service.ts"
import type { StartedExport } from "./start.ts"
import { type ExportOutcome, type ExportRun, transferExport } from "./transfer.ts"

// An export that the recorder itself writes to an object store. The upload is started before anything is encoded, so that a store that
// rejects it costs nothing; unless the export completes, nothing remains in the store.
//
// SimKube's client writes the response body over the object it asked for, so it gets an empty one: the body contains the object's URL and
// size only for a client that explicitly accepts JSON; the headers always contain them.

interface UploadSources {
  /** Why the recorder does not write there; `undefined` if it is allowed to. */
  readonly barred: (address: StoreAddress) => ExportRefusal | undefined
  readonly openTarget: (address: StoreAddress, contentType: string) => Effect.Effect<ExportTarget, TargetError>
  /** Called when parts of an upload may remain in a store. */
  readonly uploadLeft: (error: TargetError) => void
}

/** ms between interim responses, for clients that time out without traffic. Proxies built with Go before 1.23 accept five of them. */
const signOfLifeMs = 30_000

const uploadExport = (
  request: IncomingMessage,
  response: ServerResponse,
  address: StoreAddress,
  contentType: string,
  run: Omit<ExportRun, "sink">,
  sources: UploadSources,
): Effect.Effect<ExportOutcome> =>
  Effect.suspend(() => {
    const acceptsJson = /\bapplication\/json\b/i.test(request.headers.accept ?? "")
    const signs = acceptsJson ? keepAlive(response, run.clock) : undefined
    const opening = Effect.raceFirst(
      Effect.result(sources.openTarget(address, contentType)),
      Effect.as(run.gone, undefined),
    )
    return opening.pipe(
      Effect.flatMap((opened): Effect.Effect<ExportOutcome> => {
        if (opened === undefined) return Effect.succeed({ tag: "gone", bytes: 0 })
        if (Result.isFailure(opened)) return Effect.sync(() => failed(response, opened.failure))
        return write(response, opened.success, run, sources, acceptsJson)
      }),
      Effect.ensuring(Effect.sync(() => signs?.cancel())),
    )
  })

const write = (
  response: ServerResponse,
  target: ExportTarget,
  run: Omit<ExportRun, "sink">,
  sources: UploadSources,
  acceptsJson: boolean,
): Effect.Effect<ExportOutcome> => {
  const sink = { begin: () => undefined, take: (piece: Uint8Array) => target.write(piece) }
  const abort = (reason: string) => Effect.promise(() => giveUp(target, reason, sources))
  return transferExport({ ...run, sink }).pipe(
    Effect.onInterrupt(() => abort("the recorder is stopping")),
    // From here on the object is either completed or removed, even if the client has gone.
    Effect.flatMap((outcome) =>
      Effect.promise(() => settle(response, target, outcome, sources, acceptsJson)).pipe(Effect.uninterruptible),
    ),
  )
}

const settle = async (
  response: ServerResponse,
  target: ExportTarget,
  outcome: ExportOutcome,
  sources: UploadSources,
  acceptsJson: boolean,
): Promise<ExportOutcome> => {
  if (outcome.tag === "whole") {
    try {
      const written = await target.finish()
      answer(response, written, outcome, acceptsJson)
      return outcome
    } catch (cause) {
      if (!(cause instanceof TargetError)) throw cause
      await giveUp(target, cause.reason, sources)
      return failed(response, cause)
    }
  }
  await giveUp(target, outcome.tag === "refused" ? outcome.refusal.message : outcome.tag, sources)
  switch (outcome.tag) {
    case "refused":
      refuse(response, outcome.refusal)
      return outcome
    case "limit":
      refuse(response, outcome)
      return outcome
    case "failed":
      if (outcome.cause instanceof TargetError) return failed(response, outcome.cause, outcome.bytes)
      refuse(response, { status: 500, message: outcome.message })
      return outcome
    case "gone":
      return outcome
  }
}

const answer = (
  response: ServerResponse,
  { location, bytes }: WrittenObject,
  { sha256, unchanged, facts }: Extract<ExportOutcome, { tag: "whole" }>,
  acceptsJson: boolean,
): void => {
  // The client may have disconnected while the last part was written; the object is complete nevertheless.
  if (response.destroyed) return
  setFacts(response, facts)
  if (unchanged > 0) response.setHeader(unchangedField, String(unchanged))
  response.setHeader("Kubereel-Location", location)
  response.setHeader("Kubereel-Bytes", String(bytes))
  if (acceptsJson) json(response, 200, { location, bytes, sha256: sha256.toString("hex") })
  else {
    response.setHeader("Repr-Digest", reprDigest(sha256))
    text(response, 200, "", "application/octet-stream")
  }
}

const giveUp = (target: ExportTarget, reason: string, sources: UploadSources): Promise<void> =>
  target.abort(reason).catch((cause: unknown) => {
    if (!(cause instanceof TargetError)) throw cause
    sources.uploadLeft(cause)
  })

/** Responds with the store's own reason. A recorder without the store's SDK cannot upload at all. */
const failed = (response: ServerResponse, error: TargetError, bytes = 0): ExportOutcome => {
  refuse(response, { status: error.code === "package-missing" ? 501 : 502, message: error.message })
  return { tag: "failed", bytes, message: error.message, cause: error }
}

/** Sends `102 Processing` (RFC 2518 §10.1) periodically. */
const keepAlive = (response: ServerResponse, clock: Clock): Timer => {
  let timer: Timer
  const again = (): void => {
    timer = clock.after(signOfLifeMs, () => {
      if (response.destroyed || response.headersSent) return
      response.writeProcessing()
      again()
    })
  }
  again()
  return { cancel: () => timer.cancel() }
}

// One log line for each requested export: who requested what, and the outcome. Never contains a token.

/** The facts of an audit line, in the order in which they are written. */
export interface ExportAudit {
  readonly who: string
  /** Address of the client, or of the proxy in front of it. */
  readonly from: string
  readonly request: string
  /** RFC 3339; start inclusive, end exclusive. */
  readonly start: string
  readonly end: string
  /** `simkube`, `ndjson+zstd`, … */
  readonly format: string
  /** As in the request. */
  readonly filters: string
  /** `answer`, or the object's URL. */
  readonly target: string
  readonly bytes: number
  readonly seconds: number
  readonly outcome: string
}

interface AuditedExport {
  readonly who: string
  readonly from: string
  readonly requestId: string
  readonly request: ExportRequest
  readonly destination: ExportDestination
  readonly bytes: number
  readonly milliseconds: number
  readonly outcome: string
}

const auditOf = (audited: AuditedExport): ExportAudit => {
  const { fromTime, untilTime } = windowOf(audited.request)
  const { destination, request } = audited
  const { format, compression } = request
  return {
    who: audited.who,
    from: audited.from,
    request: audited.requestId,
    start: instant(fromTime),
    end: instant(untilTime),
    format: [format, ...(compression === "none" ? [] : [compression])].join("+"),
    filters: shortened(JSON.stringify(audited.request.filters)),
    target: destination.tag === "store" ? addressUrl(destination.address) : "answer",
    bytes: audited.bytes,
    seconds: Math.round(audited.milliseconds) / 1000,
    outcome: audited.outcome,
  }
}

/** The outcome in words, for the log line. */
const outcomeText = (outcome: ExportOutcome): string => {
  switch (outcome.tag) {
    case "whole":
      return "whole"
    case "refused":
      return `rejected with ${outcome.refusal.status}: ${outcome.refusal.message}`
    case "failed":
      return `failed: ${outcome.message}`
    case "limit":
      return `aborted: ${outcome.message}`
    case "gone":
      return "the client disconnected"
  }
}

/** characters: a request may have a mebibyte of filters. */
const longestFilters = 2000

const shortened = (text: string): string => (text.length > longestFilters ? `${text.slice(0, longestFilters)}…` : text)

/** ms beyond which a date cannot be written. */
const lastDateMs = 8.64e15

const instant = (micros: number): string => {
  const milliseconds = Math.floor(micros / 1000)
  return Math.abs(milliseconds) <= lastDateMs ? new Date(milliseconds).toISOString() : `${micros} µs`
}

/** What exports need from the recorder. */
export interface ExportSources extends UploadSources {
  readonly startExport: (request: ExportRequest, reader: ExportReader) => Effect.Effect<StartedExport, ExportRefusal>
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
    const gone = clientGone(response)
    const body = yield* Effect.promise(() => bodies.receive(request, response, client))
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
      return yield* respondJson(response, sources.forecast(wanted)).pipe(Effect.ensuring(giveBack))
    const run = {
      start: (reader: ExportReader) => sources.startExport(wanted, reader),
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
  return mediaTypeOf(format)
}
