/** Runs side by side on a terminal. */
import type { Row, RowGroup, Value } from "../../simulation/comparison/compare-reports.ts"
import { bestOf, type Column, cellsOf, headOf } from "../../simulation/comparison/compared-columns.ts"
import { share } from "../replay/fidelity-summary.ts"
import { displayWidth } from "../terminal/display-width.ts"
import { formatInteger } from "../terminal/quantities.ts"

/** A table; the better of two different numbers has a star. Of several runs it has the median, and the range if they differ. */
export const comparisonTable = (
  columns: ReadonlyArray<Column>,
  groups: ReadonlyArray<RowGroup>,
): ReadonlyArray<string> => {
  const lines = groups.map(({ title, rows }) => ({
    title,
    rows: rows.map((row) => [row.label, ...textsOf(row, columns)]),
  }))
  // The star has a column of its own, so that numbers are aligned.
  const head = ["", ...columns.map((column) => `${headOf(column)}  `)]
  const all = [head, ...lines.flatMap(({ rows }) => rows)]
  const widths = head.map((_, column) => Math.max(...all.map((row) => displayWidth(row[column] ?? ""))))
  const line = (cells: ReadonlyArray<string>): string =>
    cells
      .map((cell, column) => {
        const padding = " ".repeat((widths[column] ?? 0) - displayWidth(cell))
        return column === 0 ? `  ${cell}${padding}` : `${padding}${cell}`
      })
      .join("  ")
      .trimEnd()
  return [line(head), ...lines.flatMap(({ title, rows }) => [title, ...rows.map(line)])]
}

const textsOf = (row: Row, columns: ReadonlyArray<Column>): ReadonlyArray<string> => {
  const cells = cellsOf(row, columns)
  const best = bestOf(row, cells)
  return cells.map(({ value, range }, index) => {
    const spread = range === undefined ? "" : ` (${range.map((end) => format(end, row.unit)).join(" to ")})`
    return `${format(value, row.unit)}${spread} ${best.has(index) ? "*" : " "}`
  })
}

const format = (value: Value, unit: Row["unit"]): string => {
  if (value === null) return "–"
  if (typeof value === "string") return value
  if (unit === "share") return share(value)
  if (unit === "count") return formatInteger(value)
  return value < 10_000 ? `${value.toFixed(value < 100 ? 1 : 0)} ms` : `${(value / 1000).toFixed(1)} s`
}
