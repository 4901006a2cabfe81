/** Stores results in bench/results/: JSON, a page and a chart for each scenario, the overall table over all that are there, and the README's figures. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { chartSpecification } from "./chart/chart.ts"
import { drawChart, NoChartsError } from "./chart/draw-chart.ts"
import { figureResults, figuresAsMarkdown, withFigures } from "./figures.ts"
import { resultAsMarkdown, type ScenarioResult } from "./results.ts"
import { summaryAsMarkdown } from "./summary.ts"

const directory = new URL("../results/", import.meta.url)
const readme = new URL("../../README.md", import.meta.url)
const fileOf = (name: string): URL => new URL(name, directory)

/** The last result of that name: `ingest`, `sk-tracer-2.7.0/ingest`; `undefined` if there is none. */
export const readResult = (name: string): ScenarioResult | undefined => {
  const file = fileOf(`${name}.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ScenarioResult) : undefined
}

/** Writes the results of a scenario. Without the charting packages there is no chart, which is reported to `tell`. */
export const keepResult = async (result: ScenarioResult, tell: (line: string) => void): Promise<void> => {
  mkdirSync(directory, { recursive: true })
  writeFileSync(fileOf(`${result.scenario}.json`), `${JSON.stringify(result, undefined, 2)}\n`)
  await keepPage(result.scenario, result, tell)
}

/** Writes page and chart of a result that is kept under this name. */
export const keepPage = async (name: string, result: ScenarioResult, tell: (line: string) => void): Promise<void> => {
  const hasChart = await keepChart(name, result, tell)
  writeFileSync(fileOf(`${name}.md`), resultAsMarkdown(result, hasChart))
}

const keepChart = async (name: string, result: ScenarioResult, tell: (line: string) => void): Promise<boolean> => {
  const { scenario, description, machine, commit, date, measures, ratios, curves = [] } = result
  const subtitle = [description, `${date}, ${commit}`, ...machine.split("; ")]
  const file = fileOf(`${name}.svg`)
  try {
    writeFileSync(
      file,
      `${await drawChart(chartSpecification({ title: scenario, subtitle, measures, ratios, curves, peer: peerOf(result) }))}\n`,
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

/** The program of `--peer sk-tracer -c …`. */
const peerOf = ({ command }: ScenarioResult): string | undefined => /--peer ['"]?(\S+)/.exec(command)?.[1]

/** Writes the overall table over the last results of the scenarios named, in that order. */
export const keepSummary = (scenarios: ReadonlyArray<string>): void => {
  const results = scenarios.map(readResult).filter((result) => result !== undefined)
  if (results.length === 0) return
  const charts = new Set(scenarios.filter((scenario) => existsSync(fileOf(`${scenario}.svg`))))
  writeFileSync(fileOf("README.md"), summaryAsMarkdown(results, charts))
}

/** The README with the figures of the kept results. */
export const readmeWithFigures = (): string => {
  const results = new Map(
    figureResults.flatMap((name) => {
      const result = readResult(name)
      return result === undefined ? [] : [[name, result] as const]
    }),
  )
  return withFigures(readFileSync(readme, "utf8"), figuresAsMarkdown(results))
}

/** Writes the README's table of figures. */
export const keepFigures = (): void => writeFileSync(readme, readmeWithFigures())
