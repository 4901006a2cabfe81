/** Plots with uPlot: a part of the page that is loaded when the first plot is opened. */

import uPlot from "uplot"
import type { Span } from "../source/source.ts"
import type { NumberSeries } from "./numbers.ts"

export interface Plotted {
  /** Where the page's cursor is; `undefined`: there is none. */
  readonly mark: (time: number | undefined) => void
  readonly end: () => void
}

export interface PlotModule {
  readonly plot: typeof plot
}

interface Wanted {
  readonly series: NumberSeries
  readonly span: Span
  /** How a moment in µs is written at the axis. It is passed in: a part imports nothing of the page, or it would be bundled twice. */
  readonly label: (time: number) => string
  readonly onChoose: (time: number) => void
}

const height = 112

/** Draws into an element, as wide as that is. A click chooses the moment. */
export const plot = (place: HTMLElement, { series, span, label, onChoose }: Wanted): Plotted => {
  const style = getComputedStyle(place)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  let cursor: number | undefined
  const axis = {
    stroke: colour("--quiet"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  }
  const stepped = uPlot.paths.stepped?.({ align: 1 })
  const chart = new uPlot(
    {
      ...{ width: Math.max(100, place.clientWidth), height, padding: [8, 8, 0, 0], legend: { show: false } },
      ms: 1,
      scales: {
        x: { time: true, range: [span.from / 1000, span.to / 1000] },
        y: { range: (_, low, high) => [Math.min(0, low), high === low ? high + 1 : high] },
      },
      axes: [
        { ...axis, size: 22, values: (_, splits) => splits.map((at) => label(at * 1000)) },
        { ...axis, size: 44 },
      ],
      series: [
        {},
        {
          stroke: colour("--link"),
          width: 2,
          ...(stepped !== undefined && { paths: stepped }),
          points: { show: false },
        },
      ],
      cursor: { y: false, drag: { setScale: false, x: false, y: false } },
      hooks: {
        draw: [
          (drawn) => {
            if (cursor === undefined) return
            const x = Math.round(drawn.valToPos(cursor / 1000, "x", true)) + 0.5
            const { left, top, width, height: tall } = drawn.bbox
            if (x < left || x > left + width) return
            drawn.ctx.strokeStyle = colour("--warn")
            drawn.ctx.lineWidth = 1
            drawn.ctx.beginPath()
            drawn.ctx.moveTo(x, top)
            drawn.ctx.lineTo(x, top + tall)
            drawn.ctx.stroke()
          },
        ],
      },
    },
    [series.times.map((time) => time / 1000), [...series.values]],
    place,
  )
  chart.over.addEventListener("click", () => {
    const { left } = chart.cursor
    if (left !== undefined && left !== null && left >= 0) onChoose(Math.round(chart.posToVal(left, "x") * 1000))
  })
  const sizes = new ResizeObserver(() => chart.setSize({ width: Math.max(100, place.clientWidth), height }))
  sizes.observe(place)
  return {
    mark: (time) => {
      cursor = time
      chart.redraw(false)
    },
    end: () => {
      sizes.disconnect()
      chart.destroy()
    },
  }
}
