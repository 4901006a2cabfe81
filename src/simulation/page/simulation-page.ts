/** The frame of the pages of replays, with the style and the script of their charts. */
import type { Html } from "../../page/html.ts"
import { page } from "../../page/page.ts"

/**
 * What the page does in a browser: shows the numbers under the pointer, or under the arrow keys, and filters the list of objects. Everything
 * is readable without it. It writes text only, never HTML.
 */
const pageScript = `"use strict"
const time = (ms, end) => end < 1000 ? Math.round(ms) + " ms" : end <= 180000 ? (ms / 1000).toFixed(1) + " s"
  : Math.floor(ms / 60000) + ":" + String(Math.floor(ms / 1000) % 60).padStart(2, "0")
for (const figure of document.querySelectorAll("figure.chart")) {
  const chart = figure.querySelector("svg[data-step]"), cursor = figure.querySelector(".cursor"), readout = figure.querySelector(".readout")
  const { step, left, width, unit } = chart.dataset
  const series = [...chart.querySelectorAll("path[data-values]")].map((path) => ({ label: path.dataset.label, values: path.dataset.values.split(",") }))
  const points = Math.max(...series.map((each) => each.values.length))
  let at = 0
  const show = (index) => {
    at = Math.min(points - 1, Math.max(0, index))
    const x = Number(left) + (at + 0.5) / points * Number(width)
    cursor.setAttribute("x1", x)
    cursor.setAttribute("x2", x)
    const numbers = series.map(({ label, values }) => label + " " + (values[at] === undefined || values[at] === "" ? "–" : values[at] + (unit && " " + unit)))
    readout.textContent = time(at * step, points * step) + "   " + numbers.join("   ")
    figure.classList.add("active")
  }
  chart.setAttribute("tabindex", "0")
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect()
    const x = (event.clientX - box.left) / box.width * chart.viewBox.baseVal.width
    show(Math.floor((x - Number(left)) / Number(width) * points))
  })
  chart.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -points, End: points }[event.key]
    if (move === undefined) return
    event.preventDefault()
    show(at + move)
  })
  for (const leave of ["pointerleave", "blur"]) chart.addEventListener(leave, () => figure.classList.remove("active"))
}
const filter = document.querySelector("#filter")
if (filter) {
  const objects = [...document.querySelectorAll("details.object")]
  filter.hidden = false
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase().split(/\\s+/)
    for (const object of objects) object.hidden = !wanted.every((word) => object.dataset.name.includes(word))
  })
}
`

/** What the pages of replays have beside the common style: charts, tiles, and objects that are opened. */
const pageStyle = `
:root { --recorded: #7a8494; --replayed: #1f6feb;
  --c0: #1f6feb; --c1: #c2570c; --c2: #8250df; --c3: #0e7c86; --c4: #bf3989; --c5: #57606a; }
@media (prefers-color-scheme: dark) { :root { --recorded: #8b96a6; --replayed: #5aa2ff;
  --c0: #5aa2ff; --c1: #f0883e; --c2: #b392f0; --c3: #39c5cf; --c4: #f778ba; --c5: #8b949e; } }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; margin: 20px 0 8px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; }
.tile b { display: block; font-size: 26px; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile span { color: var(--quiet); font-size: 13px; }
.tile .label { color: var(--text); font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 12px; }
.chart { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 12px 4px; position: relative; min-width: 0; }
.wide { grid-column: 1 / -1; }
.chart figcaption { font-weight: 600; display: flex; justify-content: space-between; flex-wrap: wrap; gap: 4px 16px; padding: 0 4px 4px; }
.chart > svg { display: block; width: 100%; height: auto; }
.chart > svg:focus-visible { outline: 2px solid var(--replayed); outline-offset: 2px; border-radius: 4px; }
.legend { font-weight: 400; color: var(--quiet); display: flex; flex-wrap: wrap; gap: 0 12px; font-size: 13px; }
.key { display: inline-flex; align-items: center; gap: 5px; }
.tick { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; }
path { fill: none; stroke: var(--text); stroke-width: 1.75; stroke-linejoin: round; }
path.points { stroke-width: 4; stroke-linecap: round; opacity: .8; }
path.dashed { stroke-dasharray: 5 3; }
path.recorded { stroke: var(--recorded); } path.replayed { stroke: var(--replayed); }
path.run-0 { stroke: var(--c0); } path.run-1 { stroke: var(--c1); } path.run-2 { stroke: var(--c2); }
path.run-3 { stroke: var(--c3); } path.run-4 { stroke: var(--c4); } path.run-5 { stroke: var(--c5); }
.cursor { stroke: var(--quiet); stroke-width: 1; visibility: hidden; }
.active .cursor { visibility: visible; }
.readout { display: block; min-height: 20px; padding: 0 4px; font-size: 12px; color: var(--quiet); white-space: pre-wrap; visibility: hidden; font-variant-numeric: tabular-nums; }
.active .readout { visibility: visible; }
tr.group th { color: var(--quiet); font-weight: 600; font-size: 13px; padding-top: 14px; }
td.best { font-weight: 650; }
details.object { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 6px; }
details.object > summary { padding: 8px 14px; display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; }
details.object > summary::before { content: "▸"; color: var(--quiet); }
details.object[open] > summary::before { content: "▾"; }
details.object > .table { margin: 0; border-width: 1px 0 0; border-radius: 0 0 8px 8px; }
.badge { font-size: 12px; font-weight: 600; border: 1px solid currentColor; border-radius: 999px; padding: 0 8px; white-space: nowrap; }
#filter { width: min(100%, 420px); font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; margin: 0 0 10px; }
ul.differences { margin: 0; padding: 0 0 0 16px; }
@media print { details.object { break-inside: avoid; } .chart { break-inside: avoid; } }
`

/** `body` must not have inline styles or handlers: the policy ignores them. */
export const simulationPage = (title: string, body: Html): string =>
  page({ title, style: pageStyle, script: pageScript }, body)
