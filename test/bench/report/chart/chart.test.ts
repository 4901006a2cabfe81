import { describe, expect, test } from "vitest"
import { type ChartContent, type Curve, chartSpecification } from "../../../../bench/report/chart/chart.ts"
import { drawChart } from "../../../../bench/report/chart/draw-chart.ts"
import { ratiosOf } from "../../../../bench/report/ratios.ts"
import type { Measure } from "../../../../bench/report/table.ts"

const row: Measure = { name: "sustained", unit: "events/s", digits: 0, ours: [100_000] }
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
  row,
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
  readonly height: number
  readonly data: { readonly values: ReadonlyArray<Readonly<Record<string, unknown>>> }
  readonly layer: ReadonlyArray<{
    readonly data?: Panel["data"]
    readonly encoding: { readonly color?: { readonly scale?: unknown }; readonly x: { readonly value?: number } }
  }>
}
/** Those of bars and ratios, then the curves. */
const panelsOf = (of: ChartContent): ReadonlyArray<Panel> =>
  (chartSpecification(of).vconcat as ReadonlyArray<Panel & { readonly vconcat?: ReadonlyArray<Panel> }>).flatMap(
    (panel) => panel.vconcat ?? [panel],
  )
const valuesOf = (panel: Panel | undefined, ...members: ReadonlyArray<string>) =>
  panel?.data.values.map((value) => members.map((member) => value[member]))

describe("the specification of a chart", () => {
  test("has a panel for each unit that was measured, one for ratios, and one for each curve", () => {
    const panels = panelsOf(content)
    expect(panels).toHaveLength(4)
    expect(valuesOf(panels[1], "row", "subject", "median")).toEqual([["sustained", "ours", 100_000]])
    expect(valuesOf(panels[2], "row", "subject")).toEqual([["CPU, µs", "client-node informer"]])
  })

  test("shows of each subject the median of its rounds and their range", () => {
    expect(valuesOf(panelsOf(content)[0], "row", "subject", "min", "median", "max", "figure")).toEqual([
      ["CPU", "ours", 8, 10, 12, "10.00"],
      ["CPU", "client-node informer", 20, 25, 30, "25.00"],
      ["CPU – of it main", "ours", 1, 2, 3, "2.00"],
    ])
  })

  test("has a line for each bar, and one for the name of each row: as high as what was measured", () => {
    const [first, second] = panelsOf(content)
    const tops = valuesOf(first, "top")?.flat().map(Number) ?? []
    const bottoms = valuesOf(first, "bottom")?.flat().map(Number) ?? []
    expect(tops.every((top, index) => index === 0 || top > (bottoms[index - 1] ?? 0))).toBe(true)
    expect(first?.height).toBeGreaterThan(2 * (second?.height ?? 0))
  })

  test("indents a row below the one that it is a part of, and then leaves its name out", () => {
    const names = panelsOf(content)[0]?.layer.flatMap(({ data, encoding }) =>
      (data?.values ?? []).flatMap(({ text }) => (text === undefined ? [] : [[text, encoding.x.value]])),
    )
    expect(names).toEqual([
      ["CPU", 0],
      ["of it main", 14],
    ])
  })

  test("has the budgets beside their rows", () => {
    const marks = panelsOf(content)[0]?.layer.flatMap((layer) => layer.data?.values ?? [])
    expect(marks?.filter(({ value }) => value !== undefined)).toMatchObject([
      { row: "CPU", subject: "budget: must", value: 9.5 },
      { row: "CPU", subject: "budget: aim", value: 7 },
    ])
  })

  test("has one legend for all subjects and budgets, in which a peer has the name of its program", () => {
    const withPeer = { ...content, measures: [...measures, { ...row, peer: [7] }], peer: "sk-tracer" }
    const domain = ["ours", "client-node informer", "sk-tracer", "budget: must", "budget: aim"]
    for (const panel of panelsOf(withPeer).slice(0, 3))
      for (const { encoding } of panel.layer)
        if (encoding.color !== undefined) expect(encoding.color.scale).toMatchObject({ domain })
  })

  test("keeps rows of one name apart, and leaves out what is no number", () => {
    const twice = panelsOf({ ...content, measures: [row, row] })[0]
    expect(valuesOf(twice, "row")).toEqual([["sustained"], ["sustained"]])
    expect(new Set(valuesOf(twice, "top")?.flat()).size).toBe(2)
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
    expect(svg).toContain("of it main")
    expect(svg).toContain("client-node informer")
    expect(svg).toContain("budget: must")
    expect(svg).toContain("#c0392b")
    expect(svg).not.toMatch(/NaN|undefined/)
  })
})
