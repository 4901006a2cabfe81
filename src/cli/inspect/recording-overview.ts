/**
 * What a recording has, without reading its events: from the rows of a directory, or from a running recorder's coverage. Cheap for a recording of any size.
 */
import { isArchiveError, readOverview } from "../../archive/index.ts"
import { visible } from "../../text/index.ts"
import { podLivesKind } from "../../trace/index.ts"
import { RecordingUnreadable } from "../export/connection/export-errors.ts"
import type { RecorderAddress } from "../export/connection/recorder-connection.ts"
import { askCoverage, type CoverageAnswer } from "../export/coverage-table.ts"
import { formatCount, formatDuration, formatInteger, instantText, localMoment } from "../terminal/quantities.ts"
import { countRows, gapJson, gapLines, histogramJson, histogramLines, type ShownGap } from "./summary-lines.ts"
import { type HistogramBar, TimeHistogram } from "./time-histogram.ts"

/** One kind. Times are µs since the Unix epoch. */
interface KindOverview {
  readonly gvk: string
  readonly events: number
  /** Objects that it ever had; `undefined`: a recorder does not say it. */
  readonly objects: number | undefined
  /** `undefined`: its first list is not complete. */
  readonly since: number | undefined
  readonly until: number | undefined
  /** What a recorder says of it: `watching`, `forbidden`, …; `undefined` without one. */
  readonly state: string | undefined
}

/** Times are µs since the Unix epoch. */
export interface RecordingOverview {
  /** Since when and up to when anything is recorded; `undefined`: nothing is. */
  readonly range: { readonly from: number; readonly to: number } | undefined
  /** The ones with most events first. */
  readonly kinds: ReadonlyArray<KindOverview>
  /** Objects that each namespace ever had; `undefined`: not counted. */
  readonly namespaces: ReadonlyArray<{ readonly namespace: string; readonly objects: number }> | undefined
  readonly bars: ReadonlyArray<HistogramBar>
  readonly gaps: ReadonlyArray<ShownGap>
  /** Changes whose times are estimates, because they were received late. */
  readonly lateChanges: number
}

const mostBars = 64

/** Windows that a recorder is asked for: each takes it some ms. */
const askedBars = 24

/** Rejects with RecordingUnreadable. */
export const directoryOverview = (directory: string): RecordingOverview => {
  try {
    const { kinds, stretches, namespaces, gaps, late } = readOverview(directory)
    const histogram = new TimeHistogram()
    for (const { from, to, events } of stretches) histogram.spread(from, to, events)
    return {
      ...withRange(
        kinds.map(({ since, until, ...kind }) => ({
          ...{ ...kind, since: since || undefined, until: until || undefined, state: undefined },
        })),
      ),
      ...{ namespaces, gaps, bars: histogram.bars(mostBars) },
      lateChanges: late.reduce((sum, { events }) => sum + events, 0),
    }
  } catch (cause) {
    throw isArchiveError(cause) ? new RecordingUnreadable({ message: cause.message }) : cause
  }
}

/** Events of all kinds. */
export const eventsIn = ({ kinds }: CoverageAnswer): number => kinds.reduce((sum, { events }) => sum + events, 0)

/** `now`: µs since the Unix epoch. Rejects with an ExportError. */
export const recorderOverview = async (
  address: RecorderAddress,
  now: number,
  signal: AbortSignal,
): Promise<RecordingOverview> => {
  const ask = async (start: number, end: number): Promise<CoverageAnswer> =>
    (await askCoverage(address, { start, end }, signal)).coverage
  const { kinds } = await ask(0, now)
  const overview = withRange(
    kinds.map(({ gvk, events, ranges, state, detail }) => ({
      ...{ gvk, events, objects: undefined, since: ranges[0]?.start, until: ranges.at(-1)?.end },
      state: detail === "" || state === "watching" ? state : `${state}: ${detail}`,
    })),
  )
  const bars: HistogramBar[] = []
  const { range } = overview
  if (range !== undefined) {
    const width = Math.max(1, Math.ceil((range.to - range.from) / askedBars))
    for (let start = range.from; start < range.to; start += width) {
      bars.push({ start, end: start + width, events: eventsIn(await ask(start, start + width)) })
    }
  }
  return {
    ...{ ...overview, bars, namespaces: undefined },
    gaps: kinds.flatMap(({ gvk, gaps }) =>
      gaps.map(({ start, end, ...gap }) => ({ gvk, ...gap, fromTime: start, toTime: end })),
    ),
    lateChanges: kinds.reduce((sum, { late }) => sum + late.reduce((events, each) => events + each.events, 0), 0),
  }
}

/** The kinds in order, and from when to when they are. */
const withRange = (kinds: ReadonlyArray<KindOverview>): Pick<RecordingOverview, "range" | "kinds"> => {
  const shown = kinds.filter(({ gvk, events }) => gvk !== podLivesKind || events > 0)
  const since = shown.flatMap((kind) => (kind.since === undefined ? [] : [kind.since]))
  const until = shown.flatMap((kind) => (kind.until === undefined ? [] : [kind.until]))
  return {
    kinds: shown.toSorted((one, other) => other.events - one.events),
    range: since.length === 0 ? undefined : { from: Math.min(...since), to: Math.max(...until, Math.min(...since)) },
  }
}

// What a recording has, as lines for people and as a document for programs.

/** Rows of a table before the rest is counted. */
const mostRows = 20

/** Lines without line breaks. `nowMs`: decides whether times have a date. */
export const overviewLines = (name: string, overview: RecordingOverview, nowMs: number): ReadonlyArray<string> => {
  const { range, kinds, namespaces, bars, gaps, lateChanges } = overview
  const local = (micros: number | undefined): string => (micros === undefined ? "-" : localMoment(micros, nowMs))
  const events = kinds.reduce((sum, each) => sum + each.events, 0)
  const hasStates = kinds.some(({ state }) => state !== undefined)
  const table = countRows([
    ["KIND", "EVENTS", "OBJECTS", "SINCE", "UNTIL", ...(hasStates ? ["STATE"] : [])],
    ...kinds.map(({ gvk, events: its, objects, since, until, state }) => [
      ...[gvk, formatInteger(its), objects === undefined ? "-" : formatInteger(objects), local(since), local(until)],
      ...(hasStates ? [state ?? "-"] : []),
    ]),
  ])
  return [
    `${name}: a recording`,
    range === undefined
      ? "time      nothing is recorded yet"
      : `time      ${local(range.from)} to ${local(range.to)}, ${formatDuration((range.to - range.from) / 1000)}`,
    `events    ${formatInteger(events)}`,
    ...histogramLines(bars, nowMs),
    "",
    ...table,
    ...namespaceLines(namespaces),
    ...(gaps.length === 0 ? [] : ["", ...gapLines(gaps, gaps.length, nowMs)]),
    ...(lateChanges === 0
      ? []
      : [`late: the times of ${formatCount(lateChanges, "change")} are estimates; reel coverage shows which`]),
    "--full reads the events: created, changed and deleted objects, sizes, running times of pods",
  ].map(visible)
}

const namespaceLines = (namespaces: RecordingOverview["namespaces"]): ReadonlyArray<string> => {
  if (namespaces === undefined || namespaces.length === 0) return []
  const shown = namespaces.slice(0, mostRows)
  return [
    "",
    ...countRows([
      ["NAMESPACE", "OBJECTS"],
      ...shown.map(({ namespace, objects }) => [namespace === "" ? "(none)" : namespace, formatInteger(objects)]),
    ]),
    ...(namespaces.length > shown.length
      ? [`and ${formatCount(namespaces.length - shown.length, "further namespace")}`]
      : []),
  ]
}

/** A document for JSON.stringify: times are RFC 3339, `null` where there is nothing. */
export const overviewJson = (name: string, overview: RecordingOverview): object => {
  const { range, kinds, namespaces, bars, gaps, lateChanges } = overview
  const instant = (micros: number | undefined): string | null => (micros === undefined ? null : instantText(micros))
  return {
    recording: name,
    first: instant(range?.from),
    last: instant(range?.to),
    events: kinds.reduce((sum, { events }) => sum + events, 0),
    kinds: kinds.map(({ gvk, events, objects, since, until, state }) => ({
      ...{ gvk, events, objects: objects ?? null, since: instant(since), until: instant(until), state: state ?? null },
    })),
    namespaces: namespaces ?? null,
    histogram: histogramJson(bars),
    gaps: gaps.map(gapJson),
    lateChanges,
  }
}
