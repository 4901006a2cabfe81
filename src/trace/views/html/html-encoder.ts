/**
 * Writes a trace as one page of HTML that shows what happened: what went wrong, a time line of the lives of objects, pods and containers,
 * and a list of changes with the fields that differ. For tests, for post-mortems, and for traces of hours rather than weeks.
 *
 * Guaranteed: the page needs no script and no network, and everything from the trace is escaped. It is bounded, whatever the length of the
 * trace, and says what it leaves out, and what the trace lacks.
 *
 * Memory: that of {@link Lives}, what is drawn of each life that has not ended, and what the page shows.
 */
import { type LeftOut, nothingLeftOut, type TraceEncoder } from "../../formats/format.ts"
import type { OwnedLifecycles, TraceItem } from "../../trace-item.ts"
import { listedLives, listedOwner } from "../lives/life-sketch.ts"
import { Lives } from "../lives/lives.ts"
import { type Change, LifeStory } from "./life-story.ts"
import { type MissingPart, MOST_CHANGES, tracePage } from "./trace-page.ts"

/** Objects with a row: those in which something went wrong, then those in which something happened last. */
const MOST_OBJECTS = 1000
/** Gaps, and kinds that were not watched, with a row. */
const MOST_MISSING = 200

/** What a page is called. */
export interface HtmlOptions {
  /** Default: that it shows a cluster. */
  readonly title?: string
}

/** One encoder for one trace. */
export const htmlEncoder = (options: HtmlOptions = {}): TraceEncoder => new HtmlEncoder(options)

class HtmlEncoder implements TraceEncoder {
  readonly leftOut: LeftOut = nothingLeftOut
  readonly #title: string
  readonly #missing: MissingPart[] = []
  readonly #alive = new Set<LifeStory>()
  #ended: LifeStory[] = []
  #changes: Change[] = []
  readonly #totals = { objects: 0, changes: 0, missing: 0, unownedLives: 0 }
  readonly #lives = new Lives<LifeStory>({
    view: "html",
    sketch: (subject) => {
      this.#totals.objects++
      const story = new LifeStory(subject, {
        changed: (change) => this.#changed(change),
        gone: () => this.#gone(story),
      })
      this.#alive.add(story)
      return story
    },
  })

  constructor({ title = "What happened in the cluster" }: HtmlOptions) {
    this.#title = title
  }

  add(item: TraceItem): void {
    this.#lives.add(item)
    if (item.type === "lifecycles") this.#listed(item)
    else if (item.type === "event" && item.event.type === "gap") {
      const { gvk, namespace, fromTime, toTime, reason, detail } = item.event
      this.#lacks({
        what: `gap: ${placeOf(gvk, namespace)}`,
        begin: fromTime,
        end: toTime,
        why: `${reason}: ${detail}`,
      })
    }
  }

  take(): undefined {
    return undefined
  }

  *finish(): Generator<Uint8Array> {
    const [start, end] = [this.#lives.beginning(), this.#lives.end()]
    for (const _ of this.#lives.finish()) {
      // The page comes when all lives have ended.
    }
    for (const { gvk, namespace = "", state } of this.#lives.header.incomplete)
      this.#lacks({
        ...{ what: `incomplete: ${placeOf(gvk, namespace)}`, begin: start, end },
        why: `the kind was not watched: ${state}`,
      })
    const page = tracePage({
      title: this.#title,
      span: { start, end: Math.max(end, start + 1) },
      stories: important([...this.#ended, ...this.#alive]),
      missing: this.#missing,
      // For containers, times may differ from the order in which they were seen.
      changes: this.#changes.slice(-MOST_CHANGES).sort((one, other) => one.time - other.time),
      totals: this.#totals,
    })
    yield Buffer.from(page)
  }

  #changed(change: Change): void {
    this.#totals.changes++
    this.#changes.push(change)
    if (this.#changes.length >= 2 * MOST_CHANGES) this.#changes = this.#changes.slice(-MOST_CHANGES)
  }

  #gone(story: LifeStory): void {
    this.#alive.delete(story)
    this.#ended.push(story)
    if (this.#ended.length >= 2 * MOST_OBJECTS) this.#ended = important(this.#ended)
  }

  #listed(lifecycles: OwnedLifecycles): void {
    const { owner, namespace } = listedOwner(lifecycles)
    const story = this.#lives.ownerOf(owner, namespace)
    for (const { name, begin, end } of listedLives(lifecycles, this.#lives.beginning(), this.#lives.end()))
      if (story === undefined) this.#totals.unownedLives++
      else story.addListed(name, begin, end)
  }

  #lacks(part: MissingPart): void {
    this.#totals.missing++
    if (this.#missing.length < MOST_MISSING) this.#missing.push(part)
  }
}

/** Those that have a row. */
const important = (stories: ReadonlyArray<LifeStory>): LifeStory[] =>
  stories
    .toSorted(
      (one, other) =>
        Number(other.faults.size > 0) - Number(one.faults.size > 0) || other.lastActivity - one.lastActivity,
    )
    .slice(0, MOST_OBJECTS)

const placeOf = (gvk: string, namespace: string): string => (namespace === "" ? gvk : `${gvk} in ${namespace}`)
