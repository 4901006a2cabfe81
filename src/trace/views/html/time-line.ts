/**
 * The time line of a page: a row for each object, grouped by namespace and by the object at the top of the owner chain, with bars that need neither
 * a script nor a picture. What a bar shows is also its title, and the row's label says from when to when.
 */
import type { LifeStory, Mark, Part } from "./life-story.ts"
import { escaped, offsetText } from "./markup.ts"

/** From when to when the time line goes, in µs since the Unix epoch. */
export interface Span {
  readonly start: number
  /** After `start`. */
  readonly end: number
}

/** What the trace lacks, as rows at the top. */
export interface MissingRow {
  readonly label: string
  readonly begin: number
  readonly end: number
  readonly why: string
}

/** Ticks of the axis. */
const TICKS = 5

/** The rows, piece by piece. */
export function* timeLine(
  stories: ReadonlyArray<LifeStory>,
  missing: ReadonlyArray<MissingRow>,
  span: Span,
): Generator<string, void> {
  yield axis(span)
  if (missing.length > 0) {
    yield "<details open><summary>missing from the trace</summary>"
    for (const { label, begin, end, why } of missing)
      yield row(span, "", label, bar(span, { begin, end, name: why, tone: "bad" }, "bad"))
    yield "</details>"
  }
  const byNamespace = Map.groupBy(stories, ({ subject }) => subject.namespace)
  for (const namespace of [...byNamespace.keys()].toSorted()) {
    const title = namespace === "" ? "objects without a namespace" : `namespace ${namespace}`
    yield `<details open><summary>${escaped(title)}</summary>`
    const byRoot = Map.groupBy(byNamespace.get(namespace) ?? [], ({ root }) => root)
    for (const root of [...byRoot.keys()].toSorted()) yield* rowsBelow(root, byRoot.get(root) ?? [], span)
    yield "</details>"
  }
}

function* rowsBelow(root: string, stories: ReadonlyArray<LifeStory>, span: Span): Generator<string, void> {
  // An owner that the trace does not have still has a name.
  if (!stories.some(({ isTop }) => isTop)) yield row(span, "", root, "")
  const ordered = stories.toSorted(
    (one, other) => Number(other.isTop) - Number(one.isTop) || one.begun - other.begun || one.ended - other.ended,
  )
  for (const story of ordered) yield* rowsOf(story, span)
}

function* rowsOf(story: LifeStory, span: Span): Generator<string, void> {
  const { subject, begun, ended, how, isBad, phases, marks, isTop } = story
  // The phases of a pod show when it failed; it may be that there was no room for them.
  const classes = isBad && phases.length === 0 ? "life bad" : "life"
  const life = bar(span, { begin: begun, end: ended, name: how, tone: "good" }, classes, "")
  const drawn = [life, ...phases.map((part) => bar(span, part, part.tone)), ...marks.map((each) => mark(span, each))]
  yield row(span, isTop ? "" : "below", subject.label, drawn.join(""), { begin: begun, end: ended })
  for (const [name, parts] of story.containers)
    yield row(span, isTop ? "below" : "inner", name, parts.map((part) => bar(span, part, part.tone)).join(""))
}

const row = (
  span: Span,
  level: string,
  label: string,
  drawn: string,
  times?: { readonly begin: number; readonly end: number },
): string => {
  const when =
    times === undefined ? "" : `, ${offsetText(times.begin - span.start)} to ${offsetText(times.end - span.start)}`
  const title = `${escaped(label)}${when}`
  return `<div class="row"><div class="label ${level}" title="${title}">${title}</div><div class="lane">${drawn}</div></div>\n`
}

const bar = (span: Span, { begin, end, name }: Part, classes: string, shown: string = name): string => {
  const [left, right] = [share(span, begin), share(span, end)]
  const title = `${escaped(name)}, ${offsetText(begin - span.start)} to ${offsetText(end - span.start)}`
  const width = Math.max(0, right - left).toFixed(3)
  return `<span class="${classes}" style="left:${left.toFixed(3)}%;width:${width}%" title="${title}">${escaped(shown)}</span>`
}

const mark = (span: Span, { time, name }: Mark): string =>
  `<span class="mark" style="left:${share(span, time).toFixed(3)}%" title="${offsetText(time - span.start)}: ${escaped(name)}"></span>`

const axis = (span: Span): string => {
  const ticks = Array.from({ length: TICKS }, (_, index) => {
    const left = (index / TICKS) * 100
    return `<span style="left:${left}%">${offsetText(((span.end - span.start) * index) / TICKS)}</span>`
  })
  return `<div class="row axis"><div class="label"></div><div class="lane">${ticks.join("")}</div></div>\n`
}

/** In percent. */
const share = ({ start, end }: Span, time: number): number =>
  (Math.min(1, Math.max(0, (time - start) / (end - start))) || 0) * 100
