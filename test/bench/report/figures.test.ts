import { existsSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { figureResults, figuresAsMarkdown, withFigures } from "../../../bench/report/figures.ts"
import { readmeWithFigures, readResult } from "../../../bench/report/result-files.ts"
import { resultAsMarkdown, type ScenarioResult } from "../../../bench/report/results.ts"
import { summaryAsMarkdown } from "../../../bench/report/summary.ts"
import { partsOfAll } from "../../../bench/scenarios.ts"

const file = (path: string): URL => new URL(`../../../${path}`, import.meta.url)
const textOf = (path: string): string => readFileSync(file(path), "utf8")
const kept = new Map(figureResults.map((name) => [name, readResult(name) as ScenarioResult]))

describe("What shows the kept results", () => {
  test("is the README's table, figure by figure (else: npm run bench:redraw)", () => {
    expect(textOf("README.md")).toBe(readmeWithFigures())
  })

  test("is the overall table and the page of each scenario", () => {
    const results = partsOfAll.flatMap(({ name }) => readResult(name) ?? [])
    const charts = new Set(
      partsOfAll.map(({ name }) => name).filter((name) => existsSync(file(`bench/results/${name}.svg`))),
    )
    expect(textOf("bench/results/README.md")).toBe(summaryAsMarkdown(results, charts))
    for (const result of results)
      expect(textOf(`bench/results/${result.scenario}.md`)).toBe(resultAsMarkdown(result, charts.has(result.scenario)))
  })
})

describe("The table of figures", () => {
  test("has the median of each measure, and names scenario, day, commit and machine", () => {
    const table = figuresAsMarkdown(kept)
    const start = kept.get("start")
    expect(table).toContain(`| [start](bench/results/start.md) | ${start?.date}, ${start?.commit} | A |`)
    expect(table).toContain(`A: ${start?.machine}.`)
  })

  test("tells machines apart", () => {
    const start = kept.get("start") as ScenarioResult
    const table = figuresAsMarkdown(new Map([...kept, ["start", { ...start, machine: "another one" }]]))
    const [, letter] = /^([B-Z]): another one\.$/m.exec(table) ?? []
    expect(table).toMatch(new RegExp(`\\[start\\][^\\n]*\\| ${letter} \\|`))
  })

  test("is not written without a result or a measure that it needs", () => {
    const start = kept.get("start") as ScenarioResult
    expect(() => figuresAsMarkdown(new Map())).toThrow("sk-tracer-2.7.0/ingest.json is missing")
    const without = new Map([...kept, ["start", { ...start, measures: [] }]])
    expect(() => figuresAsMarkdown(without)).toThrow('start.json has no measure "CPU until ready, streamed"')
  })

  test("replaces only what is between its markers", () => {
    const page = textOf("README.md")
    expect(withFigures(withFigures(page, "x"), figuresAsMarkdown(kept))).toBe(page)
    expect(() => withFigures("no markers", "x")).toThrow("README.md lacks")
  })
})
