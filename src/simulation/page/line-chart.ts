/**
 * A chart of numbers over time as inline SVG, drawn here and not by the browser: it is there without scripts, in print, and for readers
 * that only see the text. Colours are those of the page's classes, so that it follows light and dark.
 */
import { type Html, html, joined } from "../../page/html.ts"

/** One line of a chart. */
export interface Series {
  readonly label: string
  /** One for each step; `null`: nothing there. */
  readonly values: ReadonlyArray<number | null>
  /** A class of the page's style: `recorded`, `replayed`, `run-0` … */
  readonly colour: string
  readonly isDashed?: boolean
}

/** What is drawn. */
export interface Chart {
  readonly title: string
  /** Of the values: `ms`, or the empty string for counts. */
  readonly unit: string
  readonly stepMs: number
  readonly series: ReadonlyArray<Series>
  /** `steps`: numbers that hold until the next; `points`: separate measurements. */
  readonly form: "steps" | "points"
  /** Takes the width of the page instead of half of it. */
  readonly isWide?: boolean
}

const height = 190
const margin = { top: 12, right: 14, bottom: 26, left: 52 }
/** Units of the drawing, one of which is about a pixel. */
const widths = { half: 560, whole: 1140 }

/** A figure with title, legend, axes and a text of the maxima for readers that see no drawing. Series may be of different lengths. */
export const lineChart = ({ title, unit, stepMs, series, form, isWide = false }: Chart): Html => {
  const width = isWide ? widths.whole : widths.half
  const plot = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
  const points = Math.max(1, ...series.map(({ values }) => values.length))
  const endMs = points * stepMs
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const ticks = valueTicks(highest, unit === "")
  const top = ticks.at(-1) ?? 1
  const x = (ms: number): number => margin.left + (ms / endMs) * plot.width
  const y = (value: number): number => margin.top + plot.height - (value / top) * plot.height
  const across = (
    value: number,
  ): Html => html`<line class="grid" x1="${margin.left}" x2="${width - margin.right}" y1="${short(y(value))}" y2="${short(y(value))}"/>
<text class="tick" x="${margin.left - 8}" y="${short(y(value) + 4)}" text-anchor="end">${formatValue(value, unit)}</text>`
  const along = (ms: number): Html =>
    html`<text class="tick" x="${short(x(ms))}" y="${height - 8}" text-anchor="middle">${formatTime(ms, endMs)}</text>`
  const path = form === "steps" ? stepPath : pointPath
  const lines = series.map(
    ({ values, colour, isDashed, label }) =>
      html`<path class="${form} ${colour}${isDashed === true ? " dashed" : ""}" d="${path(values, stepMs, x, y)}" data-label="${label}" data-values="${values.map((value) => (value === null ? "" : short(value))).join(",")}"/>`,
  )
  const peaks = series
    .map(({ label, values }) => `${label}: at most ${formatValue(highestOf(values), unit)}`)
    .join("; ")
  return html`<figure class="chart${isWide && " wide"}"><figcaption>${title}<span class="legend">${series.map(
    ({ label, colour, isDashed }) =>
      html`<span class="key"><svg width="18" height="8" aria-hidden="true"><path class="steps ${colour}${isDashed === true ? " dashed" : ""}" d="M0 4H18"/></svg>${label}</span>`,
  )}</span></figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}, over ${formatTime(endMs, endMs)}. ${peaks}." data-step="${stepMs}" data-left="${margin.left}" data-width="${plot.width}" data-unit="${unit}">
${joined(ticks.map(across))}${joined(timeTicks(endMs).map(along))}${joined(lines)}<line class="cursor" x1="0" x2="0" y1="${margin.top}" y2="${margin.top + plot.height}"/></svg><output class="readout" aria-live="off"></output></figure>`
}

type Scale = (value: number) => number

/** Only where the value changes. */
const stepPath = (values: Series["values"], stepMs: number, x: Scale, y: Scale): string => {
  let text = ""
  let last: number | null = null
  for (const [index, value] of values.entries()) {
    if (value === last) continue
    const at = short(x(index * stepMs))
    if (value === null) text += `H${at}`
    else text += last === null ? `M${at} ${short(y(value))}` : `H${at}V${short(y(value))}`
    last = value
  }
  return last === null ? text : `${text}H${short(x(values.length * stepMs))}`
}

/** Lines of no length, which round caps turn into dots. */
const pointPath = (values: Series["values"], stepMs: number, x: Scale, y: Scale): string =>
  values
    .map((value, index) => (value === null ? "" : `M${short(x((index + 0.5) * stepMs))} ${short(y(value))}h0`))
    .join("")

const highestOf = (values: Series["values"]): number =>
  values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)

const short = (value: number): string => String(Math.round(value * 10) / 10)

/** From 0 to a round number that is not below the highest value, in three to five steps. */
const valueTicks = (highest: number, isCount: boolean): ReadonlyArray<number> => {
  const least = isCount ? 1 : 0.1
  const step = Math.max(least, roundUp(highest / 4))
  const count = Math.max(1, Math.ceil(highest / step - 1e-9))
  return Array.from({ length: count + 1 }, (_, index) => Math.round(index * step * 10) / 10)
}

/** To 1, 2 or 5 times a power of ten. */
const roundUp = (value: number): number => {
  if (value <= 0) return 0
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((factor) => factor * power >= value - 1e-12) ?? 10) * power
}

const timeSteps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
]
const longTimeSteps = [
  600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000, 604_800_000,
]

const timeTicks = (endMs: number): ReadonlyArray<number> => {
  const step = [...timeSteps, ...longTimeSteps].find((each) => endMs / each <= 6) ?? endMs
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, index) => index * step)
}

const formatValue = (value: number, unit: string): string => {
  if (unit !== "ms") return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ")
  return value >= 10_000 ? `${Math.round(value / 100) / 10} s` : `${Math.round(value * 10) / 10} ms`
}

/** A time after the start; `endMs` decides on the unit, so that all labels of an axis have the same. */
const formatTime = (ms: number, endMs: number): string => {
  if (ms === 0) return "0"
  if (endMs < 1000) return `${Math.round(ms)} ms`
  if (endMs <= 180_000) return `${Math.round(ms / 100) / 10} s`
  const [hours, minutes, seconds] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    Math.floor(ms / 1000) % 60,
  ]
  const two = (number: number): string => String(number).padStart(2, "0")
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
}
