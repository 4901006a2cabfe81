/** The summary of a trace for programs: times are RFC 3339, sizes bytes of JSON, running times seconds; `null` where there is nothing. */
import type { GapEvent, LateChanges } from "../../trace/event.ts"
import { instantText } from "../terminal/quantities.ts"
import type { HistogramBar } from "./time-histogram.ts"
import type { TraceSummary } from "./trace-summary.ts"

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
export const gapJson = ({
  gvk,
  namespace,
  fromTime,
  toTime,
  reason,
  detail,
}: Pick<GapEvent, "gvk" | "namespace" | "fromTime" | "toTime" | "reason" | "detail">): object => ({
  ...{ gvk, namespace, from: instantText(fromTime), to: instantText(toTime), reason, detail },
})

/** Changes that were received late. */
export const lateJson = ({
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
