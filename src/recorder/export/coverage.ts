/**
 * What the recording covers: the response to `GET /v1/coverage`.
 *
 * Counts are of events that happened in the window, as far as is known: those that were received late are named beside the gaps.
 */
import * as Effect from "effect/Effect"
import type { NamespaceState, ReadCoverage, ReadKind } from "../../actors/index.ts"
import { type CompiledFilters, type EventTimes, type LateCause, podLivesKind } from "../../trace/index.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { type KindStatus, requestedStatus } from "../status/kind-status.ts"
import { latestOf } from "./late-changes.ts"
import type { ArchiveStatus, Reach, Recording } from "./recording.ts"

/** µs since the Unix epoch; the end is exclusive. */
export interface TimeRange {
  readonly start: number
  readonly end: number
}

/** A range in which changes are missing, or may be. */
interface CoverageGap extends TimeRange {
  /** The only namespace that the gap concerns; the empty string: all namespaces. */
  readonly namespace: string
  readonly reason: string
  readonly detail: string
}

/** A range in which changes happened that were received later: none is missing, but their times are estimates. */
interface CoverageLate extends TimeRange {
  readonly receivedStart: number
  readonly receivedEnd: number
  /** The only namespace of the changes; the empty string: all namespaces. */
  readonly namespace: string
  /** How many changes, also those outside the window. */
  readonly events: number
  readonly cause: LateCause
}

export interface KindCoverage {
  readonly gvk: string
  /** As in `/readyz?verbose`; `untracked`: the kind was recorded before but no longer is. */
  readonly state: KindStatus["state"] | "untracked"
  readonly detail: string
  /** The requested namespaces, where the kind is recorded namespace by namespace; else empty. */
  readonly namespaces: ReadonlyArray<NamespaceCoverage>
  /** Events in the window. */
  readonly events: number
  /** The recorded parts of the window without a gap, in order; the first starts when the kind's first list was complete. */
  readonly ranges: ReadonlyArray<TimeRange>
  readonly gaps: ReadonlyArray<CoverageGap>
  readonly late: ReadonlyArray<CoverageLate>
  /** Nothing of the window is missing up to now, or up to the end of a recording without recorder; a window from 0 on begins with the recording. */
  readonly isComplete: boolean
}

/** `since`, `until`: µs since which it is recorded, and at which it was last known to be complete; absent before its first list is. */
interface NamespaceCoverage extends NamespaceState {
  readonly since?: number
  readonly until?: number
}

export interface Coverage {
  readonly window: TimeRange
  /** Sequence number up to which events were counted. */
  readonly cut: number
  readonly kinds: ReadonlyArray<KindCoverage>
  /** How many values were replaced before objects were recorded, by kind and place, in the whole recording. */
  readonly redacted: ReadCoverage["redacted"]
  /** How far it is archived; absent: it is not. */
  readonly archive?: ArchiveStatus
  /** Between which moments who wrote is known from audit events, as far as they arrived, in the whole recording; absent: none ever did. */
  readonly authors?: TimeRange
}

/** Which namespaces, and gaps of them, are requested. */
type RequestedNamespaces = Pick<CompiledFilters, "excludesGap" | "excludesNamespace">

const allNamespaces: RequestedNamespaces = { excludesGap: () => false, excludesNamespace: () => false }

interface KnownPart {
  /** Default: all. */
  readonly requested?: RequestedNamespaces | undefined
  /** As in {@link Reach}. Default: everything is known up to now. */
  readonly knownUntil?: Reach["knownUntil"]
}

/** Combines the content of the recording and the states of its kinds into a coverage. */
export const coverageOf = (
  { cut, kinds: all, redacted, authors }: ReadCoverage,
  statuses: ReadonlyArray<KindStatus>,
  window: TimeRange,
  nowMicros: number,
  { requested = allNamespaces, knownUntil }: KnownPart = {},
): Coverage => {
  const times = { nowMicros, watchedUntil: Math.min(nowMicros, (knownUntil ?? Number.POSITIVE_INFINITY) - 1) }
  const kinds = all.map((kind) => ({
    ...kind,
    gaps: kind.gaps.filter((gap) => !requested.excludesGap(gap)),
    late: kind.late.filter((range) => !requested.excludesGap(range)),
  }))
  const recorded = new Map(kinds.map((kind) => [kind.gvk, kind]))
  const tracked = statuses.map((whole) => {
    const status = requestedStatus(whole, requested) ?? whole
    const kind = recorded.get(whole.gvk)
    const isPart = status !== whole && kind !== undefined
    return kindCoverage(status, isPart ? { ...kind, ...partOf(kind, status) } : kind, window, times)
  })
  const states = new Set(statuses.map(({ gvk }) => gvk))
  const former = kinds
    // The completeness of pod lifecycles is stored even if they are tracked on the stream of recorded Pods, and says nothing more then.
    .filter(({ gvk, gaps, late }) => !states.has(gvk) && (gvk !== podLivesKind || gaps.length + late.length > 0))
    .map((kind) => kindCoverage({ gvk: kind.gvk, state: "untracked", detail: "", namespaces: [] }, kind, window, times))
  const audited = authors && { authors: { start: authors.from, end: authors.to + 1 } }
  return { window, cut, kinds: [...tracked, ...former], redacted, ...audited }
}

/** From when and up to when all requested namespaces of a kind are recorded. */
const partOf = (kind: ReadKind, { namespaces }: KindStatus): Pick<ReadKind, "since" | "completeTime"> => {
  const requested = new Set(namespaces.map(({ namespace }) => namespace))
  const rows = kind.namespaces.filter(({ namespace, since }) => requested.has(namespace) && since !== undefined)
  if (rows.length < requested.size) return { since: undefined, completeTime: 0 }
  return {
    since: Math.max(...rows.map(({ since = 0 }) => since)),
    completeTime: Math.min(...rows.map(({ completeTime }) => completeTime)),
  }
}

/** What retention has removed of a window, like a gap; `undefined`: nothing. A window from 0 on begins with what is kept. */
const removedOf = ({ removedThrough = 0 }: ReadKind, { start }: TimeRange) =>
  start === 0 || start > removedThrough
    ? undefined
    : { start, end: removedThrough, namespace: "", reason: "retention", detail: "it was no longer to be kept" }

const kindCoverage = (
  { gvk, state, detail, namespaces: states }: Pick<KindCoverage, "gvk" | "state" | "detail" | "namespaces">,
  recorded: ReadKind | undefined,
  window: TimeRange,
  { nowMicros, watchedUntil }: { readonly nowMicros: number; readonly watchedUntil: number },
): KindCoverage => {
  if (recorded === undefined) {
    const nothing = { events: 0, ranges: [], gaps: [], late: [], isComplete: false }
    return { gvk, state, detail, namespaces: states, ...nothing }
  }
  const { events, since, completeTime } = recorded
  // Until the next bookmark, the row is older than what is known: an open watch misses nothing, as long as it can be written.
  const end = state === "watching" ? watchedUntil : completeTime
  const whole = { start: Math.max(window.start, since ?? completeTime), end: Math.min(window.end, end + 1) }
  const kept = recorded.gaps.map(({ fromTime, toTime, namespace, reason, detail: said }) => ({
    start: fromTime,
    end: toTime,
    namespace,
    reason,
    detail: said,
  }))
  const removed = removedOf(recorded, window)
  const gaps = removed === undefined ? kept : [removed, ...kept]
  const late = recorded.late.map((range) => ({
    start: range.notBefore,
    end: latestOf(range),
    receivedStart: range.receivedFrom,
    receivedEnd: range.receivedTo,
    namespace: range.namespace,
    events: range.events,
    cause: range.cause,
  }))
  const ranges = completeTime === 0 ? [] : without(whole, gaps)
  const isComplete =
    ranges[0] !== undefined &&
    gaps.length === 0 &&
    (window.start === 0 || ranges[0].start === window.start) &&
    ranges[0].end >= Math.min(window.end, nowMicros)
  const namespaces = states.map((each) => {
    const row = recorded.namespaces.find(({ namespace }) => namespace === each.namespace)
    if (row?.since === undefined) return each
    return { ...each, since: row.since, until: each.state === "watching" ? watchedUntil : row.completeTime }
  })
  return { gvk, state, detail, namespaces, events, ranges, gaps, late, isComplete }
}

/** The parts of a range outside of all gaps. */
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

interface CoverageTerms {
  /** Default: all. */
  readonly requested?: RequestedNamespaces
  /** Default: `happened`. */
  readonly times?: EventTimes
  /** Up to where the recording can be read; default: it is asked. */
  readonly reach?: Reach
}

/** What the recording covers now, including what was just received as far as it could be written. */
export const askCoverage = (
  recording: Recording,
  window: TimeRange,
  nowMicros: number,
  { requested, times = "happened", reach }: CoverageTerms = {},
): Effect.Effect<Coverage, ExportRefusal> =>
  Effect.gen(function* () {
    const { knownUntil } = reach ?? (yield* recording.reach())
    const { start, end } = window
    const recorded = yield* recording.reader.ask("coverage", { fromTime: start, untilTime: end, times })
    const coverage = coverageOf(recorded, recording.statuses.all(), window, nowMicros, { requested, knownUntil })
    return { ...coverage, ...(recording.archive !== undefined && { archive: recording.archive }) }
  })
