/**
 * What the page does in a browser: shows the numbers under the pointer, or under the arrow keys, and filters the list of objects. Everything
 * is readable without it. It writes text only, never HTML.
 */
export const pageScript = `"use strict"
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
