/** Runs side by side: the numbers for which people replay a trace more than once. */
import type { Spread } from "../report/replay-report.ts"
import type { ComparedFidelity, ComparedReport, ReadReport } from "./compared-report.ts"

// The columns of a comparison for people: one for each report. What a report with repetitions says becomes the median and the range of its runs,
// because the question is whether two reports differ by more than their own runs do.

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

/** `null`: the run does not have it. */
export type Value = number | string | null

/** One number of all runs, side by side. */
export interface Row {
  readonly label: string
  /** What the numbers are. */
  readonly unit: "ms" | "share" | "count" | "text"
  /** Which number is better, if one is. */
  readonly better: "lower" | "higher" | undefined
  /** One for each run; a report with repetitions has several. */
  readonly values: ReadonlyArray<Value>
}

/** Rows about one thing; at least one row. */
export interface RowGroup {
  readonly title: string
  readonly rows: ReadonlyArray<Row>
}

/** Reasons for refusals that get a row. */
const mostReasons = 10

/** The time in which runs are compared. */
interface ComparedTime {
  /** The trace's; otherwise real time, because all runs have the same speed. */
  readonly isOfTrace: boolean
  /** By what a real duration of a run is multiplied; `null`: it has no time of the trace, because its speed was `max` or was changed. */
  readonly factorOf: (run: ComparedReport) => number | null
}

/** Runs at different speeds are compared in the time of the trace: at speed 10, a pod that ran for 6 s did what one did in 60 s at speed 1. */
export const comparedTime = (runs: ReadonlyArray<ComparedReport>): ComparedTime => {
  const isOfTrace = new Set(runs.map(({ report }) => report.speed)).size > 1
  const factorOf = ({ report: { speed, run, stopped } }: ComparedReport): number | null => {
    if (!isOfTrace) return 1
    return speed === "max" || (run.expectedMs === null && stopped === null) ? null : speed
  }
  return { isOfTrace, factorOf }
}

/** Rows that no run has are left out. */
export const compareReports = (runs: ReadonlyArray<ComparedReport>): ReadonlyArray<RowGroup> => {
  const { isOfTrace, factorOf } = comparedTime(runs)
  const inTime = (run: ComparedReport, ms: number | undefined): number | null => {
    const factor = factorOf(run)
    return ms === undefined || factor === null ? null : ms * factor
  }
  const ofTrace = isOfTrace ? ", in the trace's time" : ""
  const row = (
    label: string,
    unit: Row["unit"],
    better: Row["better"],
    of: (run: ComparedReport) => Value | undefined,
  ): Row => ({ label, unit, better, values: runs.map((run) => of(run) ?? null) })
  const percentiles = (
    label: string,
    better: Row["better"],
    of: (run: ComparedReport, spread: keyof Spread) => number | null | undefined,
  ): ReadonlyArray<Row> =>
    (["p50", "p95", "p99", "max"] as const).map((each) =>
      row(`${label}, ${each === "max" ? "at most" : each}`, "ms", better, (run) => of(run, each)),
    )
  const score = (label: string, key: keyof ComparedFidelity["score"]): Row =>
    row(label, "share", "higher", ({ fidelity }) => fidelity?.score[key])
  const phase = (name: string): Row =>
    row(`${name.toLowerCase()} at the same time, at most`, "count", undefined, ({ fidelity }) => {
      const pods = fidelity?.timeline.pods.replayed
      if (pods === null || pods === undefined) return undefined
      return (pods[name] ?? []).reduce((most, count) => Math.max(most, count), 0)
    })
  const groups: ReadonlyArray<RowGroup> = [
    {
      title: "Run",
      rows: [
        row("speed", "text", undefined, ({ report }) => (report.speed === "max" ? "max" : `${report.speed}×`)),
        row(`duration${ofTrace}`, "ms", undefined, (run) => inTime(run, run.report.run.durationMs)),
        row("schedule delayed by", "ms", "lower", ({ report }) => report.run.delayedMs),
        row("ended early", "text", undefined, ({ report }) => report.stopped),
      ],
    },
    {
      title: "Fidelity",
      rows: [
        score("objects equal", "objectsEqual"),
        score("states in order", "statesInOrder"),
        score("on time", "onTime"),
        score("gaps kept", "gapsWithin"),
        score("pods as in the trace", "pods"),
      ],
    },
    {
      title: `Pods${ofTrace}`,
      rows: [
        row("created", "count", undefined, ({ fidelity }) => fidelity?.pods?.created.replayed),
        row("created in the trace", "count", undefined, ({ fidelity }) => fidelity?.pods?.created.recorded),
        row("never started to run", "count", "lower", ({ fidelity }) => fidelity?.pods?.neverStarted.replayed),
        ...percentiles("pending", "lower", (run, each) => inTime(run, run.fidelity?.pods?.pendingMs.replayed?.[each])),
        ...percentiles("running", undefined, (run, each) =>
          inTime(run, run.fidelity?.pods?.runningMs.replayed?.[each]),
        ).slice(0, 3),
        phase("Pending"),
        phase("Running"),
      ],
    },
    {
      title: isOfTrace ? "Punctuality, after due, in real time" : "Punctuality, after due",
      rows: [
        ...percentiles("sent", "lower", ({ report }, each) => report.dispatchErrorMs[each]).filter(isTail),
        ...percentiles("answered", "lower", ({ report }, each) => report.lagMs[each]).filter(isTail),
        ...percentiles("observed", "lower", ({ fidelity }, each) => fidelity?.observedMs?.[each]).filter(isTail),
      ],
    },
    {
      title: "Events",
      rows: [
        row("accepted", "count", undefined, ({ report }) => report.events.accepted),
        row("skipped", "count", undefined, ({ report }) => report.events.skipped),
        row(
          "refused, with the state at the start",
          "count",
          "lower",
          ({ report }) => report.events.refused + report.seed.refused,
        ),
        ...reasonsOf(runs).map((reason) =>
          row(`refused: ${reason}`, "count", "lower", ({ report }) => refusals(report, reason)),
        ),
      ],
    },
  ]
  return groups
    .map(({ title, rows }) => ({ title, rows: rows.filter(({ values }) => values.some((value) => value !== null)) }))
    .filter(({ rows }) => rows.length > 0)
}

/** The middle and the tail are enough here. */
const isTail = ({ label }: Row): boolean => label.endsWith("p50") || label.endsWith("p99") || label.endsWith("at most")

/** Over all runs, the most frequent first. */
const reasonsOf = (runs: ReadonlyArray<ComparedReport>): ReadonlyArray<string> => {
  const total = new Map<string, number>()
  for (const { report } of runs)
    for (const { gvk, reason, count } of report.refused)
      total.set(`${gvk} ${reason}`, (total.get(`${gvk} ${reason}`) ?? 0) + count)
  return [...total]
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, mostReasons)
    .map(([reason]) => reason)
}

const refusals = ({ refused }: ComparedReport["report"], reason: string): number =>
  refused.filter((cause) => `${cause.gvk} ${cause.reason}` === reason).reduce((sum, { count }) => sum + count, 0)
