/** Single writes and objects of a report: the worst, and the states of each object with what was different in them. */

import { type Html, html, joined } from "../../page/html.ts"
import { describeDifference } from "../fidelity/object-details.ts"
import type { FidelityReport, FieldDifference, ObjectDetail, StateDetail } from "../report/fidelity-report.ts"
import { formatCount, formatInstant, formatMs, formatPlace } from "./words.ts"

/** The writes that went wrong, or were the latest, with their reasons. */
export const worst = ({ worst: all }: FidelityReport): Html => html`<h2>The ten worst</h2>
${
  all.length === 0
    ? html`<p class="quiet">Nothing was late or different.</p>`
    : html`<div class="table"><table><thead><tr><th scope="col">object</th><th scope="col">in the trace at</th><th scope="col">result</th><th scope="col" class="number">observed after due</th><th scope="col">reason</th></tr></thead><tbody>
${all.map(
  ({
    gvk,
    namespace,
    name,
    time,
    verb,
    result,
    observedMs,
    reason,
  }) => html`<tr><td><span class="quiet">${gvk}</span> ${formatPlace(namespace, name)}</td><td class="code">${formatInstant(time).slice(11, 23)}</td><td>${badge(result)}${verb === "delete" && " deletion"}</td><td class="number">${formatMs(observedMs)}</td><td>${reason}</td></tr>
`,
)}</tbody></table></div>`
}`

const colours = {
  equal: "good",
  different: "bad",
  early: "bad",
  missing: "bad",
  refused: "bad",
  unwritten: "bad",
  skipped: "quiet",
  unmeasured: "warn",
} as const

const badge = (result: StateDetail["result"]): Html => html`<span class="badge ${colours[result]}">${result}</span>`

/** Each object that the report has in detail, to be opened: its states, and how they differ. */
export const objects = ({ details, objects: { total } }: FidelityReport): Html => html`<h2>Objects</h2>
<p class="note">${formatCount(details.length)} of ${formatCount(total)}: those with differences first, then the latest. Times are after the first moment of the trace; + is after due.</p>
<input id="filter" type="search" placeholder="Filter by kind, namespace or name" aria-label="Filter objects" hidden>
${details.map(object)}`

const object = ({
  gvk,
  namespace,
  name,
  isEqual,
  total,
  states,
  extra,
}: ObjectDetail): Html => html`<details class="object" data-name="${`${gvk} ${namespace}/${name}`.toLowerCase()}">
<summary><span class="badge ${isEqual ? "good" : "bad"}">${isEqual ? "equal" : "different"}</span><span class="quiet">${gvk}</span><span>${formatPlace(namespace, name)}</span><span class="quiet">${formatCount(total)} ${total === 1 ? "state" : "states"}</span></summary>
<div class="table"><table><thead><tr><th scope="col">in the trace at</th><th scope="col"></th><th scope="col" class="number">due</th><th scope="col" class="number">sent</th><th scope="col" class="number">answered</th><th scope="col" class="number">observed</th><th scope="col">result</th></tr></thead><tbody>
${states.map(state)}${extra.map(
  ({ at, reason, differences }) =>
    html`<tr><td></td><td>elsewhere</td><td></td><td></td><td></td><td class="number">${formatMs(at)}</td><td><span class="badge bad">extra</span> ${reason}${list(differences)}</td></tr>`,
)}</tbody></table></div>${states.length < total && html`<p class="note">${formatCount(total - states.length)} more states are not shown.</p>`}</details>
`

const state = (each: StateDetail): Html => {
  const { time, verb, result, isInOrder, due, sent, answered, observed, reason, differences } = each
  const after = (ms: number | null): string => (ms === null || due === null ? "–" : `+${formatMs(ms - due)}`)
  return html`<tr><td class="code">${formatInstant(time).slice(11, 23)}</td><td>${due === null ? "at the start" : verb}</td><td class="number">${formatMs(due)}</td><td class="number">${after(sent)}</td><td class="number">${after(answered)}</td><td class="number">${after(observed)}</td><td>${badge(result)}${!isInOrder && html` <span class="badge bad">out of order</span>`} ${reason}${list(differences)}</td></tr>
`
}

const list = (differences: ReadonlyArray<FieldDifference>): Html | undefined =>
  differences.length === 0
    ? undefined
    : html`<ul class="differences">${joined(differences.map((each) => html`<li><code>${describeDifference(each)}</code></li>`))}</ul>`
