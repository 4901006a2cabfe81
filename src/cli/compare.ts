/** `reel compare`: reports of several replays of one trace side by side. What is compared is decided in src/simulation/comparison. */
import { readFile, stat } from "node:fs/promises"
import { basename } from "node:path"
import {
  bestOf,
  type Column,
  cellsOf,
  columnsOf,
  comparedTime,
  compareReports,
  comparisonPage,
  differentTrace,
  firstRuns,
  headOf,
  mostReports,
  NotAReport,
  type ReadReport,
  type Row,
  type RowGroup,
  readReport,
  type Value,
} from "../simulation/index.ts"

import { visible } from "../text/index.ts"
import { codeOf } from "../trace/index.ts"
import { type CommandSyntax, flag, type OptionValues, oneOf, optional, withDefault } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { writeWholeFile } from "./command-line/written-trace.ts"
import { share } from "./replay/fidelity-summary.ts"
import { displayWidth } from "./terminal/display-width.ts"
import { formatInteger } from "./terminal/quantities.ts"

// Runs side by side on a terminal.

/** A table; the better of two different numbers has a star. Of several runs it has the median, and the range if they differ. */
const comparisonTable = (columns: ReadonlyArray<Column>, groups: ReadonlyArray<RowGroup>): ReadonlyArray<string> => {
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

const options = {
  output: withDefault("text", "-o FORMAT", "text for people, json for programs", oneOf("text", "json")),
  html: optional("FILE", "also write a page for browsers, with all numbers side by side"),
  force: flag({ short: "f", help: "overwrite FILE if it exists; compare reports of different traces all the same" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel compare",
  summary: "Shows reports of several replays of one trace side by side.",
  description: [
    "The question people replay for: what changes with another scheduler, autoscaler or setting? " +
      "Compares pending and running times, punctuality, refusals and fidelity.",
  ],
  options,
  operand: {
    placeholder: "REPORT REPORT...",
    help: `at least two files that reel replay --report wrote, at most ${mostReports}`,
    count: 2,
    isRepeated: true,
  },
  exitCodes: { failed: "a report cannot be read, is no report, or is of another trace" },
  examples: [
    "reel compare scheduler-1.34.json scheduler-1.35.json",
    "reel compare before.json after.json --html comparison.html",
    "reel compare before.json after.json --output json | jq .groups",
  ],
  seeAlso: ["reel replay", "docs/reference/replay-report.md"],
}

/** Far above any report: what is larger is another file. */
const largestReport = 64 * 1024 * 1024

export const compareCommand = (): Command =>
  command(syntax, async (given, terminal, paths) => {
    if (paths.length > mostReports) return `${paths.length} reports: at most ${mostReports} can be compared`
    return compare(given, paths, terminal)
  })

const compare = async (
  { output, html, force }: OptionValues<typeof options>,
  paths: ReadonlyArray<string>,
  { standardOutput, say }: CommandTerminal,
): Promise<ExitCode> => {
  const names = namesOf(paths)
  const reports = await Promise.all(paths.map((path, index) => readFrom(path, names[index] ?? path)))
  const runs = reports.flatMap((report) => report.runs)
  const columns = columnsOf(reports)
  const [first, ...others] = firstRuns(columns, runs)
  const different = first === undefined ? [] : others.flatMap((run) => differentTrace(first, run) ?? [])
  for (const problem of different)
    say(`${problem}${force ? "; their numbers mean different things" : "; --force compares them all the same"}`)
  if (different.length > 0 && !force) return exitCodes.failed
  for (const { name, indexes, leftOut } of columns) {
    if (indexes.some((index) => runs[index]?.fidelity === undefined))
      say(`${name} has no comparison with its cluster: pods and fidelity are left out`)
    if (leftOut > 0)
      say(`${name}: ${leftOut} of ${leftOut + indexes.length} repetitions ended early; only --output json has them`)
  }
  const { isOfTrace, factorOf } = comparedTime(runs)
  if (isOfTrace) say(`the speeds are different: durations are in the trace's time, punctuality is in real time`)
  for (const run of runs)
    if (factorOf(run) === null)
      say(`${run.name} has no time of the trace, because of its speed: its durations are left out`)
  const groups = compareReports(runs)
  if (html !== undefined) await writeWholeFile(html, Buffer.from(comparisonPage(runs, columns, groups)), { force })
  if (output === "json") {
    const all = reports.flatMap(({ name: report, runs: repetitions }) =>
      repetitions.map((run) => ({
        name: run.name,
        report,
        replay: run.report.replay,
        startedAt: run.report.startedAt,
      })),
    )
    standardOutput.write(`${JSON.stringify({ version: 1, runs: all, groups }, undefined, 2)}\n`)
  } else for (const line of comparisonTable(columns, groups)) standardOutput.write(`${visible(line)}\n`)
  return exitCodes.ok
}

/** Rejects with NotAReport. */
const readFrom = async (path: string, name: string): Promise<ReadReport> => {
  const wrong = (detail: string): NotAReport => new NotAReport({ detail: `${path} ${detail}` })
  try {
    const status = await stat(path)
    if (status.isDirectory()) throw wrong("is a directory")
    if (status.size > largestReport) throw wrong("is too large for a report of reel replay")
    return readReport(name, await readFile(path, "utf8"))
  } catch (error) {
    if (error instanceof NotAReport) throw error.detail.startsWith(path) ? error : wrong(error.detail)
    const code = codeOf(error)
    throw wrong(code === "ENOENT" ? "does not exist" : `cannot be read (${code})`)
  }
}

/** File names without folder and extension; whole paths if those are not unique. */
const namesOf = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  const names = paths.map((path) => basename(path).replace(/\.json$/, ""))
  return new Set(names).size === paths.length ? names : paths.map((path, index) => `${index + 1}: ${path}`)
}
