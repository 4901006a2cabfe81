/**
 * From an export request to a running export: commits what was received, waits for owner look-ups within the deadline, and passes the
 * exporter its job.
 */
import * as Effect from "effect/Effect"
import type { ExportRefused, IncompleteKind, Settled } from "../../actors/index.ts"
import { describeRedacted } from "../../kube/offline.ts"
import type { CallError } from "../../runtime/index.ts"
import { hasRecordedObjects, podLivesKind } from "../../trace/index.ts"
import type { Program } from "../../trace/transform/index.ts"
import { type RecorderConfiguration, recordedWhole } from "../configuration/tracked-kind.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { type KindStatus, requestedStatus } from "../status/kind-status.ts"
import { watchedKinds } from "../watchers/pod-stream.ts"
import { describeLate, type LateFacts, lateFactsOf, lateFault } from "./late-changes.ts"
import type { Reach, Recording } from "./recording.ts"
import { type ExportRequest, filtersOf, ownerDeadlineMs, removedFrom, wantsKind, windowOf } from "./request.ts"
import { headerText } from "./response-sink.ts"
import type { ExportReader, RunningExport } from "./service.ts"
import {
  aheadOfNow,
  describeIncomplete,
  futureOf,
  notBegun,
  requestedKinds,
  untrackedKinds,
} from "./window-coverage.ts"

// The program of an export request. The parser is loaded with the first request that has one, so that a recorder without such requests does not pay for it.

/** The program, if there is one, or why the request is refused. Never rejects for what a program is. */
export const requestedProgram = async (
  request: ExportRequest,
): Promise<{ readonly program?: Program } | { readonly refusal: ExportRefusal }> => {
  const { transform } = request
  if (transform === undefined) return {}
  const { faultAt, insertionsOf, ProgramError, parseProgram, TransformFailed } = await import(
    "../../trace/transform/index.ts"
  )
  try {
    const program = parseProgram(transform)
    const { fromTime, untilTime } = windowOf(request)
    insertionsOf(program, { start: fromTime, end: untilTime })
    return { program }
  } catch (error) {
    const fault =
      error instanceof TransformFailed
        ? faultAt(transform, error.at ?? 0, error.message)
        : error instanceof ProgramError
          ? error
          : undefined
    if (fault === undefined) throw error
    return { refusal: { status: 400, message: `transform: ${fault.message}` } }
  }
}

/** A running export, with the facts for its headers. */
export interface StartedExport extends Omit<RunningExport, "late" | "redacted" | "incomplete"> {
  /** Changes in the window that were received later than they happened, as text for a header; `undefined`: none. */
  readonly late: string | undefined
  /** Kinds, or namespaces of kinds, that are incomplete for reasons other than gaps, as text for a header; the trace names the same ones. */
  readonly incomplete: string | undefined
  /** The part of the window that is still to come, as text for a header; `undefined` if it has ended. */
  readonly future: string | undefined
  /** How many values of the requested kinds were replaced in the recording, as text for a header; `undefined`: none. */
  readonly redacted: string | undefined
  /** Owners that could not be looked up, as text for a header; `undefined` if all are known. */
  readonly unknownOwners: string | undefined
  /** The fields removed from the objects; empty: none. */
  readonly removed: ReadonlyArray<string>
}

/** The recording to export from, and the present time. */
export interface ExportContext {
  readonly recording: Recording
  readonly configuration: RecorderConfiguration
  /** µs since the Unix epoch. */
  readonly nowMicros: number
}

/** Fails with the status and the message for the client. */
export const startExport = (
  { recording, configuration, nowMicros }: ExportContext,
  request: ExportRequest,
  reader: ExportReader,
): Effect.Effect<StartedExport, ExportRefusal> =>
  Effect.gen(function* () {
    const { fromTime, untilTime } = windowOf(request)
    const clockMicros = clockOf(recording, nowMicros)
    const future = notBegun({ fromTime, untilTime }, clockMicros)
    if (future !== undefined) return yield* Effect.fail({ status: 400, message: future })
    const requested = yield* Effect.promise(() => requestedProgram(request))
    if ("refusal" in requested) return yield* Effect.fail(requested.refusal)
    const { cut, knownUntil } = yield* recording.reach()
    const { format, compression } = request
    // Read only once: header and trace must agree, and states can change while owners are being looked up.
    const tracked = recording.statuses.all()
    const statuses = requestedStatuses(request, tracked)
    const listing = yield* recording.firstLists(statuses)
    if (listing.length > 0) return yield* Effect.fail(listingRefusal(listing))
    const untracked = untrackedKinds(request.filters.kinds, tracked)
    const present = { nowMicros, fromBeginning: request.require !== undefined }
    const job = {
      format,
      compression,
      ...(request.sanitise !== undefined && { sanitise: request.sanitise }),
      cut,
      fromTime,
      untilTime,
      ...(request.times !== undefined && { times: request.times }),
      ...knownThrough({ knownUntil }, statuses, untilTime, nowMicros),
      filters: filtersOf(request),
      ...(requested.program !== undefined && { program: requested.program }),
      skipOwned: skippedKinds(configuration),
      excludeOwned: leavesOwnedOut(request),
      excludeDaemonSetOwned: leavesDaemonSetOwnedOut(request),
      recordedKinds: recordedWhole(configuration.kinds),
      trackedObjects: trackedObjects(configuration),
      podStreams: podStreamsOf(request, configuration),
      requested: requestedKinds(statuses, recording.statuses, { knownUntil }, present),
      incomplete: untracked.map(({ gvk, state }) => ({ gvk, state })),
    }
    const settling = recording.owners.settle(request.owner_deadline_ms ?? ownerDeadlineMs)
    const settled = needsOwners(request, configuration) ? yield* settling : noneUnknown
    const started = yield* recording.exports
      .start(job, reader)
      .pipe(Effect.mapError((error) => ({ status: refusalStatus(error), message: error.message })))
    const incomplete = [...started.incomplete, ...untracked]
    const late = started.late.map((range) => lateFactsOf(range, { fromTime, untilTime }, request.times ?? "happened"))
    const missing = missingOf(request, { incomplete, gaps: started.gaps, late }, clockMicros)
    if (missing !== undefined) {
      started.cancel()
      return yield* Effect.fail({ status: 409, message: missing })
    }
    return {
      ...started,
      late: describeLate(late),
      incomplete: describeIncomplete(incomplete),
      future: futureOf({ fromTime, untilTime }, clockMicros),
      redacted: started.redacted.length === 0 ? undefined : headerText(describeRedacted(started.redacted)),
      unknownOwners: describeUnknown(settled),
      removed: removedFrom(request),
    }
  })

/**
 * Up to when the trace knows that nothing more happened, for the job: the end of a window that is over, while a kind is watched, because an open watch misses
 * nothing. Otherwise the recording itself says it.
 */
export const knownThrough = (
  { knownUntil }: Pick<Reach, "knownUntil">,
  statuses: ReadonlyArray<Pick<KindStatus, "state">>,
  untilTime: number,
  nowMicros: number,
): { readonly knownUntil?: number } =>
  untilTime <= (knownUntil ?? nowMicros) && statuses.some(({ state }) => state === "watching")
    ? { knownUntil: untilTime }
    : {}

/**
 * The streams of pods that the trace has lifecycles from; none if it has no lifecycles. Before the configuration changed, a watcher of
 * pods for their lifecycles alone may have followed them.
 */
export const podStreamsOf = (request: ExportRequest, { kinds }: RecorderConfiguration): ReadonlyArray<string> => {
  const wanted = wantsKind(request)
  const hasLives = request.format === "simkube" && kinds.some((kind) => kind.trackLifecycle && wanted(kind.gvkText))
  const { podStream } = watchedKinds(kinds)
  return hasLives && podStream !== undefined ? [...new Set([podStream, podLivesKind])] : []
}

/** The time from which on a window is in the future; for a recording that is over, `incomplete` says what it lacks at its end. */
export const clockOf = ({ isOver }: Recording, nowMicros: number): number =>
  isOver ? Number.MAX_SAFE_INTEGER : nowMicros

const noneUnknown: Settled = { unknown: 0, first: [] }

/** The requested kinds, each with the state of its requested namespaces. */
export const requestedStatuses = (
  request: ExportRequest,
  tracked: ReadonlyArray<KindStatus>,
): ReadonlyArray<KindStatus> => {
  const wanted = wantsKind(request)
  return tracked.filter(({ gvk }) => wanted(gvk)).flatMap((status) => requestedStatus(status, request.selects) ?? [])
}

/** Whether the content of the trace depends on ownership. */
export const needsOwners = (request: ExportRequest, { kinds }: RecorderConfiguration): boolean =>
  leavesOwnedOut(request) || (request.format === "simkube" && kinds.some((kind) => kind.trackLifecycle))

/** Default: replay formats leave out objects that the replayed owners create again. */
const leavesOwnedOut = ({ format, filters }: ExportRequest): boolean =>
  filters.excluded_owned ?? !hasRecordedObjects(format)

const leavesDaemonSetOwnedOut = ({ format, filters }: ExportRequest): boolean =>
  filters.excluded_daemonset_owned ?? !hasRecordedObjects(format)

/** Kinds whose owned objects are left out of every export. */
const skippedKinds = ({ kinds }: RecorderConfiguration): ReadonlyArray<string> =>
  kinds.filter((kind) => kind.skipOwned !== false).map((kind) => kind.gvkText)

/** Whether an object of this export may be left out because of its owners. */
export const asksOwners = (request: ExportRequest, configuration: RecorderConfiguration): boolean =>
  leavesOwnedOut(request) ||
  leavesDaemonSetOwnedOut(request) ||
  skippedKinds(configuration).some((gvk) => wantsKind(request)(gvk))

export const listingRefusal = (kinds: ReadonlyArray<string>): ExportRefusal => {
  const message = `${kinds.join(", ")}: being listed for the first time, so ${kinds.length === 1 ? "its objects are" : "their objects are"} not known yet; try again`
  return { status: 503, message, retryAfterSeconds: 1 }
}

/** What a window lacks, and which of it is not certain. */
interface WindowFaults {
  readonly incomplete: ReadonlyArray<IncompleteKind>
  readonly gaps: number
  readonly late: ReadonlyArray<LateFacts>
}

/** What violates `require`; `undefined` if nothing does or the request does not set it. */
export const missingOf = (
  request: ExportRequest,
  { incomplete, gaps, late }: WindowFaults,
  nowMicros: number,
): string | undefined => {
  if (request.require === undefined) return undefined
  const faults = incomplete.map(
    ({ gvk, namespace, fault }) => `${gvk} ${namespace === "" ? fault : `in namespace ${namespace} ${fault}`}`,
  )
  if (gaps > 0) faults.push(`the window has ${gaps} ${gaps === 1 ? "gap" : "gaps"}`)
  const ahead = aheadOfNow(windowOf(request), nowMicros)
  if (ahead !== undefined) faults.push(ahead)
  const missing = faults.length === 0 ? undefined : `not everything requested is recorded: ${faults.join("; ")}`
  const uncertain = request.require === "all" ? lateFault(late) : undefined
  return missing === undefined || uncertain === undefined ? (missing ?? uncertain) : `${missing}; ${uncertain}`
}

/** For a header: `3 (apps/v1.ReplicaSet shop/web-1, …)`; `undefined` if all are known. Names are ASCII by Kubernetes' rules. */
const describeUnknown = ({ unknown, first }: Settled): string | undefined => {
  if (unknown === 0) return undefined
  const names = first.map(({ gvk, namespace, name }) => `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`)
  const text = `${unknown} (${names.join(", ")}${unknown > first.length ? ", ..." : ""})`
  return headerText(text)
}

const refusalStatus = (error: ExportRefused | CallError): number => {
  if (error._tag !== "ExportRefused") return 503
  return { request: 400, recording: 500, busy: 503 }[error.fault]
}

/** The part of our configuration that SimKube understands. */
export const trackedObjects = (configuration: RecorderConfiguration): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    configuration.kinds.map(({ gvkText, podSpecTemplatePaths, trackLifecycle, skipOwned }) => [
      gvkText,
      { podSpecTemplatePaths, trackLifecycle, skipOwned: skipOwned !== false },
    ]),
  )
