/** What is different between two traces as a page: one file that loads nothing and is read without scripts. */
import { type Html, html } from "../../page/html.ts"
import { page } from "../../page/page.ts"
import type { ComparedName } from "../../trace/comparison/change-log.ts"
import type { ChangedObject, TraceComparison } from "../../trace/comparison/compare-traces.ts"
import { formatExactJson, type JsonValue } from "../../trace/json/exact-json.ts"
import { formatCount } from "../terminal/quantities.ts"
import { endText, nameOf, offsetsText, secondsText, timesText, traceText } from "./trace-diff-lines.ts"

/** Objects of each part that the page has. */
const mostRows = 1000

/** characters of a value. */
const longestValue = 400

/** The whole file. */
export const traceDiffPage = (paths: readonly [string, string], comparison: TraceComparison): string => {
  const { traces, onlyInFirst, onlyInSecond, changed, changes, times, isSame } = comparison
  const body = html`<main><header><h1>Differences of two traces</h1>
<p class="quiet">A: ${paths[0]}: ${traceText(traces[0])}<br>B: ${paths[1]}: ${traceText(traces[1])}</p></header>
${isSame && html`<p class="good">Nothing differs.</p>`}
${traces.some(({ gaps, incomplete }) => gaps + incomplete.length > 0) && html`<p class="warn">A trace has gaps or kinds that were not recorded completely: what differs may be missing only.</p>`}
${section("Only in A", onlyInFirst, ["Object"], (object) => row([nameOf(object)]))}
${section("Only in B", onlyInSecond, ["Object"], (object) => row([nameOf(object)]))}
${section("Different at the end", changed, ["Object", "Field", "A", "B"], changedRows)}
${section("With changes that the other has not", changes, ["Object", "In A only", "In B only"], (each) =>
  row([nameOf(each.object), countText(each.onlyInFirst), countText(each.onlyInSecond)]),
)}
${times.pairs > 0 && html`<h2>Times</h2><p>${timesText(times)}</p>`}
${
  times.largest.length > 0 &&
  html`<div class="table"><table><thead>${head(["Object", "After the start of A", "In B"])}</thead><tbody>
${times.largest.map(({ object, offset, shift }) => row([nameOf(object), secondsText(offset), shiftText(shift)]))}</tbody></table></div>`
}</main>`
  return page({ title: `Differences of ${paths.join(" and ")}` }, body)
}

const shiftText = (shift: number): string => `${secondsText(Math.abs(shift))} ${shift < 0 ? "earlier" : "later"}`

const countText = (offsets: ReadonlyArray<number>): string =>
  offsets.length === 0 ? "" : `${offsets.length}: ${offsetsText(offsets)}`

const section = <Each extends ComparedName | object>(
  title: string,
  list: ReadonlyArray<Each>,
  columns: ReadonlyArray<string>,
  rowsOf: (each: Each) => Html,
): Html | undefined => {
  if (list.length === 0) return undefined
  const more = list.length - mostRows
  return html`<h2>${title}: ${formatCount(list.length, "object")}</h2>
<div class="table"><table><thead>${head(columns)}</thead><tbody>
${list.slice(0, mostRows).map(rowsOf)}</tbody></table></div>
${more > 0 && html`<p class="note">${formatCount(more, "more object")}; reel diff -o json has all.</p>`}`
}

const head = (columns: ReadonlyArray<string>): Html =>
  html`<tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr>`

const row = (cells: ReadonlyArray<string>): Html => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`

const changedRows = (changed: ChangedObject): Html => {
  const { object, differences = [], hasMoreDifferences } = changed
  const end = endText(changed)
  const rows = [
    ...(end === "" ? [] : [row([nameOf(object), end, "", ""])]),
    ...differences.map(({ path, before, after }) => row([nameOf(object), path, shown(before), shown(after)])),
    ...(hasMoreDifferences === true ? [row([nameOf(object), "… and more", "", ""])] : []),
  ]
  return html`${rows}`
}

const shown = (value: JsonValue | undefined): string => {
  if (value === undefined) return ""
  const text = formatExactJson(value)
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}
