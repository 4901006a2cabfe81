/**
 * Several replays of one trace as a page: pods and lateness over time, and all numbers side by side. Of a report with repetitions it has the median
 * and the range of the numbers, and draws the first repetition: lines of all would hide those of the other reports.
 */

import { type Html, html } from "../../page/html.ts"
import { type ComparedTime, comparedTime, type Row, type RowGroup, type Value } from "../comparison/compare-reports.ts"
import { bestOf, type Column, cellsOf, firstRuns, headOf } from "../comparison/compared-columns.ts"
import type { ComparedFidelity, ComparedReport } from "../comparison/compared-report.ts"
import { type Chart, lineChart, type Series } from "./line-chart.ts"
import { simulationPage } from "./simulation-page.ts"
import { formatCount, formatInstant, formatMs, formatShare } from "./words.ts"

/** Reports that the charts can tell apart. */
export const mostReports = 6

/** `all`: every run; at most {@link mostReports} columns, all of one trace. One file, some hundred kB. */
export const comparisonPage = (
  all: ReadonlyArray<ComparedReport>,
  columns: ReadonlyArray<Column>,
  groups: ReadonlyArray<RowGroup>,
): string => {
  const runs = firstRuns(columns, all)
  const first = runs[0]?.report
  const { isOfTrace } = comparedTime(all)
  const drawn = charts(runs, comparedTime(all))
  const isRepeated = columns.some(({ indexes }) => indexes.length > 1)
  const body = html`<main><header><h1>Comparison of ${runs.map(({ name }) => name).join(" and ")}</h1>
${
  first !== undefined &&
  html`<p class="quiet">${formatCount(columns.reduce((sum, { indexes }) => sum + indexes.length, 0))} replays of the trace from ${formatInstant(first.trace.start)} to ${formatInstant(first.trace.end)}</p>`
}</header>
${
  drawn.length > 0 &&
  html`<h2>Over time</h2><p class="note">${isOfTrace ? "Time of the trace since its first moment, because the speeds are different; what is after due is in real time." : "Real time since the first moment of the trace."} The dashed line is the trace of the first run, where it was due.${isRepeated && " Of several runs of a report the first is drawn."}</p><div class="charts">${drawn.map(lineChart)}</div>`
}
<h2>Side by side</h2>
<p class="note">The better of two different numbers is bold, where one is better.${
    isRepeated &&
    " Of several runs of a report, the number is the median, and the range is below it; a number is bold only if no run of another report was as good."
  }</p>
<div class="table"><table><thead><tr><th scope="col"></th>${columns.map((column) => html`<th scope="col" class="number">${headOf(column)}</th>`)}</tr></thead><tbody>
${groups.map(({ title, rows }) => html`<tr class="group"><th scope="rowgroup" colspan="${columns.length + 1}">${title}</th></tr>${rows.map((row) => tableRow(row, columns))}`)}
</tbody></table></div></main>`
  return simulationPage(`Comparison of ${runs.map(({ name }) => name).join(", ")}`, body)
}

const tableRow = (row: Row, columns: ReadonlyArray<Column>): Html => {
  const cells = cellsOf(row, columns)
  const best = bestOf(row, cells)
  return html`<tr><th scope="row">${row.label}</th>${cells.map(
    ({ value, range }, index) =>
      html`<td class="number${best.has(index) && " best"}">${formatValue(value, row.unit)}${
        range !== undefined &&
        html`<br><span class="note">${range.map((end) => formatValue(end, row.unit)).join(" to ")}</span>`
      }</td>`,
  )}</tr>
`
}

const formatValue = (value: Value, unit: Row["unit"]): string => {
  if (value === null) return "–"
  if (typeof value === "string") return value
  return unit === "ms" ? formatMs(value) : unit === "share" ? formatShare(value) : formatCount(value)
}

const charts = (runs: ReadonlyArray<ComparedReport>, { factorOf }: ComparedTime): ReadonlyArray<Chart> => {
  const measured = runs.flatMap((run, index) => {
    const { name, report, fidelity } = run
    const factor = factorOf(run)
    if (fidelity === undefined || factor === null) return []
    const timeline = { ...fidelity.timeline, stepMs: fidelity.timeline.stepMs * factor }
    const { expectedMs } = report.run
    return [{ name, timeline, colour: `run-${index}`, traceMs: expectedMs === null ? null : expectedMs * factor }]
  })
  const [first] = measured
  if (first === undefined) return []
  const trace = first.timeline
  // Runs of different lengths have different steps: all are drawn with the longest.
  const stepMs = Math.max(...measured.map(({ timeline }) => timeline.stepMs))
  const traceSteps = first.traceMs === null ? trace.points : Math.ceil(first.traceMs / trace.stepMs)
  const chart = (
    title: string,
    unit: string,
    form: Chart["form"],
    of: (timeline: ComparedFidelity["timeline"]) => ReadonlyArray<number | null> | undefined,
    ofTrace: ReadonlyArray<number> | undefined,
  ): ReadonlyArray<Chart> => {
    const series = measured.flatMap(({ name, timeline, colour }): ReadonlyArray<Series> => {
      const values = of(timeline)
      const pick = form === "steps" ? last : largest
      return values === undefined
        ? []
        : [{ label: name, values: resampled(values, timeline.stepMs, stepMs, pick), colour }]
    })
    if (series.every(({ values }) => values.every((value) => value === null || value === 0))) return []
    const recorded: ReadonlyArray<Series> =
      ofTrace === undefined
        ? []
        : [
            {
              label: "trace",
              values: resampled(ofTrace, trace.stepMs, stepMs, last),
              colour: "recorded",
              isDashed: true,
            },
          ]
    return [{ title, unit, stepMs, form, series: [...recorded, ...series] }]
  }
  return [
    ...["Pending", "Running", "Succeeded", "Failed"].flatMap((phase) =>
      chart(
        `Pods: ${phase}`,
        "",
        "steps",
        ({ pods }) => pods.replayed?.[phase],
        trace.pods.recorded?.[phase]?.slice(0, traceSteps),
      ),
    ),
    ...chart("Nodes", "", "steps", ({ nodes }) => nodes.replayed ?? undefined, undefined),
    ...chart("Answered after due", "ms", "points", ({ lateMs }) => lateMs.answered, undefined),
  ]
}

type Pick = (values: ReadonlyArray<number | null>) => number | null

const last: Pick = (values) => values.at(-1) ?? null

const largest: Pick = (values) =>
  values.reduce<number | null>((most, value) => (value === null ? most : Math.max(most ?? value, value)), null)

/** The values in longer steps. */
const resampled = (
  values: ReadonlyArray<number | null>,
  fromMs: number,
  toMs: number,
  pick: Pick,
): ReadonlyArray<number | null> => {
  if (fromMs === toMs) return values
  return Array.from({ length: Math.ceil((values.length * fromMs) / toMs) }, (_, index) => {
    const from = Math.floor((index * toMs) / fromMs)
    return pick(values.slice(from, Math.max(from + 1, Math.floor(((index + 1) * toMs) / fromMs))))
  })
}
