/**
 * What the recording covers: the answer of `GET /v1/coverage`, and, for one request, what an export would hold.
 *
 * Counts are of what was received, before any filter: leaving out what is owned takes as long as the export itself.
 */
import * as Effect from "effect/Effect"
import type { Settled } from "../actors/owner-resolver/definition.ts"
import { messageOf } from "../runtime/errors.ts"
import { type RecordedKind, readCoverage } from "../trace/archive/recorded-coverage.ts"
import { encodeTrackedObjects, readTrackedObjects } from "../trace/simkube-config.ts"
import type { RecorderConfiguration } from "./configuration/tracked-kind.ts"
import { type ExportRefusal, type ExportRequest, ownerDeadlineMs, wantsKind, windowOf } from "./export-request.ts"
import type { KindStatus } from "./kind-status.ts"
import { firstLists, listingRefusal, missingOf, needsOwners, trackedObjects } from "./order-export.ts"
import type { Recording } from "./recording.ts"

/** µs since the Unix epoch; from the one up to the other. */
export interface TimeRange {
  readonly start: number
  readonly end: number
}

/** A range in which changes are missing or may be. */
export interface CoverageGap extends TimeRange {
  readonly reason: string
  readonly detail: string
}

export interface KindCoverage {
  readonly gvk: string
  /** As `/readyz?verbose` has it; `untracked`: it was recorded once and is not now. */
  readonly state: KindStatus["state"] | "untracked"
  readonly detail: string
  /** Events received in the window. */
  readonly events: number
  /**
   * What of the window is recorded without a gap, in order. A kind of which there never was an object is known to be so only since
   * the last moment at which the server confirmed it, at most some minutes ago.
   */
  readonly ranges: ReadonlyArray<TimeRange>
  readonly gaps: ReadonlyArray<CoverageGap>
}

export interface Coverage {
  readonly window: TimeRange
  /** Sequence number up to which this was counted. */
  readonly cut: number
  readonly kinds: ReadonlyArray<KindCoverage>
}

/** What one request for an export would get. */
export interface ExportForecast extends Coverage {
  readonly format: string
  /** Kinds that are not being watched, `gvk=state`. */
  readonly incomplete: ReadonlyArray<string>
  /** Recorded kinds that the format cannot tell of. */
  readonly leftOut: ReadonlyArray<string>
  readonly unknownOwners: { readonly count: number; readonly first: ReadonlyArray<string> }
  /** Why the request would be refused now; empty if it would not. */
  readonly refusals: ReadonlyArray<string>
}

/** What makes up a coverage, from the recording's directory and the states of its kinds. */
export const coverageOf = (
  directory: string,
  statuses: ReadonlyArray<KindStatus>,
  window: TimeRange,
  nowMicros: number,
): Coverage => {
  const { cut, kinds } = readCoverage(directory, { fromTime: window.start, untilTime: window.end })
  const recorded = new Map(kinds.map((kind) => [kind.gvk, kind]))
  const tracked = statuses.map((status) => kindCoverage(status, recorded.get(status.gvk), window, nowMicros))
  const states = new Set(statuses.map(({ gvk }) => gvk))
  const former = kinds
    .filter(({ gvk }) => !states.has(gvk))
    .map((kind) => kindCoverage({ gvk: kind.gvk, state: "untracked", detail: "" }, kind, window, nowMicros))
  return { window, cut, kinds: [...tracked, ...former] }
}

const kindCoverage = (
  { gvk, state, detail }: Pick<KindCoverage, "gvk" | "state" | "detail">,
  recorded: RecordedKind | undefined,
  window: TimeRange,
  nowMicros: number,
): KindCoverage => {
  if (recorded === undefined) return { gvk, state, detail, events: 0, ranges: [], gaps: [] }
  const { events, firstTime, completeTime } = recorded
  // Until the next bookmark the row says less than is known: a watch that stands misses nothing.
  const end = state === "watching" ? nowMicros : completeTime
  const whole = { start: Math.max(window.start, firstTime ?? completeTime), end: Math.min(window.end, end + 1) }
  const gaps = recorded.gaps.map(({ fromTime, toTime, reason, detail: said }) => ({
    start: fromTime,
    end: toTime,
    reason,
    detail: said,
  }))
  return { gvk, state, detail, events, ranges: completeTime === 0 ? [] : without(whole, gaps), gaps }
}

/** What is left of a range. */
export const without = (range: TimeRange, gaps: ReadonlyArray<TimeRange>): ReadonlyArray<TimeRange> => {
  const ranges: TimeRange[] = []
  let { start } = range
  for (const gap of [...gaps].sort((one, other) => one.start - other.start)) {
    if (gap.start > start) ranges.push({ start, end: Math.min(gap.start, range.end) })
    start = Math.max(start, gap.end)
    if (start >= range.end) return ranges.filter(isNotEmpty)
  }
  ranges.push({ start, end: range.end })
  return ranges.filter(isNotEmpty)
}

const isNotEmpty = ({ start, end }: TimeRange): boolean => start < end

/** What the recording covers at this moment, what was just received included. */
export const askCoverage = (
  recording: Recording,
  directory: string,
  window: TimeRange,
  nowMicros: number,
): Effect.Effect<Coverage, ExportRefusal> =>
  recording.cut().pipe(
    // A full disk is no reason to hide what is on it.
    Effect.ignore,
    Effect.andThen(
      Effect.try({
        try: () => coverageOf(directory, recording.statuses.all(), window, nowMicros),
        catch: (cause): ExportRefusal => ({
          status: 500,
          message: `the recording cannot be read: ${messageOf(cause)}`,
        }),
      }),
    ),
  )

/** What an export would hold, asked for with `dry_run`. Waits for owners as the export would. */
export const forecastExport = (
  recording: Recording,
  configuration: RecorderConfiguration,
  directory: string,
  request: ExportRequest,
  nowMicros: number,
): Effect.Effect<ExportForecast, ExportRefusal> =>
  Effect.gen(function* () {
    const { fromTime, untilTime } = windowOf(request)
    const wanted = wantsKind(request)
    const whole = yield* askCoverage(recording, directory, { start: fromTime, end: untilTime }, nowMicros)
    const coverage = { ...whole, kinds: whole.kinds.filter(({ gvk, state }) => state !== "untracked" && wanted(gvk)) }
    const { format } = request
    const settled = needsOwners(request, configuration)
      ? yield* recording.owners.settle(request.owner_deadline_ms ?? ownerDeadlineMs)
      : ({ unknown: 0, first: [] } satisfies Settled)
    const statuses = recording.statuses.incomplete().filter(({ gvk }) => wanted(gvk))
    const gaps = coverage.kinds.reduce((sum, kind) => sum + kind.gaps.length, 0)
    const listing = yield* firstLists(recording, statuses)
    const missing = request.require === "all" ? missingOf(statuses, gaps) : undefined
    return {
      ...coverage,
      format,
      incomplete: statuses.map(({ gvk, state }) => `${gvk}=${state}`),
      leftOut: format === "simkube" ? leftOutOf(configuration, wanted) : [],
      unknownOwners: {
        count: settled.unknown,
        first: settled.first.map(
          ({ gvk, namespace, name }) => `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`,
        ),
      },
      refusals: [listing.length === 0 ? undefined : listingRefusal(listing).message, missing].filter(
        (refusal) => refusal !== undefined,
      ),
    }
  })

const leftOutOf = (configuration: RecorderConfiguration, wanted: (gvk: string) => boolean): ReadonlyArray<string> => {
  const tracked = readTrackedObjects(trackedObjects(configuration) as Parameters<typeof readTrackedObjects>[0])
  return tracked === undefined ? [] : encodeTrackedObjects(tracked).leftOut.filter(wanted)
}
