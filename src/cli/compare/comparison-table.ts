/** Runs side by side on a terminal. */
import { bestOf, type Row, type RowGroup, type Value } from "../../simulation/comparison/compare-reports.ts"
import { share } from "../replay/fidelity-summary.ts"
import { displayWidth } from "../terminal/display-width.ts"
import { formatInteger } from "../terminal/quantities.ts"

/** A table with a column for each run; the better of two different numbers has a star. */
export const comparisonTable = (
  names: ReadonlyArray<string>,
  groups: ReadonlyArray<RowGroup>,
): ReadonlyArray<string> => {
  const lines = groups.map(({ title, rows }) => ({ title, rows: rows.map((row) => [row.label, ...cellsOf(row)]) }))
  // The star has a column of its own, so that numbers are aligned.
  const head = ["", ...names.map((name) => `${name}  `)]
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

const cellsOf = (row: Row): ReadonlyArray<string> => {
  const best = bestOf(row)
  return row.values.map((value, index) => `${format(value, row.unit)} ${best.has(index) ? "*" : " "}`)
}

const format = (value: Value, unit: Row["unit"]): string => {
  if (value === null) return "–"
  if (typeof value === "string") return value
  if (unit === "share") return share(value)
  if (unit === "count") return formatInteger(value)
  return value < 10_000 ? `${value.toFixed(value < 100 ? 1 : 0)} ms` : `${(value / 1000).toFixed(1)} s`
}
