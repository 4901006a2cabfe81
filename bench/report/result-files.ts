/** Stores results in bench/results/: JSON, a page and a chart for each scenario, and the overall table over all that are there. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { chartSpecification } from "./chart.ts"
import { drawChart, NoChartsError } from "./draw-chart.ts"
import { resultAsMarkdown, type ScenarioResult } from "./results.ts"
import { summaryAsMarkdown } from "./summary.ts"

const directory = new URL("../results/", import.meta.url)
const fileOf = (name: string): URL => new URL(name, directory)

/** Writes the results of a scenario. Without the charting packages there is no chart, which is reported to `tell`. */
export const keepResult = async (result: ScenarioResult, tell: (line: string) => void): Promise<void> => {
  mkdirSync(directory, { recursive: true })
  const { scenario } = result
  writeFileSync(fileOf(`${scenario}.json`), `${JSON.stringify(result, undefined, 2)}\n`)
  const hasChart = await keepChart(result, tell)
  writeFileSync(fileOf(`${scenario}.md`), resultAsMarkdown(result, hasChart))
}

const keepChart = async (result: ScenarioResult, tell: (line: string) => void): Promise<boolean> => {
  const { scenario, description, machine, commit, date, measures, ratios, curves = [] } = result
  const subtitle = [description, `${date}, ${commit}`, ...machine.split("; ")]
  const file = fileOf(`${scenario}.svg`)
  try {
    writeFileSync(
      file,
      `${await drawChart(chartSpecification({ title: scenario, subtitle, measures, ratios, curves }))}\n`,
    )
    return true
  } catch (cause) {
    if (!(cause instanceof NoChartsError)) throw cause
    tell(cause.message)
    // The existing one is from an earlier run.
    rmSync(file, { force: true })
    return false
  }
}

/** Writes the overall table over the last results of the scenarios named, in that order. */
export const keepSummary = (scenarios: ReadonlyArray<string>): void => {
  const results = scenarios
    .filter((scenario) => existsSync(fileOf(`${scenario}.json`)))
    .map((scenario) => JSON.parse(readFileSync(fileOf(`${scenario}.json`), "utf8")) as ScenarioResult)
  if (results.length === 0) return
  const charts = new Set(scenarios.filter((scenario) => existsSync(fileOf(`${scenario}.svg`))))
  writeFileSync(fileOf("README.md"), summaryAsMarkdown(results, charts))
}
