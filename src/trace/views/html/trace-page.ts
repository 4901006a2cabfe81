/** The page of a trace: what the trace covers and lacks, what went wrong, the time line, and the list of changes. */

import { changedField, type Html, html, page, shortened } from "../../../page/index.ts"
import type { Change, LifeStory, ObjectFault, Part, Tone } from "./life-story.ts"

/** Changes that are listed: the newest. */
export const MOST_CHANGES = 1000
/** Faults that are listed. */
const MOST_FAULTS = 100
/** Parts of all rows; browsers lay out some 20,000 elements within a second. */
const MOST_DRAWN = 20_000
/** Rows up to which nothing is folded. */
const MOST_OPEN_ROWS = 100
/** Percent of the width that a bar must have for its name. */
const LEAST_NAMED = 4
/** Percent. Without any width nothing is drawn, not even the outline that makes short bars visible. */
const LEAST_WIDTH = 0.001

/** With white text, or black for what waits, contrast is at least 4.5 to 1; against both grounds at least 3 to 1. */
const colours: Readonly<Record<Tone, string>> = { good: "#1a7f4b", waiting: "#d9a514", bad: "#cf3d33", over: "#67707d" }

const style = `
main { max-width: none; }
.notice { border-left: 4px solid var(--warn); padding: 2px 12px; }
.row { display: grid; grid-template-columns: minmax(0, 22rem) minmax(0, 1fr); gap: 12px; align-items: center; padding: 1px 0; }
.label { overflow-wrap: anywhere; line-height: 1.3; padding-left: 16px; }
.below { padding-left: 32px; } .inner { padding-left: 48px; color: var(--quiet); }
.lane { display: block; width: 100%; height: 18px; overflow: visible; forced-color-adjust: none; }
.axis { position: sticky; top: 0; background: var(--ground); z-index: 1; padding: 4px 0; border-bottom: 1px solid var(--line); }
.ticks { display: flex; justify-content: space-between; gap: 8px; font-size: 11px; overflow-wrap: anywhere; }
details, .row { scroll-margin-top: 36px; }
td.time { width: 1%; white-space: nowrap; } td.object { width: 30%; }
@media (max-width: 640px) { .row { grid-template-columns: minmax(0, 1fr); gap: 0; padding: 3px 0; } td.time, td.object { width: auto; } }
@media print { .row, tr { break-inside: avoid; } .lane { print-color-adjust: exact; } .axis { position: static; } }
`

/** From when to when a page goes, in µs since the Unix epoch; `end` is after `start`. */
interface Span {
  readonly start: number
  readonly end: number
}

/** What the trace lacks, as a row at the top. Times are µs since the Unix epoch. */
export interface MissingPart extends Pick<Part, "begin" | "end"> {
  readonly what: string
  readonly why: string
}

/** What a page shows. */
interface PageContent {
  readonly title: string
  readonly span: Span
  /** The most important first: they are drawn as long as there is room. */
  readonly stories: ReadonlyArray<LifeStory>
  readonly missing: ReadonlyArray<MissingPart>
  /** In order. */
  readonly changes: ReadonlyArray<Change>
  /** With those that the page does not have. `unownedLives`: of pods that the trace lists below an owner that it does not have. */
  readonly totals: Readonly<Record<"objects" | "changes" | "missing" | "unownedLives", number>>
}

/** What one owner owns in one namespace, which is folded together. */
interface Group {
  readonly id: string
  readonly namespace: string
  readonly root: string
  readonly stories: ReadonlyArray<LifeStory>
}

/** The whole page. A browser that shows it loads nothing and runs nothing. */
export const tracePage = (content: PageContent): string => {
  const { span, changes, totals } = content
  const title = shortened(content.title)
  const groups = groupsOf(content.stories)
  const faults = groups.flatMap(faultsOf).sort((one, other) => one.fault.first - other.fault.first)
  const timeLine = new TimeLine(span, content.stories)
  const rows = timeLine.rows(groups, content.missing)
  const body = html`<main>
<header><h1>${title}</h1>
<p class="quiet">${isoText(span.start)} to ${isoText(span.end)} (${durationText(span)}): ${counted(totals.objects, "object")}, ${counted(totals.changes, "change")}</p></header>
${notices(content, faults.length - MOST_FAULTS, timeLine.left).map(
  (text) => html`<p class="notice">${text}</p>
`,
)}<nav aria-label="Parts of the page">${faults.length > 0 && html`<a href="#wrong">What went wrong</a> `}<a href="#time-line">Time line</a> <a href="#changes">Changes</a></nav>
${
  faults.length > 0 &&
  html`<section aria-labelledby="wrong"><h2 id="wrong" class="bad">What went wrong</h2>
${table(
  ["First", "Object", "Fault", "How often"],
  faults.slice(0, MOST_FAULTS).map((each) => faultRow(each, span)),
)}</section>`
}
<section aria-labelledby="time-line"><h2 id="time-line">Time line</h2>
${rows}</section>
<section aria-labelledby="changes"><h2 id="changes">Changes</h2>
${
  changes.length === 0
    ? html`<p>Nothing changed.</p>`
    : table(
        ["Time", "Object", "Change"],
        changes.map((change) => changeRow(change, span)),
      )
}
</section>
</main>`
  // Of several tabs, the beginning says which is which.
  return page({ title: `${title}, ${isoText(span.start)}`, style }, body)
}

const notices = ({ stories, missing, totals }: PageContent, faultsLeft: number, partsLeft: number): string[] => {
  const leftOut: ReadonlyArray<readonly [count: number, noun: string, which: string]> = [
    [totals.objects - stories.length, "object", "in which nothing went wrong, or nothing happened last"],
    [partsLeft, "part", "of the time line"],
    [totals.unownedLives, "life", "of pods whose owner is not in the trace"],
    [faultsLeft, "fault", "that came later"],
    [totals.changes - MOST_CHANGES, "change", "before the newest"],
    [totals.missing - missing.length, "part", "that the trace lacks"],
  ]
  const texts = leftOut
    .filter(([count]) => count > 0)
    .map(([count, noun, which]) => `The page leaves out ${counted(count, noun)} ${which}.`)
  if (totals.missing === 0) return texts
  const lacking = `The trace is incomplete: it lacks ${counted(totals.missing, "part")}, shown at the top of the time line.`
  return [lacking, ...texts]
}

/** By namespace, and in it by the object at the top. */
const groupsOf = (stories: ReadonlyArray<LifeStory>): ReadonlyArray<Group> =>
  [...Map.groupBy(stories, ({ subject, root }) => JSON.stringify([subject.namespace, root])).values()]
    .map((each) => ({ namespace: each[0]?.subject.namespace ?? "", root: each[0]?.root ?? "", stories: each }))
    .sort((one, other) => byName(one.namespace, other.namespace) || byName(one.root, other.root))
    .map((group, index) => ({ ...group, id: `g${index}` }))

/** `web-2` before `web-10`. */
const byName = new Intl.Collator("en", { numeric: true }).compare

/** One fault of all that a group has. */
interface GroupFault {
  readonly group: Group
  readonly fault: ObjectFault
  readonly objects: number
  readonly lasting: number
}

const faultsOf = (group: Group): ReadonlyArray<GroupFault> => {
  const all = group.stories.flatMap((story) =>
    [...story.faults.values()].map((fault) => ({ fault, isLasting: story.isLasting(fault) })),
  )
  return [...Map.groupBy(all, ({ fault }) => fault.what).values()].map((same) => {
    const faults = same.map(({ fault }) => fault).sort((one, other) => one.last - other.last)
    const [first, last] = [Math.min(...faults.map((each) => each.first)), Math.max(...faults.map((each) => each.last))]
    const count = faults.reduce((sum, each) => sum + each.count, 0)
    const message = faults.findLast((each) => each.message !== undefined)?.message
    const lasting = same.filter(({ isLasting }) => isLasting).length
    return {
      group,
      fault: { what: faults[0]?.what ?? "", message, first, last, count },
      objects: faults.length,
      lasting,
    }
  })
}

const faultRow = ({ group, fault, objects, lasting }: GroupFault, span: Span): Html =>
  html`<tr>${timeCell(fault.first, span)}<td class="object"><a href="#${group.id}">${placeText(group.namespace, group.root)}</a></td><td><span class="bad">${fault.what}</span>${fault.message !== undefined && html`<br><span class="quiet">${fault.message}</span>`}</td><td>${counted(fault.count, "time")}${objects > 1 && ` in ${counted(objects, "object")}`}${fault.count > 1 && `, last ${clockText(fault.last, span)}`}${lasting > 0 && html`<br><b class="bad">still so at the end${objects > 1 && ` in ${counted(lasting, "object")}`}</b>`}</td></tr>
`

const changeRow = ({ time, namespace, label, what, isBad, fields, isCut }: Change, span: Span): Html =>
  html`<tr>${timeCell(time, span)}<td class="object">${placeText(namespace, label)}</td><td><div${isBad && html` class="bad"`}>${what}</div>${fields.length > 0 && html`<ul>${fields.map(([path, values]) => changedField(path, values))}${isCut && html`<li>and more</li>`}</ul>`}</td></tr>
`

const table = (columns: ReadonlyArray<string>, rows: ReadonlyArray<Html>): Html =>
  html`<div class="table stacked"><table><thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead><tbody>
${rows}</tbody></table></div>`

const timeCell = (time: number, span: Span): Html =>
  html`<td class="time"><time datetime="${isoText(time)}">${clockText(time, span)}</time></td>`

const placeText = (namespace: string, label: string): string =>
  shortened(namespace === "" ? label : `${namespace} ${label}`)

/**
 * A row for each object, below the object at the top of its owner chain. Bars are pictures without script or inline style, whose places and
 * colours are attributes: so they are also there where a server forbids the style of the page, as Jenkins does.
 */
class TimeLine {
  readonly #span: Span
  readonly #drawn = new Set<Part>()
  readonly #isShort: boolean
  /** How many parts have no room. */
  readonly left: number

  constructor(span: Span, stories: ReadonlyArray<LifeStory>) {
    this.#span = span
    const parts = stories.flatMap(({ rows }) => [...rows.values()].flat())
    for (const part of parts.slice(0, MOST_DRAWN)) this.#drawn.add(part)
    this.left = parts.length - this.#drawn.size
    this.#isShort = stories.reduce((sum, { rows }) => sum + rows.size, 0) <= MOST_OPEN_ROWS
  }

  rows(groups: ReadonlyArray<Group>, missing: ReadonlyArray<MissingPart>): ReadonlyArray<Html> {
    const { start, end } = this.#span
    const ticks = [0, 1, 2, 3, 4].map((quarter) => start + Math.round(((end - start) * quarter) / 4))
    // Five labels side by side fit on a phone without milliseconds.
    const fraction = end - start >= 20_000_000 ? -".000".length : undefined
    const axis = html`<div class="row axis"><span class="label quiet">UTC</span><span class="ticks">${ticks.map((time) => html`<span>${clockText(time, this.#span).slice(0, fraction)}</span> `)}</span></div>
`
    const lacking = missing.map(({ what, why, ...times }) =>
      this.#row(what, "", [bar(this.#span, { ...times, name: why, message: undefined, tone: "waiting" })]),
    )
    const owned = groups.flatMap((group, index) => [
      ...(index === 0 || groups[index - 1]?.namespace !== group.namespace
        ? [
            html`<h3>${group.namespace === "" ? "Objects without a namespace" : `Namespace ${shortened(group.namespace)}`}</h3>
`,
          ]
        : []),
      this.#group(group),
    ])
    return [axis, ...lacking, ...owned]
  }

  #group({ id, root, stories }: Group): Html {
    const isBad = stories.some(({ faults }) => faults.size > 0)
    const isOpen = isBad || this.#isShort
    const sorted = stories.toSorted(
      (one, other) => Number(other.isTop) - Number(one.isTop) || byName(one.subject.label, other.subject.label),
    )
    const owned = stories.filter(({ isTop }) => !isTop).length
    return html`<details id="${id}"${isOpen && html` open`}><summary>${shortened(root)}${isBad && html` <b class="bad">✖</b>`}${owned > 0 && html` <span class="quiet">owns ${owned}</span>`}</summary>
${sorted.flatMap((story) => this.#story(story))}</details>
`
  }

  #story({ subject, begun, ended, how, rows }: LifeStory): ReadonlyArray<Html> {
    const life = html`<rect class="life" ${placed(this.#span, begun, ended)} y="6" height="6" fill="#888" stroke="#888" opacity=".35"><title>${lastedText(how, begun, ended, this.#span)}</title></rect>`
    return [...rows].flatMap(([name, all]) => {
      const parts = all.filter((part) => this.#drawn.has(part))
      if (name !== "" && parts.length === 0) return []
      // What is bad is on top, so that nothing covers it.
      const bars = parts
        .toSorted((one, other) => Number(one.tone === "bad") - Number(other.tone === "bad"))
        .map((part) => bar(this.#span, part))
      return [
        this.#row(name || subject.label, name === "" ? "below" : "inner", [...(name === "" ? [life] : []), ...bars]),
      ]
    })
  }

  #row(label: string, level: string, drawn: ReadonlyArray<Html>): Html {
    return html`<div class="row"><span class="label ${level}">${shortened(label)}</span><svg class="lane" width="100%" height="18" aria-hidden="true">${drawn}</svg></div>
`
  }
}

const bar = (span: Span, { begin, end, name, message, tone }: Part): Html => {
  const what = message === undefined ? name : `${name}: ${message}`
  const at = placed(span, begin, end)
  const isNamed = shareOf(span, end) - shareOf(span, begin) >= LEAST_NAMED
  const text = html`<svg ${at} height="18" pointer-events="none"><text x="4" y="13" font-size="11" fill="${tone === "waiting" ? "#111" : "#fff"}">${name}</text></svg>`
  return html`<rect ${at} y="2" height="14" rx="2" fill="${colours[tone]}" stroke="${colours[tone]}"><title>${lastedText(what, begin, end, span)}</title></rect>${isNamed && text}`
}

const placed = (span: Span, begin: number, end: number): Html => {
  const [left, right] = [shareOf(span, begin), shareOf(span, end)]
  return html`x="${left.toFixed(3)}%" width="${Math.max(LEAST_WIDTH, right - left).toFixed(3)}%"`
}

/** In percent of the span. */
const shareOf = ({ start, end }: Span, time: number): number =>
  (Math.min(1, Math.max(0, (time - start) / (end - start))) || 0) * 100

/** `2025-11-21T00:00:00.000Z`; the nearest that a calendar has for times that no trace has. */
const isoText = (micros: number): string =>
  new Date(Math.min(Date.UTC(9999, 11, 31), Math.max(0, micros / 1000))).toISOString()

/** `03:12:05.250`; on a page of several days `11-21 03:12:05.250`. */
const clockText = (micros: number, { start, end }: Span): string =>
  isoText(micros)
    .slice(isoText(start).slice(0, 10) === isoText(end).slice(0, 10) ? 11 : 5, 23)
    .replace("T", " ")

/** `0.25 s`, `1,800 s`. */
const durationText = ({ start, end }: Span): string =>
  `${((end - start) / 1_000_000).toLocaleString("en-US", { maximumFractionDigits: 3 })} s`

/** `Running, 03:12:05.250 to 03:12:09.250 (4 s)`. */
const lastedText = (what: string, start: number, end: number, span: Span): string =>
  `${what}, ${clockText(start, span)} to ${clockText(end, span)} (${durationText({ start, end: Math.max(start, end) })})`

/** `1 object`, `2,000 objects`. */
const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? noun : noun === "life" ? "lives" : `${noun}s`}`
