/** A page as text, piece by piece: what the trace covers and lacks, what went wrong, the time line, the list of changes. */
import { changedField } from "../../../page/changed-field.ts"
import { type Html, html } from "../../../page/html.ts"
import { pageAround } from "../../../page/page.ts"
import { shortened } from "../../../page/shown-text.ts"
import { type Change, MOST_CHANGES } from "./change-log.ts"
import type { Fault, Faults } from "./faults.ts"
import type { LifeStory } from "./life-story.ts"
import { clockText, durationText, hasSeveralDays, isoText, offsetText, type Span } from "./moments.ts"
import { DrawnTimeLine, type MissingRow } from "./time-line.ts"

/** What the page of a trace has beside the common style: rows of a time line, in one column on a phone. */
const tracePageStyle = `
main { max-width: none; }
.notice { border-left: 4px solid var(--warn); padding: 2px 12px; }
.row { display: grid; grid-template-columns: minmax(0, 22rem) minmax(0, 1fr); gap: 12px; align-items: center; padding: 1px 0; }
.label { overflow-wrap: anywhere; line-height: 1.3; padding-left: 16px; }
.below { padding-left: 32px; } .inner { padding-left: 48px; color: var(--quiet); }
.lane { display: block; width: 100%; height: 18px; overflow: visible; forced-color-adjust: none; border-radius: 2px; }
.axis { position: sticky; top: 0; background: var(--ground); z-index: 1; padding: 4px 0; box-shadow: 0 0 0 2px var(--ground); border-bottom: 1px solid var(--line); }
summary.row { list-style: none; } summary::-webkit-details-marker { display: none; }
summary.row > .label { position: relative; }
summary.row > .label::before { content: "▸"; position: absolute; left: 0; color: var(--quiet); }
details[open] > summary.row > .label::before { content: "▾"; }
summary.row:hover, .row:hover { background: color-mix(in srgb, var(--quiet) 10%, transparent); }
details, .row { scroll-margin-top: 36px; }
td.time { width: 1%; white-space: nowrap; } td.object { width: 30%; }
b.bad, td .bad { font-weight: 650; }
@media (min-width: 641px) { .axis text { font-size: 11px; } }
@media (max-width: 640px) {
  .row { grid-template-columns: minmax(0, 1fr); gap: 0; padding: 3px 0; }
  td.time, td.object { width: auto; }
}
@media print { .row, tr { break-inside: avoid; } .lane { print-color-adjust: exact; } .axis { position: static; } }
`

/** What a page shows. */
interface PageContent {
  readonly title: string
  readonly span: Span
  /** The most important first. */
  readonly stories: ReadonlyArray<LifeStory>
  /** With those that are not drawn. */
  readonly totalObjects: number
  /** Lives of pods that the trace lists below an owner that it does not have. */
  readonly unownedLives: number
  readonly missing: ReadonlyArray<MissingRow>
  /** Gaps beside those. */
  readonly moreMissing: number
  readonly faults: Faults
  readonly changes: ReadonlyArray<Change>
  /** With those that are not listed. */
  readonly totalChanges: number
}

/** The whole page. A browser that shows it loads nothing and runs nothing. */
export function* page(content: PageContent): Generator<string, void> {
  const { span, changes, totalChanges, totalObjects, faults } = content
  const title = shortened(content.title)
  const line = new DrawnTimeLine(content)
  const wrong = faults.inOrder()
  // Of several tabs, it says which is which.
  const since = isoText(span.start).slice(0, 16).replace("T", " ")
  const { before, after } = pageAround({ title: `${title}, ${since} UTC`, style: tracePageStyle })
  yield `${before}${html`<main>
<header><h1>${title}</h1>
<p class="quiet">${spanText(span)}: ${counted(totalObjects, "object")}, ${counted(totalChanges, "change")}</p></header>
${notices(content, line).map(
  (text) => html`<p class="notice">${text}</p>
`,
)}<nav aria-label="Parts of the page">${wrong.length > 0 && html`<a href="#wrong">What went wrong</a>`} <a href="#time-line">Time line</a> <a href="#changes">Changes</a></nav>
${wrongSection(content, line, wrong)}
<section aria-labelledby="time-line"><h2 id="time-line">Time line</h2>
`}`
  for (const piece of line.pieces()) yield String(piece)
  yield `</section>
<section aria-labelledby="changes"><h2 id="changes">Changes</h2>
`
  if (changes.length === 0) yield "<p>Nothing changed.</p>\n"
  else {
    yield '<div class="table stacked"><table><thead><tr><th scope="col">Time</th><th scope="col">Object</th><th scope="col">Change</th></tr></thead><tbody>\n'
    for (const together of atOnce(changes)) yield String(changeRow(together, span))
    yield "</tbody></table></div>\n"
  }
  yield `</section>
</main>${after}`
}

/** `2025-11-21 03:00:00.000 to 03:30:00.000 UTC (30 min)`. */
const spanText = ({ start, end }: Span): Html => {
  const [from, to] = [start, end].map((micros) => isoText(micros).replace("T", " ").replace("Z", ""))
  const shownEnd = hasSeveralDays({ start, end }) ? to : to?.slice(11)
  return html`<time datetime="${isoText(start)}">${from}</time> to <time datetime="${isoText(end)}">${shownEnd}</time> UTC (${durationText(end - start)})`
}

const notices = (content: PageContent, line: DrawnTimeLine): string[] => {
  const { stories, totalObjects, unownedLives, totalChanges, missing, moreMissing, faults } = content
  const texts: string[] = []
  const lacking = missing.length + moreMissing
  if (lacking > 0)
    texts.push(
      `The trace is incomplete: ${counted(lacking, "part")} of it ${lacking === 1 ? "is" : "are"} missing, shown at the top of the time line.`,
    )
  if (totalObjects > stories.length)
    texts.push(
      `The time line has ${counted(stories.length, "object")} of ${totalObjects.toLocaleString("en-US")}: those with faults, then those in which something happened last.`,
    )
  if (line.left > 0)
    texts.push(`The time line has no room for ${counted(line.left, "mark")} of phases, states and changes.`)
  if (unownedLives > 0)
    texts.push(`The time line lacks ${counted(unownedLives, "life")} of pods whose owner is not in the trace.`)
  if (faults.left > 0) texts.push(`${counted(faults.left, "more fault")} had no room in the list of what went wrong.`)
  if (totalChanges > MOST_CHANGES)
    texts.push(`The list has the newest ${counted(MOST_CHANGES, "change")} of ${totalChanges.toLocaleString("en-US")}.`)
  if (moreMissing > 0) texts.push(`${counted(moreMissing, "more gap")} had no room.`)
  return texts
}

const wrongSection = (
  { span, stories, missing }: PageContent,
  line: DrawnTimeLine,
  wrong: ReadonlyArray<Fault>,
): Html | undefined => {
  if (wrong.length > 0)
    return html`<section aria-labelledby="wrong"><h2 id="wrong" class="bad">What went wrong</h2>
<div class="table stacked"><table><thead><tr><th scope="col">First</th><th scope="col">Object</th><th scope="col">Fault</th><th scope="col">How often</th></tr></thead><tbody>
${wrong.map((fault) => faultRow(fault, line, span))}</tbody></table></div></section>`
  // A trace without the states of pods says nothing about them.
  if (!stories.some(({ phases }) => phases.total > 0)) return undefined
  const where = missing.length > 0 ? "In what the trace has, no pod" : "No pod"
  return html`<p class="good">${where} failed or found no node, and no container failed or could not start.</p>`
}

const faultRow = ({ namespace, root, what, message, ...fault }: Fault, line: DrawnTimeLine, span: Span): Html => {
  const id = line.idOf(namespace, root)
  const name = placeText(namespace, root)
  const often = [
    fault.count === 1 ? "once" : `${fault.count.toLocaleString("en-US")} times`,
    ...(fault.objects > 1 ? [`in ${counted(fault.objects, "object")}`] : []),
  ].join(" ")
  return html`<tr>${timeCell(fault.first, span)}<td class="object">${id === undefined ? name : html`<a href="#${id}">${name}</a>`}</td><td><span class="bad">${what}</span>${message !== undefined && html`<br><span class="quiet">${message}</span>`}</td><td>${often}${fault.count > 1 && html`, last ${clockText(fault.last, span)}`}${fault.lasting > 0 && html`<br><b class="bad">still so at the end${fault.objects > 1 && html` in ${counted(fault.lasting, "object")}`}</b>`}</td></tr>
`
}

/** Changes of one object at one time are one row. */
function* atOnce(changes: ReadonlyArray<Change>): Generator<readonly [Change, ...Change[]], void> {
  let together: [Change, ...Change[]] | undefined
  for (const change of changes) {
    const [first] = together ?? []
    if (
      together !== undefined &&
      first?.time === change.time &&
      first.label === change.label &&
      first.namespace === change.namespace
    )
      together.push(change)
    else {
      if (together !== undefined) yield together
      together = [change]
    }
  }
  if (together !== undefined) yield together
}

const changeRow = (together: readonly [Change, ...Change[]], span: Span): Html => {
  const [{ time, namespace, label }] = together
  return html`<tr>${timeCell(time, span)}<td class="object">${placeText(namespace, label)}</td><td>${together.map(changeText)}</td></tr>
`
}

const changeText = ({ what, isBad, fields, isCut }: Change): Html => {
  const more = isCut && html`<li>and more</li>`
  const list =
    fields.length > 0 && html`<ul>${fields.map(({ path, values }) => changedField(path, values))}${more}</ul>`
  return html`<div${isBad && html` class="bad"`}>${what}${list}</div>`
}

const timeCell = (time: number, span: Span): Html =>
  html`<td class="time"><time datetime="${isoText(time)}">${clockText(time, span)}</time> <span class="quiet">${offsetText(time - span.start)}</span></td>`

const placeText = (namespace: string, label: string): string =>
  shortened(namespace === "" ? label : `${namespace} ${label}`)

/** `1 object`, `2,000 objects`. */
const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? noun : noun === "life" ? "lives" : `${noun}s`}`
