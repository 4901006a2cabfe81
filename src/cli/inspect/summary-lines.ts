/** The summary of a trace in lines that people read. */
import { visible } from "../../text/index.ts"
import type { GapEvent, LateChanges } from "../../trace/index.ts"
import { describeLate } from "../export/late-sentences.ts"
import { incompleteTogether } from "../past/shortcoming-lines.ts"
import { alignedRows } from "../terminal/display-width.ts"
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatInteger,
  instantText,
  localMoment,
} from "../terminal/quantities.ts"
import type { PodTimesSummary } from "./pod-times.ts"
import { barText, type HistogramBar } from "./time-histogram.ts"
import type { EventCounts, NamedCounts, TraceSummary } from "./trace-summary.ts"

/** Rows of a table before the rest is summed up. */
const mostRows = 20

/** Lines about gaps and late changes before the rest is counted. */
const mostListed = 10

/** Lines without line breaks. `name`: of the trace, as it was given. `nowMs`: decides whether times have a date. */
export const summaryLines = (
  name: string,
  format: string,
  summary: TraceSummary,
  nowMs: number,
): ReadonlyArray<string> => {
  const { header, all, kinds, namespaces, pods, largest, bars, gaps, late, incomplete, vanished } = summary
  const { created, changed, deleted } = all
  const sorts = [`${formatInteger(created)} created`, `${formatInteger(changed)} changed`]
  const unseen = vanished === 0 ? "" : ` (${formatInteger(vanished)} unseen)`
  const without =
    header?.sanitised === undefined || header.sanitised === "none" ? [] : [`cleaned for ${header.sanitised}`]
  const lacks = [
    ...gapLines(gaps.listed, gaps.count, nowMs),
    ...lateLines(late, nowMs),
    ...incompleteTogether(incomplete).map(({ what, state }) => `incomplete: ${what}: ${state}`),
  ]
  return [
    `${name}: ${[format, ...without].join(", ")}`,
    ...timeLines(summary, nowMs),
    `events    ${formatInteger(created + changed + deleted)}: ${sorts.join(", ")}, ${formatInteger(deleted)} deleted${unseen}`,
    `objects   ${formatInteger(all.atStart)} at the start, ${formatInteger(all.atEnd)} at the end; ${formatBytes(all.bytes)} of JSON`,
    ...(pods.ran === 0 ? [] : [podLine(pods)]),
    ...histogramLines(bars, nowMs),
    "",
    ...countTable("KIND", kinds, all),
    "",
    ...countTable(
      "NAMESPACE",
      namespaces.map((each) => (each.name === "" ? { ...each, name: "(none)" } : each)),
      all,
    ),
    ...(largest.length === 0 ? [] : ["", "largest objects"]),
    ...largest.map(({ gvk, namespace, name: object, bytes }) => {
      const full = namespace === "" ? object : `${namespace}/${object}`
      return `  ${formatBytes(bytes).padStart(7)}  ${gvk} ${full}`
    }),
    ...(lacks.length === 0 ? [] : ["", ...lacks]),
  ].map(visible)
}

const timeLines = ({ header, first, last }: TraceSummary, nowMs: number): ReadonlyArray<string> => {
  const local = (micros: number): string => localMoment(micros, nowMs)
  const span = (from: number, to: number): string =>
    `${local(from)} to ${local(to)}, ${formatDuration((to - from) / 1000)}`
  const window = header?.window
  return [
    // A window from 0 on begins with the recording.
    ...(window === undefined || window.start === 0 ? [] : [`window    ${span(window.start, window.end)}`]),
    first === undefined || last === undefined ? "time      no events" : `time      ${span(first, last)}`,
  ]
}

const podLine = ({ ran, ended, running, times, total }: PodTimesSummary): string => {
  const seconds = (count: number): string => (count === 0 ? "0 s" : formatDuration(count * 1000))
  const after =
    times === undefined
      ? ""
      : ` after ${seconds(times.minimum)} to ${seconds(times.maximum)}, in the median ${seconds(times.median)}`
  return `pods      ${formatInteger(ran)} ran: ${formatInteger(ended)} ended${after}; ${formatInteger(running)} still running; ${seconds(total)} in total`
}

/** The bars, and below them the times of the first and the last. */
export const histogramLines = (bars: ReadonlyArray<HistogramBar>, nowMs: number): ReadonlyArray<string> => {
  const [first, last] = [bars[0], bars.at(-1)]
  if (first === undefined || last === undefined || bars.length < 2) return []
  const local = (micros: number): string => localMoment(micros, nowMs)
  const most = Math.max(...bars.map(({ events }) => events))
  const [left, right] = [local(first.start), local(last.end)]
  const space = Math.max(2, bars.length - left.length - right.length)
  return [
    "",
    `  ${barText(bars)}`,
    `  ${left}${" ".repeat(space)}${right}`,
    `  a bar is ${formatDuration((first.end - first.start) / 1000)}, the highest ${formatCount(most, "event")}`,
  ]
}

const head = ["AT START", "CREATED", "CHANGED", "DELETED", "AT END", "BYTES"]

/** A row for each, the last one for what had no room. */
const countTable = (title: string, rows: ReadonlyArray<NamedCounts>, all: EventCounts): ReadonlyArray<string> => {
  const shown = rows.length > mostRows ? rows.slice(0, mostRows - 1) : rows
  const others = rows.slice(shown.length)
  const rest: NamedCounts = { name: `${formatInteger(others.length)} others`, ...sumOf(others) }
  const total: NamedCounts = { name: "all", ...all }
  const table = [...shown, ...(others.length === 0 ? [] : [rest]), ...(rows.length > 1 ? [total] : [])]
  return countRows([
    [title, ...head],
    ...table.map(({ name, atStart, created, changed, deleted, atEnd, bytes }) => [
      name,
      ...[atStart, created, changed, deleted, atEnd].map(formatInteger),
      formatBytes(bytes),
    ]),
  ])
}

const sumOf = (rows: ReadonlyArray<EventCounts>): EventCounts => {
  const sum = (of: (counts: EventCounts) => number): number => rows.reduce((total, each) => total + of(each), 0)
  return {
    atStart: sum(({ atStart }) => atStart),
    created: sum(({ created }) => created),
    changed: sum(({ changed }) => changed),
    deleted: sum(({ deleted }) => deleted),
    atEnd: sum(({ atEnd }) => atEnd),
    bytes: sum(({ bytes }) => bytes),
  }
}

/** The first column is text, the others are numbers. */
export const countRows = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  alignedRows(rows, (column) => column > 0)

/** A range of a kind's time that is missing. */
export type ShownGap = Pick<GapEvent, "gvk" | "namespace" | "fromTime" | "toTime" | "detail"> & {
  readonly reason: string
}

/** A line for each of the first gaps, and one for the number of the others. `count`: of all. */
export const gapLines = (gaps: ReadonlyArray<ShownGap>, count: number, nowMs: number): ReadonlyArray<string> => {
  const local = (micros: number): string => localMoment(micros, nowMs)
  const listed = gaps.slice(0, mostListed)
  return [
    ...listed.map(
      ({ gvk, namespace, fromTime, toTime, reason, detail }) =>
        `gap of ${gvk}${within(namespace)} from ${local(fromTime)} to ${local(toTime)}: ${reason}${detail === "" ? "" : ` (${detail})`}`,
    ),
    ...(count > listed.length ? [`and ${formatCount(count - listed.length, "further gap")}`] : []),
  ]
}

const lateLines = (late: ReadonlyArray<LateChanges>, nowMs: number): ReadonlyArray<string> => [
  ...late.slice(0, mostListed).map(({ gvk, notBefore, notAfter, receivedFrom, receivedTo, ...facts }) => {
    const times = { start: notBefore, end: notAfter, receivedStart: receivedFrom, receivedEnd: receivedTo }
    return describeLate(gvk, { ...facts, ...times }, nowMs)
  }),
  ...(late.length > mostListed
    ? [`and ${formatCount(late.length - mostListed, "further range")} of late changes`]
    : []),
]

const within = (namespace = ""): string => (namespace === "" ? "" : ` in namespace ${namespace}`)

// The summary of a trace for programs: times are RFC 3339, sizes bytes of JSON, running times seconds; `null` where there is nothing.

/** A document for JSON.stringify. `cut`: why the trace ends early; `null` if it does not. */
export const summaryJson = (name: string, format: string, summary: TraceSummary, cut: string | null): object => {
  const { header, first, last, all, kinds, namespaces, vanished, pods, largest, bars, gaps, late, incomplete } = summary
  const window = header?.window
  return {
    ...{ trace: name, format, cut },
    sanitised: header?.sanitised ?? "none",
    window: window === undefined ? null : { start: instantText(window.start), end: instantText(window.end) },
    first: first === undefined ? null : instantText(first),
    last: last === undefined ? null : instantText(last),
    all: { ...all, vanished },
    kinds: kinds.map(({ name: gvk, ...counts }) => ({ gvk, ...counts })),
    namespaces: namespaces.map(({ name: namespace, ...counts }) => ({ namespace, ...counts })),
    pods: { ...pods, times: pods.times ?? null },
    largest,
    histogram: histogramJson(bars),
    gaps: { count: gaps.count, listed: gaps.listed.map(gapJson) },
    late: late.map(lateJson),
    incomplete,
  }
}

/** Bars as a start, a width and counts, from which each bar's times follow. */
export const histogramJson = (bars: ReadonlyArray<HistogramBar>): object | null => {
  const [first] = bars
  if (first === undefined) return null
  return {
    start: instantText(first.start),
    barSeconds: (first.end - first.start) / 1_000_000,
    events: bars.map(({ events }) => events),
  }
}

/** A gap, without the versions that only a recorder needs. */
export const gapJson = ({ gvk, namespace, fromTime, toTime, reason, detail }: ShownGap): object => ({
  ...{ gvk, namespace, from: instantText(fromTime), to: instantText(toTime), reason, detail },
})

/** Changes that were received late. */
const lateJson = ({
  gvk,
  namespace,
  notBefore,
  notAfter,
  receivedFrom,
  receivedTo,
  events,
  cause,
}: LateChanges): object => ({
  ...{ gvk, namespace, events, cause },
  ...{ notBefore: instantText(notBefore), notAfter: instantText(notAfter) },
  ...{ receivedFrom: instantText(receivedFrom), receivedTo: instantText(receivedTo) },
})
