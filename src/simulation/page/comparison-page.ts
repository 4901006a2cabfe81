/** Several replays of one trace as a page: all numbers side by side. */
import { type DocumentRow, documentPage, type PageDocument, type Phrase, type Phrases } from "../../page/index.ts"
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
import { formatCount, formatInstant, formatMs, formatShare } from "./report-page.ts"

/** Reports that fit next to one another. */
export const mostReports = 6

/** `runs`: all of them, of one trace; at most {@link mostReports} columns. @throws PageNotBuilt */
export const comparisonPage = (
  runs: ReadonlyArray<ComparedReport>,
  columns: ReadonlyArray<Column>,
  groups: ReadonlyArray<RowGroup>,
): string => documentPage(comparisonDocument(runs, columns, groups))

/** What is on the page. Of a report with repetitions it has the median and the range. */
const comparisonDocument = (
  [first]: ReadonlyArray<ComparedReport>,
  columns: ReadonlyArray<Column>,
  groups: ReadonlyArray<RowGroup>,
): PageDocument => {
  const isRepeated = columns.some(({ indexes }) => indexes.length > 1)
  const count = columns.reduce((sum, { indexes }) => sum + indexes.length, 0)
  const replays =
    first &&
    `${formatCount(count)} replays of the trace from ${formatInstant(first.report.trace.start)} to ${formatInstant(first.report.trace.end)}`
  const better = `The better of two different numbers is bold, where one is better.${
    isRepeated
      ? " Of several runs of a report, the number is the median, and the range is below it; a number is bold only if no run of another report was as good."
      : ""
  }`
  return {
    title: `Comparison of ${columns.map(({ name }) => name).join(", ")}`,
    blocks: [
      ...(replays === undefined ? [] : [{ type: "text", text: { text: replays, mood: "quiet" } } as const]),
      { type: "text", text: { text: better, mood: "quiet" } },
      {
        type: "table",
        columns: [{ label: "" }, ...columns.map((column) => ({ label: headOf(column), isNumber: true }))],
        rows: groups.flatMap(
          ({ title, rows }): ReadonlyArray<DocumentRow> => [title, ...rows.map((row) => tableRow(row, columns))],
        ),
      },
    ],
  }
}

const tableRow = (row: Row, columns: ReadonlyArray<Column>): ReadonlyArray<Phrases> => {
  const cells = cellsOf(row, columns)
  const best = bestOf(row, cells)
  return [
    row.label,
    ...cells.map(({ value, range }, index): Phrases => {
      const shown = formatValue(value, row.unit)
      const number: Phrase = best.has(index) ? { text: shown, form: "strong" } : shown
      if (range === undefined) return number
      return [
        number,
        { text: range.map((end) => formatValue(end, row.unit)).join(" to "), form: "code", mood: "quiet" },
      ]
    }),
  ]
}

const formatValue = (value: Value, unit: Row["unit"]): string => {
  if (value === null) return "–"
  if (typeof value === "string") return value
  return unit === "ms" ? formatMs(value) : unit === "share" ? formatShare(value) : formatCount(value)
}
