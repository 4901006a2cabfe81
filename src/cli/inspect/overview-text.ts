/** What a recording has, as lines for people and as a document for programs. */
import { visible } from "../../text/index.ts"
import { formatCount, formatDuration, formatInteger, instantText, localMoment } from "../terminal/quantities.ts"
import type { RecordingOverview } from "./recording-overview.ts"
import { histogramJson } from "./summary-json.ts"
import { countRows, gapLines, histogramLines } from "./summary-lines.ts"

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
    gaps: gaps.map(({ gvk, namespace, fromTime, toTime, reason, detail }) => ({
      ...{ gvk, namespace, from: instant(fromTime), to: instant(toTime), reason, detail },
    })),
    lateChanges,
  }
}
