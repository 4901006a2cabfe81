/**
 * From a request for an export to an export under way: what was received is committed and counted, owners that are asked for are
 * waited for, within their deadline, and the exporter is told what to encode.
 */
import * as Effect from "effect/Effect"
import type { ExportRefused } from "../actors/exporter/definition.ts"
import type { Settled } from "../actors/owner-resolver/definition.ts"
import type { CallError } from "../runtime/errors.ts"
import { type RecorderConfiguration, recordedWhole } from "./configuration/tracked-kind.ts"
import { type ExportRequest, ownerDeadlineMs } from "./export-request.ts"
import type { ExportReader } from "./export-service.ts"
import type { ExportRefusal, StartedExport } from "./http-api.ts"
import type { KindStatus } from "./kind-status.ts"
import type { Recording } from "./recording.ts"

/** Fails with the status and the message for the client. */
export const orderExport = (
  recording: Recording,
  configuration: RecorderConfiguration,
  request: ExportRequest,
  reader: ExportReader,
): Effect.Effect<StartedExport, ExportRefusal> =>
  Effect.gen(function* () {
    const fromTime = request.start_time ?? request.start_ts * 1_000_000
    const untilTime = request.end_time ?? request.end_ts * 1_000_000
    if (untilTime <= fromTime) {
      return yield* Effect.fail({
        status: 422,
        message: `the window is empty: it ends at ${untilTime} µs and starts at ${fromTime} µs`,
      })
    }
    const cut = yield* recording
      .cut()
      .pipe(
        Effect.mapError((error) => ({ status: 503, message: `the recording cannot be written now: ${error.message}` })),
      )
    const format = request.format ?? ("simkube" as const)
    // Read once: header and trace must say the same, and states change while owners are waited for.
    const incomplete = recording.statuses.incomplete()
    const job = {
      format,
      cut,
      fromTime,
      untilTime,
      filters: request.filters,
      skipOwned: configuration.kinds.filter((kind) => kind.skipOwned !== false).map((kind) => kind.gvkText),
      excludeOwned: request.filters.excluded_owned ?? format === "simkube",
      excludeDaemonSetOwned: request.filters.excluded_daemonset_owned ?? format === "simkube",
      recordedKinds: recordedWhole(configuration.kinds),
      trackedObjects: trackedObjects(configuration),
      incomplete: Object.fromEntries(incomplete.map(({ gvk, state }) => [gvk, state])),
    }
    const needsOwners =
      job.excludeOwned || (format === "simkube" && configuration.kinds.some((kind) => kind.trackLifecycle))
    const settled = needsOwners
      ? yield* recording.owners.settle(request.owner_deadline_ms ?? ownerDeadlineMs)
      : ({ unknown: 0, first: [] } satisfies Settled)
    const started = yield* recording.exports
      .start(job, reader)
      .pipe(Effect.mapError((error) => ({ status: refusalStatus(error), message: error.message })))
    return { ...started, incomplete: describeIncomplete(incomplete), unknownOwners: describeUnknown(settled) }
  })

/** For a header: `v1.Pod=forbidden, …`; `undefined` when everything is being watched. */
const describeIncomplete = (kinds: ReadonlyArray<KindStatus>): string | undefined =>
  kinds.length === 0 ? undefined : kinds.map(({ gvk, state }) => `${gvk}=${state}`).join(", ")

/** For a header: `3 (apps/v1.ReplicaSet shop/web-1, …)`; `undefined` if all are known. Names are ASCII by Kubernetes' rules. */
const describeUnknown = ({ unknown, first }: Settled): string | undefined => {
  if (unknown === 0) return undefined
  const names = first.map(({ gvk, namespace, name }) => `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`)
  const text = `${unknown} (${names.join(", ")}${unknown > first.length ? ", ..." : ""})`
  // What stands in an ownerReference was never validated; a header must hold no other characters.
  return text.replaceAll(/[^ -~]/g, "?")
}

const refusalStatus = (error: ExportRefused | CallError): number => {
  if (error._tag !== "ExportRefused") return 503
  return { request: 422, recording: 500, busy: 503 }[error.fault]
}

/** The part of our configuration that SimKube knows. */
const trackedObjects = (configuration: RecorderConfiguration): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    configuration.kinds.map(({ gvkText, podSpecTemplatePaths, trackLifecycle, skipOwned }) => [
      gvkText,
      { podSpecTemplatePaths, trackLifecycle, skipOwned: skipOwned !== false },
    ]),
  )
