import { describe, expect, test } from "vitest"
import { quotients, ratioCells, ratiosOf } from "../../../bench/report/ratios.ts"
import type { Measure } from "../../../bench/report/table.ts"

const cpu: Measure = { name: "CPU", unit: "µs", digits: 2, ours: [10, 8, 20], informer: [20, 24, 50], peer: [40] }

describe("ratios", () => {
  test("are of values of the same round, not of medians", () => {
    expect(ratiosOf([cpu])).toEqual([{ measure: "CPU, µs", of: "informer", min: 2, median: 2.5, max: 3 }])
  })

  test("are not given for a subject that did not take part in every round", () => {
    expect(quotients([40], [10, 8, 20])).toEqual([])
    expect(quotients(undefined, [10])).toEqual([])
  })

  test("are not given where a value is nothing, or where they would say nothing", () => {
    expect(quotients([1, 2], [0, 2])).toEqual([])
    expect(quotients([1, Number.NaN], [1, 2])).toEqual([])
    expect(quotients([-8], [12])).toEqual([])
    expect(ratiosOf([{ ...cpu, hasRatios: false }])).toEqual([])
  })

  test("name a row by what stands above it", () => {
    const rows: ReadonlyArray<Measure> = [
      { ...cpu, informer: [] },
      { ...cpu, name: "– of it main", ours: [1], informer: [3], peer: [] },
    ]
    expect(ratioCells(ratiosOf(rows))[1]).toEqual([
      "client-node informer ÷ ours: CPU – of it main, µs",
      "3.00",
      "3.00",
      "3.00",
    ])
  })
})
