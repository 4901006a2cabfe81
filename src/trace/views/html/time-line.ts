/**
 * The time line of a page: a row for each object, below the object at the top of its owner chain. Bars are pictures without script or inline style, whose
 * places and colours are attributes: so they are also there where a server forbids the style of the page, as Jenkins does.
 */
import { type Html, html } from "../../../page/html.ts"
import { shortened } from "../../../page/shown-text.ts"
import type { Tone } from "./change-log.ts"
import type { LifeStory, Mark, Part } from "./life-story.ts"
import { clockText, dateText, hasSeveralDays, isoText, lastedText, type Span } from "./moments.ts"
import type { Newest } from "./newest.ts"

// The axis of a time line: round times by the clock, few enough to be read on a phone.

/** Steps between ticks, at most: with the narrowest phones they leave each label 90 pixels. */
const MOST_STEPS = 4

const MS = 1000
const SECOND = 1_000_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** µs between ticks. Each is at most three times the one before it, so that every span has one. */
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((count) => count * MS),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 30, 90, 180, 365, 730, 1825, 3650, 9125].map((count) => count * DAY),
]

/** In percent of the span. */
export const shareOf = ({ start, end }: Span, time: number): number =>
  (Math.min(1, Math.max(0, (time - start) / (end - start))) || 0) * 100

/** The times of the ticks, in µs since the Unix epoch. */
export const ticksOf = ({ start, end }: Span): ReadonlyArray<number> => {
  const step = steps.find((each) => (end - start) / each <= MOST_STEPS) ?? (end - start) / MOST_STEPS
  const first = Math.ceil(start / step) * step
  return Array.from({ length: MOST_STEPS + 1 }, (_, index) => first + index * step).filter((time) => time <= end)
}

/** The lane of the axis; its lines are the picture `grid`, which every lane uses. */
export const axis = (span: Span): Html => {
  const ticks = ticksOf(span)
  const [first = 0, second = first + SECOND] = ticks
  const lines = ticks.map((time) => {
    const at = `${shareOf(span, time).toFixed(2)}%`
    return html`<line x1="${at}" x2="${at}" y1="0" y2="100%" stroke="#888" stroke-opacity=".3"/>`
  })
  const labels = ticks.map((time) => {
    const at = shareOf(span, time)
    // None is outside of the lane.
    const anchor = at > 90 ? "end" : at < 10 ? "start" : "middle"
    return html`<text x="${at.toFixed(2)}%" y="13" text-anchor="${anchor}" fill="currentColor" font-size="10">${tickText(time, second - first, span)}</text>`
  })
  return html`<svg class="lane" width="100%" height="18" aria-hidden="true"><g id="grid">${lines}</g>${labels}</svg>`
}

const tickText = (time: number, step: number, span: Span): string => {
  if (step >= DAY) return dateText(time)
  const clock = isoText(time).slice(11, step >= MINUTE ? 16 : step >= SECOND ? 19 : 23)
  return hasSeveralDays(span) ? `${dateText(time).slice(5)} ${clock}` : clock
}

/** What the trace lacks, as rows at the top. */
export interface MissingRow {
  readonly label: string
  readonly begin: number
  readonly end: number
  readonly why: string
}

/** What is drawn. */
interface TimeLine {
  readonly span: Span
  /** The most important first: they are drawn as long as there is room. */
  readonly stories: ReadonlyArray<LifeStory>
  readonly missing: ReadonlyArray<MissingRow>
}

/** Bars and marks of all rows; browsers lay out some 20,000 elements within a second. */
const MOST_DRAWN = 20_000

/** Rows up to which nothing is folded. */
const MOST_OPEN_ROWS = 100

/** Percent of the width that a bar must have for its name. */
const LEAST_NAMED = 4

/** Percent. Without any width nothing is drawn, not even the outline that makes short bars visible. */
const LEAST_WIDTH = 0.001

/** With white text, or black for what waits, contrast is at least 4.5 to 1; against both grounds at least 3 to 1. */
const colours: Readonly<Record<Tone, string>> = { good: "#1a7f4b", waiting: "#d9a514", bad: "#cf3d33", over: "#67707d" }

/** Tells what one object owns from the rest. */
const groupKey = (namespace: string, root: string): string => JSON.stringify([namespace, root])

/** A time line, drawn piece by piece. */
export class DrawnTimeLine {
  readonly #line: TimeLine
  readonly #groups: ReadonlyMap<string, ReadonlyArray<LifeStory>>
  readonly #ids = new Map<string, string>()
  readonly #shown = new Map<Newest<unknown>, number>()
  readonly #rows: number
  #left = 0

  constructor(line: TimeLine) {
    this.#line = line
    const { stories } = line
    this.#groups = Map.groupBy(stories, ({ subject, root }) => groupKey(subject.namespace, root))
    for (const key of this.#groups.keys()) this.#ids.set(key, `g${this.#ids.size}`)
    this.#rows = stories.reduce((sum, { containers }) => sum + 1 + containers.size, 0)
    let room = MOST_DRAWN
    for (const { phases, marks, conditions, containers } of stories)
      for (const list of [phases, conditions, marks, ...containers.values()]) {
        const shown = Math.min(room, list.items().length)
        room -= shown
        this.#left += list.total - shown
        this.#shown.set(list, shown)
      }
  }

  /** How many bars and marks had no room. */
  get left(): number {
    return this.#left
  }

  /** The fragment of the rows of a group; `undefined`: they are not drawn. */
  idOf(namespace: string, root: string): string | undefined {
    return this.#ids.get(groupKey(namespace, root))
  }

  *pieces(): Generator<Html, void> {
    const { stories, missing, span } = this.#line
    yield html`<div class="row axis"><div class="label quiet">UTC</div>${axis(span)}</div>
`
    if (missing.length > 0) {
      yield html`<h3>Missing from the trace</h3>
${missing.map(({ label, begin, end, why }) =>
  this.#row(label, "", [bar(span, { begin, end, name: why, message: undefined, tone: "waiting" })], `${label}: ${why}`),
)}`
    }
    const byNamespace = Map.groupBy(stories, ({ subject }) => subject.namespace)
    for (const namespace of [...byNamespace.keys()].toSorted(byName)) {
      yield html`<h3>${namespace === "" ? "Objects without a namespace" : `Namespace ${shortened(namespace)}`}</h3>
`
      for (const root of [...new Set(byNamespace.get(namespace)?.map((story) => story.root))].toSorted(byName))
        yield* this.#group(namespace, root)
    }
  }

  /** The rows of an object at the top of an owner chain and of all that it owns. */
  *#group(namespace: string, root: string): Generator<Html, void> {
    const stories = this.#groups.get(groupKey(namespace, root)) ?? []
    // Several are one after another: each had the name of the one before it.
    const tops = stories.filter(({ isTop }) => isTop)
    const others = stories
      .filter(({ isTop }) => !isTop)
      .toSorted((one, other) => one.begun - other.begun || one.subject.number - other.subject.number)
    const id = this.idOf(namespace, root) ?? ""
    const isBad = stories.some((story) => story.isBad)
    const owned = others.length === 0 ? "" : ` owns ${others.length}`
    // An owner that the trace does not have still has a name.
    const label = html`<span class="label">${shortened(root)}${isBad && html` <b class="bad" role="img" aria-label="something went wrong">✖</b>`}<span class="quiet">${owned}</span></span>`
    const head = html`${label}${this.#svg(
      tops.flatMap((top) => this.#lane(top)),
      tops.map((top) => this.#words(top)).join("; "),
    )}`
    if (others.length === 0 && tops.every(({ containers }) => containers.size === 0)) {
      yield html`<div class="row" id="${id}">${head}</div>
`
      return
    }
    const isOpen = isBad || this.#rows <= MOST_OPEN_ROWS
    yield html`<details id="${id}"${isOpen && html` open`}><summary class="row">${head}</summary>
`
    for (const top of tops) yield* this.#containers(top, "below")
    for (const story of others) {
      yield this.#row(story.subject.label, "below", this.#lane(story), this.#words(story))
      yield* this.#containers(story, "inner")
    }
    yield html`</details>
`
  }

  *#containers({ containers }: LifeStory, level: string): Generator<Html, void> {
    for (const [name, list] of containers) {
      const parts = this.#items(list)
      // There was no room: a pod of a damaged trace may have any number of containers.
      if (parts.length === 0) continue
      yield this.#row(name, level, this.#bars(parts), parts.map((part) => part.name).join(", "))
    }
  }

  #lane(story: LifeStory): ReadonlyArray<Html> {
    const { span } = this.#line
    const { begun, ended, how, phases, conditions, marks } = story
    const title = lastedText(how, begun, ended, span)
    const life = html`<rect class="life" ${placed(span, begun, ended)} y="6" height="6" fill="#888" stroke="#888" opacity=".35"><title>${title}</title></rect>`
    const bars = this.#bars([...this.#items(phases), ...this.#items(conditions)])
    return [life, ...bars, ...this.#items(marks).map((each) => mark(span, each))]
  }

  /** What is bad is on top, so that nothing covers it. */
  #bars(parts: ReadonlyArray<Part>): ReadonlyArray<Html> {
    return parts
      .toSorted((one, other) => Number(one.tone === "bad") - Number(other.tone === "bad"))
      .map((part) => bar(this.#line.span, part))
  }

  #words({ begun, ended, phases, conditions, subject: { label } }: LifeStory): string {
    const names = [...this.#items(phases), ...this.#items(conditions)].map(({ name }) => name)
    return lastedText([label, ...names].join(", "), begun, ended, this.#line.span)
  }

  #row(label: string, level: string, drawn: ReadonlyArray<Html>, words: string): Html {
    return html`<div class="row"><span class="label ${level}">${shortened(label)}</span>${this.#svg(drawn, words)}</div>
`
  }

  #svg(drawn: ReadonlyArray<Html>, words: string): Html {
    return html`<svg class="lane" width="100%" height="18" role="img" aria-label="${shortened(words)}"><use href="#grid"/>${drawn}</svg>`
  }

  #items<Item>(list: Newest<Item>): ReadonlyArray<Item> {
    return list.items(this.#shown.get(list) ?? 0)
  }
}

/** `web-2` before `web-10`. */
const byName = new Intl.Collator("en", { numeric: true }).compare

const placed = (span: Span, begin: number, end: number): Html => {
  const [left, right] = [shareOf(span, begin), shareOf(span, end)]
  return html`x="${left.toFixed(3)}%" width="${Math.max(LEAST_WIDTH, right - left).toFixed(3)}%"`
}

const bar = (span: Span, { begin, end, name, message, tone }: Part): Html => {
  const what = message === undefined ? name : `${name}: ${message}`
  const at = placed(span, begin, end)
  const isNamed = shareOf(span, end) - shareOf(span, begin) >= LEAST_NAMED
  const [top, height] = tone === "bad" ? [1, 16] : [3, 12]
  const text = html`<svg ${at} height="18" pointer-events="none"><text x="4" y="13" font-size="11" fill="${tone === "waiting" ? "#111" : "#fff"}">${name}</text></svg>`
  return html`<rect ${at} y="${top}" height="${height}" rx="2" fill="${colours[tone]}" stroke="${colours[tone]}"><title>${lastedText(what, begin, end, span)}</title></rect>${isNamed && text}`
}

const mark = (span: Span, { time, name }: Mark): Html => {
  const at = `${shareOf(span, time).toFixed(3)}%`
  return html`<line x1="${at}" x2="${at}" y1="0" y2="18" stroke="currentColor" stroke-width="2"><title>${clockText(time, span)}: ${name}</title></line>`
}
