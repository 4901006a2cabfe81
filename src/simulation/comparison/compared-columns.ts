/**
 * The columns of a comparison for people: one for each report. What a report with repetitions says becomes the median and the range of its runs,
 * because the question is whether two reports differ by more than their own runs do.
 */
import type { Row, Value } from "./compare-reports.ts"
import type { ComparedReport, ReadReport } from "./compared-report.ts"

/** The runs of one report. */
export interface Column {
  /** For people: that of the report. */
  readonly name: string
  /** Positions of its runs among all that are compared; never empty. */
  readonly indexes: ReadonlyArray<number>
  /** Repetitions that ended early, and are left out. */
  readonly leftOut: number
}

/** What a row says about one column. */
interface Cell {
  /** Of several runs the median, or the different texts; `null`: none of them has it. */
  readonly value: Value
  /** The least and the most of different numbers; `undefined`: they are all the same. */
  readonly range: readonly [least: number, most: number] | undefined
}

/** A repetition that was stopped is in no column, unless all of its report were: its numbers are of another part of the trace. */
export const columnsOf = (reports: ReadonlyArray<ReadReport>): ReadonlyArray<Column> => {
  let before = 0
  return reports.map(({ name, runs }) => {
    const all = runs.map((_, index) => before + index)
    before += runs.length
    const whole = all.filter((_, index) => runs[index]?.report.stopped === null)
    const indexes = whole.length > 0 ? whole : all
    return { name, indexes, leftOut: all.length - indexes.length }
  })
}

/** The first run of each column, under the column's name. */
export const firstRuns = (
  columns: ReadonlyArray<Column>,
  runs: ReadonlyArray<ComparedReport>,
): ReadonlyArray<ComparedReport> =>
  columns.flatMap(({ name, indexes: [index = 0] }) => {
    const run = runs[index]
    return run === undefined ? [] : [{ ...run, name }]
  })

/** One for each column. */
export const cellsOf = ({ values }: Row, columns: ReadonlyArray<Column>): ReadonlyArray<Cell> =>
  columns.map(({ indexes }) => cellOf(indexes.map((index) => values[index] ?? null)))

const cellOf = (values: ReadonlyArray<Value>): Cell => {
  const numbers = values.filter((value) => typeof value === "number").toSorted((left, right) => left - right)
  const [least, most] = [numbers[0], numbers.at(-1)]
  if (least === undefined || most === undefined) {
    const texts = new Set(values.filter((value) => value !== null))
    return { value: texts.size === 0 ? null : [...texts].join(", "), range: undefined }
  }
  // Of an even number the lower one: a value that occurred.
  const value = numbers[Math.ceil(numbers.length / 2) - 1] as number
  return { value, range: least === most ? undefined : [least, most] }
}

/**
 * Positions of the best cells of a row; none if all are the same, if no number is better than another, or if another column has runs that are as
 * good: then the difference may be chance.
 */
export const bestOf = ({ better }: Pick<Row, "better">, cells: ReadonlyArray<Cell>): ReadonlySet<number> => {
  const numbers = cells.flatMap(({ value }) => (typeof value === "number" ? [value] : []))
  if (better === undefined || new Set(numbers).size < 2) return new Set()
  const best = better === "lower" ? Math.min(...numbers) : Math.max(...numbers)
  const isWorse = (cell: Cell, than: Cell): boolean =>
    better === "lower" ? leastOf(cell) > mostOf(than) : mostOf(cell) < leastOf(than)
  const isBest = (cell: Cell): boolean =>
    cell.value === best &&
    cells.every((other) => typeof other.value !== "number" || other.value === best || isWorse(other, cell))
  return new Set(cells.flatMap((cell, index) => (isBest(cell) ? [index] : [])))
}

const leastOf = ({ value, range }: Cell): number => range?.[0] ?? Number(value)
const mostOf = ({ value, range }: Cell): number => range?.[1] ?? Number(value)

/** The name with the number of runs, if they are several. */
export const headOf = ({ name, indexes }: Column): string =>
  indexes.length === 1 ? name : `${name}, ${indexes.length} runs`
