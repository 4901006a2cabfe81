/** The overall table: every measure that has a budget, of all scenarios. Pure. */
import { quotients } from "./ratios.ts"
import type { ScenarioResult } from "./results.ts"
import { median } from "./statistics.ts"
import {
  type Cells,
  formatAsMarkdown,
  formatBound,
  formatNumber,
  formatValues,
  qualifiedNames,
  titleOf,
  verdictOf,
} from "./table.ts"

/** A row for each budget, in the order of the results. */
export const summaryCells = (results: ReadonlyArray<ScenarioResult>): Cells => [
  ["scenario", "measure", "ours (median, min–max)", "informer ÷ ours", "must", "aim", "verdict"],
  ...results.flatMap(({ scenario, measures }) => {
    const names = qualifiedNames(measures)
    return measures.flatMap((measure, index) => {
      if (measure.must === undefined) return []
      const ratio = median(quotients(measure.informer, measure.ours))
      return [
        [
          scenario,
          titleOf({ name: names[index] ?? measure.name, unit: measure.unit }),
          formatValues(measure.ours, measure.digits),
          Number.isNaN(ratio) ? "–" : formatNumber(ratio, 2),
          formatBound(measure.must),
          formatBound(measure.aim),
          verdictOf(measure),
        ],
      ]
    })
  }),
]

/** How many budgets are met: `17 of 20 budgets met (9 of them the aim, too); missed: …`. */
export const summaryLine = (results: ReadonlyArray<ScenarioResult>): string => {
  const [, ...rows] = summaryCells(results)
  const judged = rows.filter((row) => row.at(-1) !== "–")
  const missed = judged.filter((row) => row.at(-1) === "missed")
  const aims = judged.filter((row) => row.at(-1) === "met, aim too")
  const met = `${judged.length - missed.length} of ${judged.length} budgets met, ${aims.length} of them with the aim`
  return missed.length === 0 ? `${met}.` : `${met}; missed: ${missed.map(([, measure]) => measure).join("; ")}.`
}

/** bench/results/README.md. `charts` are the scenarios that have one. */
export const summaryAsMarkdown = (results: ReadonlyArray<ScenarioResult>, charts: ReadonlySet<string>): string =>
  [
    "# Benchmarks: last measured",
    "`npm run bench` writes this page and what it links to. How to read it: [docs/reference/benchmarks.md](../../docs/reference/benchmarks.md).",
    summaryLine(results),
    formatAsMarkdown(summaryCells(results)),
    "## Scenarios",
    formatAsMarkdown([
      ["scenario", "what", "measured", "commit", "machine", "data"],
      ...results.map(({ scenario, description, date, commit, machine }) => [
        `[${scenario}](${scenario}.md)`,
        description,
        date,
        commit,
        machine,
        `[JSON](${scenario}.json)${charts.has(scenario) ? `, [chart](${scenario}.svg)` : ""}`,
      ]),
    ]),
    "",
  ].join("\n\n")
