import { describe, expect, test } from "vitest"
import { resultAsMarkdown, resultForTerminal, resultOf, type ScenarioResult } from "../../../bench/report/results.ts"
import { summaryAsMarkdown, summaryCells, summaryLine } from "../../../bench/report/summary.ts"
import type { Measure } from "../../../bench/report/table.ts"

const of = {
  scenario: "ingest",
  description: "changes",
  date: "2026-11-21",
  command: "npm run bench",
  commit: "abc1234",
  machine: "a machine",
}
const row = (name: string, ours: ReadonlyArray<number>, more: Partial<Measure> = {}): Measure => ({
  name,
  unit: "µs",
  digits: 1,
  ours,
  must: { relation: "at most", value: 10 },
  aim: { relation: "at most", value: 7 },
  ...more,
})
const result: ScenarioResult = resultOf(
  {
    measures: [row("CPU", [9, 8, 11], { informer: [18, 24, 22] }), row("– of it main", [6]), row("wait", [20])],
    notes: ["a note"],
  },
  of,
)
const unmeasured = resultOf({ measures: [row("never", [])], notes: [] }, { ...of, scenario: "sandbox" })
const unbudgeted = resultOf(
  { measures: [{ name: "pace", unit: "", digits: 0, ours: [1] }], notes: [] },
  { ...of, scenario: "mailbox" },
)

describe("a result", () => {
  test("has median, verdict and ratios beside the rounds, all of it as JSON can hold it", () => {
    expect(result.measures[0]).toMatchObject({ ours: [9, 8, 11], median: 9, verdict: "met" })
    expect(result.ratios).toEqual([{ measure: "CPU, µs", of: "informer", min: 2, median: 2, max: 3 }])
    expect(unmeasured.measures[0]?.median).toBeNull()
    expect(JSON.parse(JSON.stringify(unmeasured))).toEqual(unmeasured)
  })

  test("keeps no value that is no number, which would be met by every budget", () => {
    const nothing = resultOf({ measures: [row("growth", [Number.NaN], { informer: [Number.NaN, 3] })], notes: [] }, of)
    expect(nothing.measures[0]).toMatchObject({ ours: [], informer: [3], median: null, verdict: "–" })
    expect(summaryLine([JSON.parse(JSON.stringify(nothing)) as ScenarioResult])).toMatch(/^0 of 0/)
  })

  test("is a page with its chart, if there is one", () => {
    const page = resultAsMarkdown(result, true)
    expect(page).toContain("# ingest: changes")
    expect(page).toContain("at abc1234 with `npm run bench` on a machine.")
    expect(page).toContain("![ingest](ingest.svg)")
    expect(page).toContain("- a note")
    expect(resultAsMarkdown(result, false)).not.toContain("svg")
  })

  test("is shown on a terminal without a table of ratios when there are none", () => {
    expect(resultForTerminal(result)).toContain("ratio, within a round")
    expect(resultForTerminal(unbudgeted)).not.toContain("ratio")
  })
})

describe("the overall table", () => {
  test("has a row for each budget of all scenarios, and no other", () => {
    expect(summaryCells([result, unbudgeted]).slice(1)).toEqual([
      ["ingest", "CPU, µs", "9.0 (8.0–11.0)", "2.00", "≤ 10", "≤ 7", "met"],
      ["ingest", "CPU – of it main, µs", "6.0", "–", "≤ 10", "≤ 7", "met, aim too"],
      ["ingest", "wait, µs", "20.0", "–", "≤ 10", "≤ 7", "missed"],
    ])
  })

  test("counts what is met and names what is missed; what was not measured is neither", () => {
    expect(summaryLine([result, unmeasured])).toBe("2 of 3 budgets met, 1 of them with the aim; missed: wait, µs.")
    expect(summaryLine([{ ...result, measures: result.measures.slice(0, 2) }])).toBe(
      "2 of 2 budgets met, 1 of them with the aim.",
    )
  })

  test("links to the page, the data and the chart of each scenario", () => {
    const page = summaryAsMarkdown([result, unbudgeted], new Set(["ingest"]))
    expect(page).toContain("| [ingest](ingest.md) |")
    expect(page).toContain("[JSON](ingest.json), [chart](ingest.svg)")
    expect(page).toContain("[JSON](mailbox.json) |")
  })
})
