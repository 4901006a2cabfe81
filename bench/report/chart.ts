/**
 * The chart of a scenario as a Vega-Lite specification: a panel of bars for each unit, with the range of the rounds and the
 * budgets, one for the ratios, and the scenario's curves. Pure; draw-chart.ts makes the picture.
 */
import type { Ratio } from "./ratios.ts"
import { median } from "./statistics.ts"
import { type Measure, otherSubjects, qualifiedNames } from "./table.ts"

/** A measure as a function of another. */
export interface Curve {
  readonly title: string
  readonly xTitle: string
  readonly yTitle: string
  /** Both axes; for values above 0. Default false. */
  readonly isLogarithmic?: boolean
  /** Several of the same x and series are rounds: the line connects their medians. */
  readonly points: ReadonlyArray<{ readonly series: string; readonly x: number; readonly y: number }>
}

/** Anything that JSON can hold. */
export type Specification = { readonly [key: string]: unknown }

export interface ChartContent {
  readonly title: string
  /** Lines: what it is, machine and commit. */
  readonly subtitle: ReadonlyArray<string>
  readonly measures: ReadonlyArray<Measure>
  readonly ratios: ReadonlyArray<Ratio>
  readonly curves: ReadonlyArray<Curve>
}

const schema = "https://vega.github.io/schema/vega-lite/v6.json"
const width = 420
const rowHeight = 11
const curveHeight = 200
const topLegend = { title: null, orient: "top", labelLimit: 0 }

const subjects = { ours: "ours", ...otherSubjects } as const
type Subject = keyof typeof subjects
const subjectKeys = Object.keys(subjects) as ReadonlyArray<Subject>
/** Distinguishable for colour-blind readers: they also differ in lightness. */
const colours: Readonly<Record<Subject, string>> = {
  ours: "#1f5fa8",
  nullReader: "#9aa5b1",
  informer: "#e8a33d",
  controllerRuntime: "#6b2d5c",
  peer: "#8fbf6f",
}
const boundColours = { must: "#c0392b", aim: "#27864a" } as const

export const chartSpecification = ({ title, subtitle, measures, ratios, curves }: ChartContent): Specification => {
  const names = unique(qualifiedNames(measures))
  const named = measures.map((measure, index) => ({ ...measure, name: names[index] ?? measure.name }))
  const units = [...new Set(named.map(({ unit }) => unit))]
  const panels = units.map((unit) =>
    barPanel(
      named.filter((measure) => measure.unit === unit),
      unit,
    ),
  )
  return {
    $schema: schema,
    title: { text: title, subtitle, anchor: "start", offset: 12 },
    background: "white",
    padding: 12,
    config: {
      font: "sans-serif",
      view: { stroke: null },
      axis: { labelLimit: 0, titleLimit: 0, tickCount: 6 },
      concat: { spacing: 28 },
    },
    vconcat: [
      ...panels.filter((panel) => panel !== undefined),
      ...(ratios.length === 0 ? [] : [ratioPanel(ratios)]),
      ...curves.map(curvePanel),
    ],
    resolve: { scale: { x: "independent", y: "independent", yOffset: "independent", color: "independent" } },
  }
}

/** Rows of one name would share a bar. */
const unique = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const seen = new Map<string, number>()
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return count === 1 ? name : `${name} (${count})`
  })
}

const rowAxis = { field: "row", type: "nominal", sort: null, title: null, axis: { ticks: false, domain: false } }

const barPanel = (measures: ReadonlyArray<Measure>, unit: string): Specification | undefined => {
  const values = measures.flatMap((measure) =>
    subjectKeys.flatMap((subject) => {
      const rounds = (measure[subject] ?? []).filter(Number.isFinite)
      if (rounds.length === 0) return []
      const range = { min: Math.min(...rounds), max: Math.max(...rounds) }
      return [{ row: measure.name, subject: subjects[subject], median: median(rounds), ...range }]
    }),
  )
  if (values.length === 0) return undefined
  const rows = new Set(values.map(({ row }) => row))
  const bounds = measures
    .filter(({ name }) => rows.has(name))
    .flatMap(({ name, must, aim }) =>
      Object.entries({ must, aim }).flatMap(([kind, bound]) =>
        bound === undefined ? [] : [{ row: name, kind, value: bound.value }],
      ),
    )
  const present = subjectKeys.filter((subject) => values.some((value) => value.subject === subjects[subject]))
  const order = present.map((subject) => subjects[subject])
  const placed = { y: rowAxis, yOffset: { field: "subject", sort: order } }
  const colour = {
    field: "subject",
    scale: { domain: order, range: present.map((subject) => colours[subject]) },
    legend: order.length === 1 ? null : topLegend,
  }
  const axis = { type: "quantitative", title: unit === "" ? "share" : unit }
  return {
    width,
    height: rows.size * (present.length * rowHeight + 8),
    data: { values },
    layer: [
      { mark: "bar", encoding: { ...placed, x: { field: "median", ...axis }, color: colour } },
      {
        mark: { type: "rule", color: "black" },
        encoding: { ...placed, x: { field: "min", ...axis }, x2: { field: "max" } },
      },
      ...Object.entries(boundColours)
        .filter(([kind]) => bounds.some((bound) => bound.kind === kind))
        .map(([kind, color]) => ({
          data: { values: bounds.filter((bound) => bound.kind === kind) },
          mark: { type: "tick", color, thickness: 2, size: present.length * rowHeight + 4 },
          encoding: { y: rowAxis, x: { field: "value", ...axis } },
        })),
    ],
  }
}

const ratioPanel = (ratios: ReadonlyArray<Ratio>): Specification => {
  const values = ratios.map((ratio) => ({ ...ratio, row: `${subjects[ratio.of]} ÷ ours: ${ratio.measure}` }))
  const axis = { type: "quantitative", title: "ratio within a round" }
  return {
    width,
    height: values.length * (rowHeight + 8),
    data: { values },
    layer: [
      { mark: { type: "rule", color: "#9aa5b1" }, encoding: { x: { datum: 1, type: "quantitative" } } },
      {
        mark: { type: "rule", color: "black" },
        encoding: { y: rowAxis, x: { field: "min", ...axis }, x2: { field: "max" } },
      },
      { mark: { type: "point", filled: true, size: 60 }, encoding: { y: rowAxis, x: { field: "median", ...axis } } },
    ],
  }
}

const curvePanel = ({ title, xTitle, yTitle, isLogarithmic = false, points }: Curve): Specification => {
  const values = points.filter(({ x, y }) => Number.isFinite(y) && (!isLogarithmic || (x > 0 && y > 0)))
  const scale = isLogarithmic ? { type: "log", nice: false, padding: 12 } : { zero: true }
  const series = [...new Set(values.map((point) => point.series))]
  const color = { field: "series", type: "nominal", sort: series, legend: series.length === 1 ? null : topLegend }
  const x = { field: "x", type: "quantitative", title: xTitle, scale }
  const y = { type: "quantitative", title: yTitle, scale }
  return {
    title: { text: title, anchor: "start", fontSize: 11 },
    width,
    height: curveHeight,
    data: { values },
    layer: [
      { mark: "line", encoding: { x, y: { ...y, field: "y", aggregate: "median" }, color } },
      { mark: { type: "point", filled: true, size: 25 }, encoding: { x, y: { ...y, field: "y" }, color } },
    ],
  }
}
