/** Several replays of one trace as a page: all numbers side by side. */
import { type Html, html } from "../../page/index.ts"
import {
  bestOf,
  type Column,
  cellsOf,
  headOf,
  type Row,
  type RowGroup,
  type Value,
} from "../comparison/compare-reports.ts"
import type { ComparedReport } from "../comparison/compared-report.ts"
import { formatCount, formatInstant, formatMs, formatShare, simulationPage } from "./report-page.ts"

/** Reports that fit next to one another. */
export const mostReports = 6

/** `runs`: all of them, of one trace; at most {@link mostReports} columns. Of a report with repetitions the page has the median and the range. */
export const comparisonPage = (
  runs: ReadonlyArray<ComparedReport>,
  columns: ReadonlyArray<Column>,
  groups: ReadonlyArray<RowGroup>,
): string => {
  const [first] = runs
  const names = columns.map(({ name }) => name).join(", ")
  const isRepeated = columns.some(({ indexes }) => indexes.length > 1)
  const count = columns.reduce((sum, { indexes }) => sum + indexes.length, 0)
  const body = html`<main><header><h1>Comparison of ${names}</h1>
${
  first !== undefined &&
  html`<p class="quiet">${formatCount(count)} replays of the trace from ${formatInstant(first.report.trace.start)} to ${formatInstant(first.report.trace.end)}</p>`
}</header>
<p class="note">The better of two different numbers is bold, where one is better.${
    isRepeated &&
    " Of several runs of a report, the number is the median, and the range is below it; a number is bold only if no run of another report was as good."
  }</p>
<div class="table"><table><thead><tr><th scope="col"></th>${columns.map((column) => html`<th scope="col" class="number">${headOf(column)}</th>`)}</tr></thead><tbody>
${groups.map(({ title, rows }) => html`<tr class="group"><th scope="rowgroup" colspan="${columns.length + 1}">${title}</th></tr>${rows.map((row) => tableRow(row, columns))}`)}
</tbody></table></div></main>`
  return simulationPage(`Comparison of ${names}`, body)
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
