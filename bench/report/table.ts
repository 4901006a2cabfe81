/**
 * The table of a scenario: the measured values of each subject, and the budget.
 *
 * Columns of subjects that did not take part are omitted. A cell is the median of the rounds with the smallest and the largest in brackets.
 * A budget is compared with the median.
 */
import { median } from "./statistics.ts"

/** The limit of a measure, or its aim (docs/reference/architecture.md#budgets). */
export interface Bound {
  readonly relation: "at most" | "at least"
  readonly value: number
}

/** One row. Each list holds one value per round; a list that is missing or empty was not measured. */
export interface Measure {
  readonly name: string
  /** Written after the name: `µs`, `MB`, `events/s`; empty for ratios. */
  readonly unit: string
  /** Digits after the decimal point. */
  readonly digits: number
  readonly ours: ReadonlyArray<number>
  readonly nullReader?: ReadonlyArray<number>
  readonly informer?: ReadonlyArray<number>
  readonly controllerRuntime?: ReadonlyArray<number>
  /** Another recorder, given on the command line. */
  readonly peer?: ReadonlyArray<number>
  /** False: ratios of subjects mean nothing here, because it is about the machine or a ratio itself. Default true. */
  readonly hasRatios?: boolean
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

/** The possible subjects besides ours, and the names of their columns. */
export const otherSubjects = {
  nullReader: "null reader",
  informer: "client-node informer",
  controllerRuntime: "controller-runtime",
  peer: "peer",
} as const

export type OtherSubject = keyof typeof otherSubjects

const others = Object.keys(otherSubjects) as ReadonlyArray<OtherSubject>

const isMeasured = (values: ReadonlyArray<number> | undefined): boolean => values !== undefined && values.length > 0

/** The cells of all rows, with a header. */
export const cellsOf = (measures: ReadonlyArray<Measure>): Cells => {
  const shown = others.filter((other) => measures.some((measure) => isMeasured(measure[other])))
  const titles = shown.map((other) => otherSubjects[other])
  return [
    ["measure", "ours (median, min–max)", ...titles, "must", "aim", "verdict"],
    ...measures.map((measure) => [
      titleOf(measure),
      formatValues(measure.ours, measure.digits),
      ...shown.map((other) => formatValues(measure[other], measure.digits)),
      formatBound(measure.must),
      formatBound(measure.aim),
      verdictOf(measure),
    ]),
  ]
}

export const titleOf = ({ name, unit }: Pick<Measure, "name" | "unit">): string =>
  unit === "" ? name : `${name}, ${unit}`

/** A header, then rows of as many cells. */
export type Cells = ReadonlyArray<ReadonlyArray<string>>

/**
 * What each row is called where it stands alone: `– of it store` below `CPU per event` is `CPU per event – of it store`.
 */
export const qualifiedNames = (measures: ReadonlyArray<Pick<Measure, "name">>): ReadonlyArray<string> => {
  const above: Array<string> = []
  return measures.map(({ name }) => {
    const depth = /^(?:– )*/.exec(name)?.[0].length ?? 0
    above.splice(depth / "– ".length)
    above.push(name.slice(depth))
    return above.join(" – ")
  })
}

/** Aligned columns for a terminal. */
export const formatForTerminal = (cells: Cells): string => {
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  )
  return [lines[0], widths.map((width) => "─".repeat(width)).join("  "), ...lines.slice(1)].join("\n")
}

/** A Markdown table. */
export const formatAsMarkdown = (cells: Cells): string => {
  const line = (row: ReadonlyArray<string>): string =>
    `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  const [first = [], ...rest] = cells
  return [line(first), line(first.map(() => "---")), ...rest.map(line)].join("\n")
}

/** Median, and the extremes of more than one round; `–` if nothing was measured. */
export const formatValues = (values: ReadonlyArray<number> | undefined, digits: number): string => {
  if (values === undefined || values.length === 0) return "–"
  const middle = formatNumber(median(values), digits)
  if (values.length === 1) return middle
  return `${middle} (${formatNumber(Math.min(...values), digits)}–${formatNumber(Math.max(...values), digits)})`
}

/** `≤ 10`; `–` without one. */
export const formatBound = (bound: Bound | undefined): string =>
  bound === undefined ? "–" : `${bound.relation === "at most" ? "≤" : "≥"} ${bound.value.toLocaleString("en")}`

/** With separated thousands. */
export const formatNumber = (value: number, digits: number): string =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
