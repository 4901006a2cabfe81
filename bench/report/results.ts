/** The stored results of a scenario: the shape of bench/results/<scenario>.json, and its page. Pure. */

import type { ScenarioReport } from "../scenario.ts"
import { type Ratio, ratioCells, ratiosOf } from "./ratios.ts"
import { median } from "./statistics.ts"
import {
  cellsOf,
  formatAsMarkdown,
  formatForTerminal,
  type Measure,
  type OtherSubject,
  otherSubjects,
  type Verdict,
  verdictOf,
} from "./table.ts"

export interface ScenarioResult extends Omit<ScenarioReport, "measures"> {
  readonly scenario: string
  readonly description: string
  /** UTC, `2026-11-21`. */
  readonly date: string
  readonly command: string
  readonly commit: string
  /** As machine.ts describes it. */
  readonly machine: string
  readonly measures: ReadonlyArray<Measure & { readonly median: number | null; readonly verdict: Verdict }>
  readonly ratios: ReadonlyArray<Ratio>
}

export const resultOf = (
  report: ScenarioReport,
  of: Pick<ScenarioResult, "scenario" | "description" | "date" | "command" | "commit" | "machine">,
): ScenarioResult => ({
  ...of,
  ...report,
  measures: report.measures.map((measure) => {
    const kept = { ...measure, ours: measure.ours.filter(Number.isFinite), ...keptOthers(measure) }
    const middle = median(kept.ours)
    return { ...kept, median: Number.isFinite(middle) ? middle : null, verdict: verdictOf(kept) }
  }),
  ratios: ratiosOf(report.measures),
})

/** JSON cannot represent NaN, and null would be read as 0. */
const keptOthers = (measure: Measure): Partial<Measure> =>
  Object.fromEntries(
    (Object.keys(otherSubjects) as ReadonlyArray<OtherSubject>).flatMap((of) => {
      const values = measure[of]?.filter(Number.isFinite) ?? []
      return measure[of] === undefined ? [] : [[of, values]]
    }),
  )

export const resultForTerminal = ({ scenario, measures, ratios, notes }: ScenarioResult): string =>
  [
    scenario,
    formatForTerminal(cellsOf(measures)),
    ...(ratios.length === 0 ? [] : [formatForTerminal(ratioCells(ratios))]),
    notes.join("\n"),
  ].join("\n\n")

/** The page of a scenario, with its chart if one was drawn. */
export const resultAsMarkdown = (result: ScenarioResult, hasChart: boolean): string => {
  const { scenario, description, date, command, commit, machine, measures, ratios, notes } = result
  return [
    `# ${scenario}: ${description}`,
    `Measured ${date} at ${commit} with \`${command}\` on ${machine}.`,
    formatAsMarkdown(cellsOf(measures)),
    ...(hasChart ? [`![${scenario}](${scenario}.svg)`] : []),
    ...(ratios.length === 0 ? [] : [formatAsMarkdown(ratioCells(ratios))]),
    notes.map((note) => `- ${note}`).join("\n"),
    "",
  ].join("\n\n")
}
