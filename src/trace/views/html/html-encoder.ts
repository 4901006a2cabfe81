/**
 * Writes a trace as one page of HTML that shows what happened: a time line of the lives of objects, pods and containers, what went wrong,
 * and a list of changes with the fields that differ. For tests, for post-mortems, and for traces of hours rather than weeks.
 *
 * Guaranteed: the page needs no script and no network, and everything from the trace is escaped. It is bounded, whatever the length
 * of the trace, and says what it leaves out. Gaps, and kinds that were not watched, are rows of the time line.
 *
 * Memory: that of {@link Lives}, what is drawn of each life that has not ended, and what the page shows.
 */
import { type LeftOut, nothingLeftOut, type TraceEncoder } from "../../formats/format.ts"
import type { OwnedLifecycles } from "../../formats/simkube/simkube-trace.ts"
import type { TraceItem } from "../../trace-item.ts"
import { listedLives, listedOwner } from "../lives/listed-lives.ts"
import { Lives } from "../lives/lives.ts"
import { ChangeLog } from "./change-log.ts"
import { Faults } from "./faults.ts"
import { LifeStory } from "./life-story.ts"
import { page } from "./page.ts"
import type { MissingRow } from "./time-line.ts"

// Which lives a page draws: those in which something went wrong, and then those in which something happened last, as the list of changes has the
// newest. What only existed comes last.
//
// Memory: lives that have not ended, and {@link MOST_OBJECTS} that have.

/** Objects with a row. */
const MOST_OBJECTS = 1000

/** The lives of one trace. */
class DrawnStories {
  readonly #alive = new Set<LifeStory>()
  /** In the order in which they ended. */
  readonly #endedCalm = new Set<LifeStory>()
  readonly #endedBad = new Set<LifeStory>()
  #total = 0

  /** How many there were. */
  get total(): number {
    return this.#total
  }

  begin(story: LifeStory): void {
    this.#total++
    this.#alive.add(story)
  }

  end(story: LifeStory): void {
    this.#alive.delete(story)
    const ended = story.isBad ? this.#endedBad : this.#endedCalm
    ended.add(story)
    if (this.#endedCalm.size + this.#endedBad.size <= MOST_OBJECTS) return
    const leaving = this.#endedCalm.size > 0 ? this.#endedCalm : this.#endedBad
    for (const oldest of leaving) {
      leaving.delete(oldest)
      return
    }
  }

  /** Those that are drawn, the most important first. */
  chosen(): ReadonlyArray<LifeStory> {
    return [...this.#endedBad, ...this.#endedCalm, ...this.#alive]
      .sort((one, other) => Number(other.isBad) - Number(one.isBad) || other.lastActivity - one.lastActivity)
      .slice(0, MOST_OBJECTS)
  }
}

/** Gaps and kinds with a row. */
const MOST_MISSING = 200
/** Characters of a piece. */
const PIECE = 64 * 1024

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
  readonly #log = new ChangeLog()
  readonly #faults = new Faults()
  readonly #stories = new DrawnStories()
  readonly #missing: MissingRow[] = []
  #moreMissing = 0
  #unownedLives = 0
  readonly #lives = new Lives<undefined, LifeStory>({
    view: "html",
    lanes: { takeRoot: () => undefined, release: () => undefined },
    sketch: (subject) => {
      const story = new LifeStory(subject, {
        log: this.#log,
        faults: this.#faults,
        onGone: (gone) => this.#stories.end(gone),
      })
      this.#stories.begin(story)
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
      this.#addMissing(`gap: ${placeOf(gvk, namespace)}`, fromTime, toTime, `${reason}: ${detail}`)
    }
  }

  take(): undefined {
    return undefined
  }

  *finish(): Generator<Uint8Array> {
    const end = this.#lives.end()
    for (const _ of this.#lives.finish()) {
      // The page comes when all lives have ended.
    }
    const start = this.#lives.beginning()
    for (const { gvk, namespace = "", state } of this.#lives.header.incomplete)
      this.#addMissing(`incomplete: ${placeOf(gvk, namespace)}`, start, end, `the kind was not watched: ${state}`)
    let piece = ""
    const texts = page({
      title: this.#title,
      span: { start, end: Math.max(end, start + 1) },
      stories: this.#stories.chosen(),
      totalObjects: this.#stories.total,
      unownedLives: this.#unownedLives,
      missing: this.#missing,
      moreMissing: this.#moreMissing,
      faults: this.#faults,
      changes: this.#log.newest(),
      totalChanges: this.#log.total,
    })
    for (const text of texts) {
      piece += text
      if (piece.length < PIECE) continue
      yield Buffer.from(piece)
      piece = ""
    }
    yield Buffer.from(piece)
  }

  #listed(lifecycles: OwnedLifecycles): void {
    const { owner, namespace } = listedOwner(lifecycles)
    const story = this.#lives.ownerOf(owner, namespace)
    for (const { name, begin, end } of listedLives(lifecycles, this.#lives.beginning(), this.#lives.end()))
      if (story === undefined) this.#unownedLives++
      else story.addListed(name, begin, end)
  }

  #addMissing(label: string, begin: number, end: number, why: string): void {
    if (this.#missing.length < MOST_MISSING) this.#missing.push({ label, begin, end: Math.max(begin, end), why })
    else this.#moreMissing++
  }
}

const placeOf = (gvk: string, namespace: string): string => (namespace === "" ? gvk : `${gvk} in ${namespace}`)
