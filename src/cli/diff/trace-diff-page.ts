/** What is different between two traces as a page: one file that loads nothing and runs nothing. */

import { type Html, html } from "../../page/html.ts"
import { page } from "../../page/page.ts"
import { changedField, excerpts } from "../../page/shown-text.ts"
import type { ChangedObject, TraceComparison } from "../../trace/comparison/compare-traces.ts"
import { formatExactJson, type JsonValue } from "../../trace/json/exact-json.ts"
import { formatCount } from "../terminal/quantities.ts"
import { endText, nameOf, offsetsText, secondsText, timesText, traceText } from "./trace-diff-lines.ts"

/** Objects of each part that the page has. */
const mostRows = 1000

/** A part of the page. */
interface Section {
  readonly id: string
  /** `3 objects only in A`. */
  readonly title: string
  readonly body: Html
}

/** The whole file. */
export const traceDiffPage = (paths: readonly [string, string], comparison: TraceComparison): string => {
  const { traces, onlyInFirst, onlyInSecond, changed, changes, isSame } = comparison
  const sections = [
    ...listed("only-a", "only in A", onlyInFirst, ["Object"], (object) => row([nameOf(object)])),
    ...listed("only-b", "only in B", onlyInSecond, ["Object"], (object) => row([nameOf(object)])),
    ...listed("end", "different at the end", changed, ["Object", "From A to B"], changedRow),
    ...listed("changes", "changed in only one trace", changes, ["Object", "In A only", "In B only"], (each) =>
      row(
        [nameOf(each.object), countText(each.onlyInFirst), countText(each.onlyInSecond)],
        ["", "In A only", "In B only"],
      ),
    ),
    ...times(comparison),
  ]
  const body = html`<main><header><h1>Differences of two traces</h1>
<p class="quiet">A: ${paths[0]}: ${traceText(traces[0])}<br>B: ${paths[1]}: ${traceText(traces[1])}</p></header>
${isSame && html`<p class="good">Nothing differs.</p>`}
${traces.some(({ gaps, incomplete }) => gaps + incomplete.length > 0) && html`<p class="warn">A trace has gaps or kinds that were not recorded completely: what differs may be missing only.</p>`}
${sections.length > 0 && html`<nav aria-label="Parts of the page">${sections.map(({ id, title }) => html`<a href="#${id}">${title}</a> `)}</nav>`}
${sections.map(
  ({ id, title, body: content }) => html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${content}</section>
`,
)}</main>`
  return page({ title: `Differences of ${paths.join(" and ")}` }, body)
}

/** Nothing if the list is empty. */
const listed = <Each>(
  id: string,
  what: string,
  list: ReadonlyArray<Each>,
  columns: ReadonlyArray<string>,
  rowOf: (each: Each) => Html,
): ReadonlyArray<Section> => {
  if (list.length === 0) return []
  const more = list.length - mostRows
  const note = more > 0 && html`<p class="note">${formatCount(more, "more object")}; reel diff -o json has all.</p>`
  const body = html`${table(columns, list.slice(0, mostRows).map(rowOf))}${note}`
  return [{ id, title: `${formatCount(list.length, "object")} ${what}`, body }]
}

const times = ({ times: summary }: TraceComparison): ReadonlyArray<Section> => {
  if (summary.pairs === 0) return []
  const columns = ["Object", "After the start of A", "In B"]
  const rows = summary.largest.map(({ object, offset, shift }) =>
    row([nameOf(object), `+${secondsText(offset)}`, shiftText(shift)], ["", "After the start of A", "In B"]),
  )
  return [
    { id: "times", title: "Times", body: html`<p>${timesText(summary)}</p>${rows.length > 0 && table(columns, rows)}` },
  ]
}

const shiftText = (shift: number): string => `${secondsText(Math.abs(shift))} ${shift < 0 ? "earlier" : "later"}`

const countText = (offsets: ReadonlyArray<number>): string =>
  offsets.length === 0 ? "" : `${offsets.length}: ${offsetsText(offsets)}`

const table = (columns: ReadonlyArray<string>, rows: ReadonlyArray<Html>): Html =>
  html`<div class="table stacked"><table><thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead><tbody>
${rows}</tbody></table></div>`

/** `labels`: what a phone shows before a cell, instead of the head of its column. */
const row = (cells: ReadonlyArray<string>, labels: ReadonlyArray<string> = []): Html =>
  html`<tr>${cells.map((cell, index) => html`<td${(labels[index] ?? "") !== "" && html` data-label="${labels[index]}"`}>${cell}</td>`)}</tr>
`

const changedRow = (changed: ChangedObject): Html => {
  const { object, differences = [], hasMoreDifferences } = changed
  const fields = differences.map(({ path, before, after }) =>
    changedField(path, excerpts([jsonOf(before), jsonOf(after)])),
  )
  const more = hasMoreDifferences === true && html`<li>and more</li>`
  return html`<tr><td>${nameOf(object)}</td><td>${endText(changed)}${fields.length > 0 && html`<ul>${fields}${more}</ul>`}</td></tr>
`
}

const jsonOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : formatExactJson(value)
