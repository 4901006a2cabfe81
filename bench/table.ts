/**
 * The table of a scenario: what was measured, of whom, and the budget beside it.
 *
 * A cell is the median of the rounds with the smallest and the largest in brackets. A budget is judged by the median.
 */
import { median } from "./statistics.ts"

/** A budget of architecture §7. */
export interface Bound {
  readonly relation: "at most" | "at least"
  readonly value: number
}

/** One row. Each list holds one value per round; a list that is missing or empty was not measured. */
export interface Measure {
  readonly name: string
  /** Written behind the name: `µs`, `MB`, `events/s`; empty for ratios. */
  readonly unit: string
  /** Digits behind the decimal point. */
  readonly digits: number
  readonly ours: ReadonlyArray<number>
  readonly nullReader?: ReadonlyArray<number>
  readonly informer?: ReadonlyArray<number>
  readonly must?: Bound
  readonly aim?: Bound
}

export type Verdict = "missed" | "met" | "met, aim too" | "–"

export const verdictOf = ({ ours, must, aim }: Measure): Verdict => {
  const value = median(ours)
  if (must === undefined || Number.isNaN(value)) return "–"
  if (!isWithin(must, value)) return "missed"
  return aim !== undefined && isWithin(aim, value) ? "met, aim too" : "met"
}

const isWithin = ({ relation, value: limit }: Bound, value: number): boolean =>
  relation === "at most" ? value <= limit : value >= limit

const header = ["measure", "ours (median, min–max)", "null reader", "client-node informer", "must", "aim", "verdict"]

/** The cells of all rows, with a header. */
export const cellsOf = (measures: ReadonlyArray<Measure>): ReadonlyArray<ReadonlyArray<string>> => [
  header,
  ...measures.map((measure) => [
    measure.unit === "" ? measure.name : `${measure.name}, ${measure.unit}`,
    formatValues(measure.ours, measure.digits),
    formatValues(measure.nullReader, measure.digits),
    formatValues(measure.informer, measure.digits),
    formatBound(measure.must),
    formatBound(measure.aim),
    verdictOf(measure),
  ]),
]

/** Aligned columns for a terminal. */
export const formatForTerminal = (measures: ReadonlyArray<Measure>): string => {
  const cells = cellsOf(measures)
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  )
  return [lines[0], widths.map((width) => "─".repeat(width)).join("  "), ...lines.slice(1)].join("\n")
}

/** A Markdown table. */
export const formatAsMarkdown = (measures: ReadonlyArray<Measure>): string => {
  const line = (row: ReadonlyArray<string>): string => `| ${row.join(" | ")} |`
  const [first = [], ...rest] = cellsOf(measures)
  return [line(first), line(first.map(() => "---")), ...rest.map(line)].join("\n")
}

const formatValues = (values: ReadonlyArray<number> | undefined, digits: number): string => {
  if (values === undefined || values.length === 0) return "–"
  const middle = formatNumber(median(values), digits)
  if (values.length === 1) return middle
  return `${middle} (${formatNumber(Math.min(...values), digits)}–${formatNumber(Math.max(...values), digits)})`
}

const formatBound = (bound: Bound | undefined): string =>
  bound === undefined ? "–" : `${bound.relation === "at most" ? "≤" : "≥"} ${bound.value.toLocaleString("en")}`

const formatNumber = (value: number, digits: number): string =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
