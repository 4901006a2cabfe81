import { describe, expect, test } from "vitest"
import {
  cellsOf,
  formatAsMarkdown,
  formatForTerminal,
  type Measure,
  qualifiedNames,
  verdictOf,
} from "../../../bench/report/table.ts"

const cpu: Measure = {
  name: "CPU per event",
  unit: "µs",
  digits: 2,
  ours: [9, 8.456, 12],
  nullReader: [0.7],
  must: { relation: "at most", value: 10 },
  aim: { relation: "at most", value: 7 },
}
const share: Measure = {
  name: "share",
  unit: "",
  digits: 2,
  ours: [0.7],
  must: { relation: "at least", value: 0.667 },
  aim: { relation: "at least", value: 0.75 },
}

describe("a verdict", () => {
  test("is of the median, not of the best or the worst round", () => {
    expect(verdictOf(cpu)).toBe("met")
    expect(verdictOf({ ...cpu, ours: [9, 11, 12] })).toBe("missed")
    expect(verdictOf({ ...cpu, ours: [6, 7, 30] })).toBe("met, aim too")
  })

  test("knows budgets from above and from below, the limit itself being allowed", () => {
    expect(verdictOf({ ...cpu, ours: [10] })).toBe("met")
    expect(verdictOf({ ...cpu, ours: [10.001] })).toBe("missed")
    expect(verdictOf(share)).toBe("met")
    expect(verdictOf({ ...share, ours: [0.75] })).toBe("met, aim too")
    expect(verdictOf({ ...share, ours: [0.66] })).toBe("missed")
  })

  test("is not given without a budget or without a measurement", () => {
    expect(verdictOf({ name: "main", unit: "µs", digits: 2, ours: [1] })).toBe("–")
    expect(verdictOf({ ...cpu, ours: [] })).toBe("–")
    expect(verdictOf({ ...cpu, ours: [Number.NaN] })).toBe("–")
  })
})

describe("a table", () => {
  test("shows the median with the extremes, the others, and the budgets", () => {
    const [, , row] = formatAsMarkdown(cellsOf([cpu])).split("\n")
    expect(row).toBe("| CPU per event, µs | 9.00 (8.46–12.00) | 0.70 | ≤ 10 | ≤ 7 | met |")
  })

  test("separates thousands and leaves out the brackets of a single round", () => {
    const pace: Measure = { name: "sustained", unit: "events/s", digits: 0, ours: [126_096.6] }
    expect(formatAsMarkdown(cellsOf([pace]))).toContain("| sustained, events/s | 126,097 | – | – | – |")
  })

  test("has a column for each subject that took part in a row at least", () => {
    const peer: Measure = { ...share, peer: [0.1] }
    expect(cellsOf([cpu, peer])).toEqual([
      ["measure", "ours (median, min–max)", "null reader", "peer", "must", "aim", "verdict"],
      ["CPU per event, µs", "9.00 (8.46–12.00)", "0.70", "–", "≤ 10", "≤ 7", "met"],
      ["share", "0.70", "–", "0.10", "≥ 0.667", "≥ 0.75", "met"],
    ])
  })

  test("is not broken by what stands in a cell", () => {
    expect(formatAsMarkdown([["a|b"], ["c"]])).toBe("| a\\|b |\n| --- |\n| c |")
  })

  test("has columns of one width on a terminal, and no blanks at line ends", () => {
    const [header = "", rule = "", first = "", second = ""] = formatForTerminal(cellsOf([cpu, share])).split("\n")
    for (const line of [first, second]) expect(line.indexOf(" ≤ ") === -1 || line.length <= rule.length).toBe(true)
    expect(first.indexOf("9.00")).toBe(header.indexOf("ours"))
    expect(second.indexOf("0.70")).toBe(header.indexOf("ours"))
    expect([header, first, second].filter((line) => line !== line.trimEnd())).toEqual([])
  })
})

describe("the name of a row that stands alone", () => {
  test("says what it is a part of, however deep", () => {
    const names = ["CPU", "– of it main", "– – of it timers", "– of it store", "pace", "– of all"]
    expect(qualifiedNames(names.map((name) => ({ name })))).toEqual([
      "CPU",
      "CPU – of it main",
      "CPU – of it main – of it timers",
      "CPU – of it store",
      "pace",
      "pace – of all",
    ])
  })
})
