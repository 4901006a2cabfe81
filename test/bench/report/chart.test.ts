import { describe, expect, test } from "vitest"
import { type ChartContent, type Curve, chartSpecification } from "../../../bench/report/chart.ts"
import { drawChart } from "../../../bench/report/draw-chart.ts"
import { ratiosOf } from "../../../bench/report/ratios.ts"
import type { Measure } from "../../../bench/report/table.ts"

const measures: ReadonlyArray<Measure> = [
  {
    name: "CPU",
    unit: "µs",
    digits: 2,
    ours: [10, 12, 8],
    informer: [20, 30, 25],
    must: { relation: "at most", value: 9.5 },
    aim: { relation: "at most", value: 7 },
  },
  { name: "– of it main", unit: "µs", digits: 2, ours: [1, 2, 3] },
  { name: "sustained", unit: "events/s", digits: 0, ours: [100_000] },
  { name: "not measured", unit: "MB", digits: 0, ours: [] },
]
const curve: Curve = {
  title: "along kinds",
  xTitle: "kinds",
  yTitle: "MB",
  points: [
    { series: "ours", x: 1, y: 100 },
    { series: "ours", x: 32, y: 300 },
    { series: "ours", x: 32, y: Number.NaN },
  ],
}
const content: ChartContent = {
  title: "ingest",
  subtitle: ["a machine"],
  measures,
  ratios: ratiosOf(measures),
  curves: [curve],
}

interface Panel {
  readonly data: { readonly values: ReadonlyArray<Readonly<Record<string, unknown>>> }
  readonly layer: ReadonlyArray<{ readonly data?: Panel["data"] }>
}
const panelsOf = (of: ChartContent): ReadonlyArray<Panel> => chartSpecification(of).vconcat as ReadonlyArray<Panel>

describe("the specification of a chart", () => {
  test("has a panel for each unit that was measured, one for ratios, and one for each curve", () => {
    const panels = panelsOf(content)
    expect(panels).toHaveLength(4)
    expect(panels[1]?.data.values).toEqual([
      { row: "sustained", subject: "ours", median: 100_000, min: 100_000, max: 100_000 },
    ])
  })

  test("shows of each subject the median of its rounds and their range", () => {
    expect(panelsOf(content)[0]?.data.values).toEqual([
      { row: "CPU", subject: "ours", median: 10, min: 8, max: 12 },
      { row: "CPU", subject: "client-node informer", median: 25, min: 20, max: 30 },
      { row: "CPU – of it main", subject: "ours", median: 2, min: 1, max: 3 },
    ])
  })

  test("has the budgets beside their rows", () => {
    const marks = panelsOf(content)[0]?.layer.flatMap((layer) => layer.data?.values ?? [])
    expect(marks).toEqual([
      { row: "CPU", kind: "must", value: 9.5 },
      { row: "CPU", kind: "aim", value: 7 },
    ])
  })

  test("keeps rows of one name apart, and leaves out what is no number", () => {
    const twice = { ...content, measures: [measures[2], measures[2]].filter((measure) => measure !== undefined) }
    expect(panelsOf(twice)[0]?.data.values.map(({ row }) => row)).toEqual(["sustained", "sustained (2)"])
    expect(panelsOf(content).at(-1)?.data.values).toHaveLength(2)
  })

  test("leaves out of a logarithmic curve what has no logarithm", () => {
    const points = [0, 1, 10].map((x) => ({ series: "p99", x, y: x }))
    const curves = [{ ...curve, isLogarithmic: true, points }]
    expect(
      panelsOf({ ...content, curves })
        .at(-1)
        ?.data.values.map(({ x }) => x),
    ).toEqual([1, 10])
  })
})

describe("a chart", () => {
  test("is an SVG with the names of the rows, the budgets' colours, and no value that is no number", async () => {
    const svg = await drawChart(chartSpecification(content))
    expect(svg).toMatch(/^<svg /)
    expect(svg).toContain("CPU – of it main")
    expect(svg).toContain("client-node informer ÷ ours: CPU, µs")
    expect(svg).toContain("#c0392b")
    expect(svg).not.toMatch(/NaN|undefined/)
  })
})
