/**
 * An export that the recorder itself writes to an object store. The upload is started before anything is encoded, so that a store that
 * rejects it costs nothing; unless the export completes, nothing remains in the store.
 *
 * SimKube's client writes the response body over the object it asked for, so it gets an empty one: the body contains the object's URL and
 * size only for a client that explicitly accepts JSON; the headers always contain them.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ExportTarget, WrittenObject } from "../../blob/part-writer.ts"
import type { StoreAddress } from "../../blob/target-address.ts"
import { TargetError } from "../../blob/target-error.ts"
import type { Clock, Timer } from "../../clock.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { json, refuse, text } from "../http/body/http-answer.ts"
import { aborted } from "../http/body/races.ts"
import { reprDigest, setFacts, unchangedField } from "./response-sink.ts"
import { type ExportOutcome, type ExportRun, transferExport } from "./transfer.ts"

export interface UploadSources {
  /** Why the recorder does not write there; `undefined` if it is allowed to. */
  readonly barred: (address: StoreAddress) => ExportRefusal | undefined
  readonly openTarget: (address: StoreAddress, contentType: string) => Effect.Effect<ExportTarget, TargetError>
  /** Called when parts of an upload may remain in a store. */
  readonly uploadLeft: (error: TargetError) => void
}

/** ms between interim responses, for clients that time out without traffic. Proxies built with Go before 1.23 accept five of them. */
const signOfLifeMs = 30_000

export const uploadExport = (
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
      Effect.as(aborted(run.gone), undefined),
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
