/**
 * The chart of a scenario as a Vega-Lite specification: a panel of bars for each unit, with the range of the rounds and the
 * budgets, one for the ratios, all with one legend, and the scenario's curves. Pure; draw-chart.ts makes the picture.
 */
import type { Ratio } from "../ratios.ts"
import { median } from "../statistics.ts"
import { formatNumber, type Measure } from "../table.ts"
import {
  barHeight,
  boundKinds,
  boundNames,
  explanationOf,
  type Legend,
  legendOf,
  measured,
  nameHeight,
  nameLayers,
  pixels,
  placeRows,
  type Row,
  rowsOf,
  type Specification,
  type Subject,
  shownNames,
  subjectKeys,
  subjects,
  width,
} from "./chart-rows.ts"

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

export interface ChartContent {
  readonly title: string
  /** Lines: what it is, machine and commit. */
  readonly subtitle: ReadonlyArray<string>
  readonly measures: ReadonlyArray<Measure>
  readonly ratios: ReadonlyArray<Ratio>
  readonly curves: ReadonlyArray<Curve>
  /** Its program. Default: `peer`. */
  readonly peer?: string | undefined
}

const schema = "https://vega.github.io/schema/vega-lite/v6.json"
const curveHeight = 200
/** Room for a figure behind the longest bar. */
const figureShare = 0.12
const topLegend = { title: null, orient: "top", labelLimit: 0, columns: 6 }

export const chartSpecification = (content: ChartContent): Specification => {
  const { title, subtitle, measures, ratios, curves, peer = subjects.peer } = content
  const names: Readonly<Record<Subject, string>> = { ...subjects, peer }
  const rows = rowsOf(measures)
  const legend = legendOf(rows, names)
  const panels = [...new Set(rows.map(({ unit }) => unit))].map((unit) =>
    barPanel(
      rows.filter((row) => row.unit === unit),
      unit,
      names,
      legend,
    ),
  )
  const bars = [...panels, ...(ratios.length === 0 ? [] : [ratioPanel(ratios, names, legend)])]
  return {
    $schema: schema,
    title: { text: title, subtitle: [...subtitle, explanationOf(rows)], anchor: "start", offset: 12 },
    background: "white",
    padding: 12,
    config: {
      font: "sans-serif",
      view: { stroke: null },
      axis: { labelLimit: 0, titleLimit: 0, tickCount: 6 },
      concat: { spacing: 22 },
    },
    vconcat: [
      ...(bars.length === 0
        ? []
        : [{ vconcat: bars, resolve: { scale: { x: "independent", y: "independent", color: "shared" } } }]),
      ...curves.map(curvePanel),
    ],
    resolve: { scale: { x: "independent", y: "independent", color: "independent" } },
  }
}

const barPanel = (
  rows: ReadonlyArray<Row>,
  unit: string,
  names: Readonly<Record<Subject, string>>,
  legend: Legend,
): Specification => {
  const present = rows.map((row) => subjectKeys.filter((subject) => measured(row[subject]).length > 0))
  const { tops, height } = placeRows(present.map(({ length }) => length))
  const values = rows.flatMap((row, index) =>
    (present[index] ?? []).map((subject, line) => {
      const rounds = measured(row[subject])
      const top = (tops[index] ?? 0) + nameHeight + line * barHeight
      const [min, max] = [Math.min(...rounds), Math.max(...rounds)]
      const place = { top: top + 1, bottom: top + barHeight - 1, middle: top + barHeight / 2 }
      const figure = formatNumber(median(rounds), row.digits)
      return { row: row.path.join(" – "), subject: names[subject], median: median(rounds), min, max, figure, ...place }
    }),
  )
  const bounds = rows.flatMap((row, index) =>
    boundKinds.flatMap((kind) => {
      const top = (tops[index] ?? 0) + nameHeight - 1
      const bottom = top + (present[index]?.length ?? 0) * barHeight + 2
      const bound = row[kind]
      return bound === undefined
        ? []
        : [{ row: row.path.join(" – "), subject: boundNames[kind], value: bound.value, top, bottom }]
    }),
  )
  const y = pixels(height)
  const largest = Math.max(...values.map(({ max }) => max), ...bounds.map(({ value }) => value))
  const smallest = Math.min(0, ...values.map(({ min }) => min))
  const domain = [smallest, largest + (largest - smallest) * figureShare]
  const x = { type: "quantitative", title: unit === "" ? "share" : unit, scale: { domain, nice: false } }
  const color = { field: "subject", type: "nominal", scale: legend, legend: topLegend }
  const between = { y: { field: "top", ...y }, y2: { field: "bottom" } }
  return {
    width,
    height,
    data: { values },
    layer: [
      { mark: "rect", encoding: { ...between, x: { field: "median", ...x }, x2: { datum: 0 }, color } },
      {
        mark: { type: "rule", color: "black" },
        encoding: { y: { field: "middle", ...y }, x: { field: "min", ...x }, x2: { field: "max" } },
      },
      {
        mark: { type: "text", align: "left", baseline: "middle", dx: 4, fontSize: 9, color: "#555" },
        encoding: { text: { field: "figure" }, y: { field: "middle", ...y }, x: { field: "max", ...x } },
      },
      ...(bounds.length === 0
        ? []
        : [
            {
              data: { values: bounds },
              mark: { type: "rule", strokeWidth: 2 },
              encoding: { ...between, x: { field: "value", ...x }, color },
            },
          ]),
      ...nameLayers(shownNames(rows.map(({ path }) => path)), tops, y),
    ],
  }
}

const ratioPanel = (
  ratios: ReadonlyArray<Ratio>,
  names: Readonly<Record<Subject, string>>,
  legend: Legend,
): Specification => {
  const measures = [...new Set(ratios.map(({ measure }) => measure))]
  const ofMeasure = measures.map((measure) => ratios.filter((ratio) => ratio.measure === measure))
  const { tops, height } = placeRows(ofMeasure.map(({ length }) => length))
  const values = ofMeasure.flatMap((group, index) =>
    group.map((ratio, line) => ({
      ...{ row: ratio.measure, subject: names[ratio.of], min: ratio.min, median: ratio.median, max: ratio.max },
      figure: formatNumber(ratio.median, 2),
      middle: (tops[index] ?? 0) + nameHeight + (line + 0.5) * barHeight,
    })),
  )
  const y = pixels(height)
  // Ratios of 1/20 and of 20 are as far from 1.
  const x = {
    type: "quantitative",
    title: "other ÷ ours, within a round",
    scale: { type: "log", nice: false, padding: 40 },
  }
  const color = { field: "subject", type: "nominal", scale: legend, legend: topLegend }
  const positive = values.filter(({ min }) => min > 0)
  return {
    width,
    height,
    data: { values: positive },
    layer: [
      { mark: { type: "rule", color: "#9aa5b1" }, encoding: { x: { datum: 1, ...x } } },
      {
        mark: { type: "rule", color: "black" },
        encoding: { y: { field: "middle", ...y }, x: { field: "min", ...x }, x2: { field: "max" } },
      },
      {
        mark: { type: "point", filled: true, size: 50, opacity: 1 },
        encoding: { y: { field: "middle", ...y }, x: { field: "median", ...x }, color },
      },
      {
        mark: { type: "text", align: "left", baseline: "middle", dx: 8, fontSize: 9, color: "#555" },
        encoding: { text: { field: "figure" }, y: { field: "middle", ...y }, x: { field: "max", ...x } },
      },
      ...nameLayers(
        measures.map((text) => ({ text, indent: 0 })),
        tops,
        y,
      ),
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
