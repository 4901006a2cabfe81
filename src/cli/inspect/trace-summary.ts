/**
 * What a trace has, counted in one pass.
 *
 * Memory: the names of the objects that exist, an entry for each kind and namespace, and what is listed (the largest objects, the first gaps). Not the
 * events.
 *
 * An object is created by its first event, if it did not exist at the start and was not there before; later states are changes. Formats without a state at
 * the start, such as SimKube's, have the objects that existed then as created in their first event.
 */
import type { GapEvent, IncompletePart, LateChanges, ObjectEvent, TraceHeader, TraceItem } from "../../trace/index.ts"
import { PodTimes, type PodTimesSummary } from "./pod-times.ts"
import { type HistogramBar, TimeHistogram } from "./time-histogram.ts"

// The objects whose largest state is largest, and the bytes of all states by kind. Memory: a few names, whatever the trace.

/** An object and the size of its largest state in bytes of JSON. */
interface LargeObject {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  readonly bytes: number
}

/** Add the size of every state, then take {@link list}. */
export class LargestObjects {
  readonly #most: number
  #largest: LargeObject[] = []

  constructor(most: number) {
    this.#most = most
  }

  add(gvk: string, namespace: string, name: string, bytes: number): void {
    if (this.#largest.length === this.#most && bytes <= (this.#largest.at(-1)?.bytes ?? 0)) return
    const others = this.#largest.filter((each) => {
      const isSame = each.gvk === gvk && each.namespace === namespace && each.name === name
      return !isSame || each.bytes > bytes
    })
    const isListed = others.some((each) => each.gvk === gvk && each.namespace === namespace && each.name === name)
    if (isListed) return
    others.push({ gvk, namespace, name, bytes })
    this.#largest = others.sort((one, other) => other.bytes - one.bytes).slice(0, this.#most)
  }

  /** The largest first. */
  list(): ReadonlyArray<LargeObject> {
    return this.#largest
  }
}

/** Events of one kind or namespace, and objects that exist. */
export interface EventCounts {
  readonly atStart: number
  readonly created: number
  readonly changed: number
  readonly deleted: number
  readonly atEnd: number
  /** Of all states, JSON without compression. */
  readonly bytes: number
}

/** Counts of a kind, or of a namespace; the empty name is that of objects without a namespace. */
export interface NamedCounts extends EventCounts {
  readonly name: string
}

/** Times are µs since the Unix epoch. */
export interface TraceSummary {
  readonly header: TraceHeader | undefined
  /** Times of the first and the last event; `undefined` if there is none besides the state at the start. */
  readonly first: number | undefined
  readonly last: number | undefined
  readonly all: EventCounts
  /** The ones with most bytes first. */
  readonly kinds: ReadonlyArray<NamedCounts>
  /** The ones with most events first. */
  readonly namespaces: ReadonlyArray<NamedCounts>
  /** Deletions that no watch reported: the object was absent from a list. They are among the deleted ones. */
  readonly vanished: number
  readonly pods: PodTimesSummary
  readonly largest: ReadonlyArray<LargeObject>
  readonly bars: ReadonlyArray<HistogramBar>
  readonly gaps: { readonly count: number; readonly listed: ReadonlyArray<GapEvent> }
  readonly late: ReadonlyArray<LateChanges>
  readonly incomplete: ReadonlyArray<IncompletePart>
}

/** Objects that are listed as the largest. */
const mostLargest = 10

/** Gaps that are listed; further ones are counted. */
const mostGaps = 100

/** Bars of the histogram: they fit into a line of 80 columns. */
const mostBars = 64

type Counts = { -readonly [Name in keyof EventCounts]: number }

const noCounts = (): Counts => ({ atStart: 0, created: 0, changed: 0, deleted: 0, atEnd: 0, bytes: 0 })

/** Add every item in order, then take the {@link summary}. */
export class TraceSummarizer {
  readonly #kinds = new Map<string, Counts>()
  readonly #namespaces = new Map<string, Counts>()
  readonly #all = noCounts()
  /** UIDs by kind and name. */
  readonly #alive = new Map<string, string>()
  readonly #pods = new PodTimes()
  readonly #largest = new LargestObjects(mostLargest)
  readonly #histogram = new TimeHistogram()
  readonly #gaps: GapEvent[] = []
  #gapCount = 0
  #vanished = 0
  #header: TraceHeader | undefined
  #first: number | undefined
  #last: number | undefined

  add(item: TraceItem): void {
    if (item.type === "header") this.#header = item
    else if (item.type === "lifecycles") this.#pods.told(item)
    else if (item.type === "batch") this.#at(item.time)
    else if (item.type === "event") {
      if (item.event.type === "object") this.#object(item.event, item.isSnapshot)
      else if (this.#gapCount++ < mostGaps) this.#gaps.push({ ...item.event })
    }
  }

  /** The summary of what was added. */
  summary(): TraceSummary {
    const end = this.#header?.window?.end ?? this.#last ?? 0
    const named = (counts: ReadonlyMap<string, Counts>) => [...counts].map(([name, each]) => ({ name, ...each }))
    const weight = ({ created, changed, deleted, atStart }: EventCounts): number =>
      created + changed + deleted + atStart / 1e9
    return {
      header: this.#header,
      ...{ first: this.#first, last: this.#last, all: this.#all, vanished: this.#vanished },
      kinds: named(this.#kinds).sort((one, other) => other.bytes - one.bytes),
      namespaces: named(this.#namespaces).sort((one, other) => weight(other) - weight(one)),
      pods: this.#pods.summary(Math.floor(end / 1_000_000)),
      largest: this.#largest.list(),
      bars: this.#histogram.bars(mostBars),
      gaps: { count: this.#gapCount, listed: this.#gaps },
      late: this.#header?.late ?? [],
      incomplete: this.#header?.incomplete ?? [],
    }
  }

  #at(time: number): void {
    this.#first = Math.min(this.#first ?? time, time)
    this.#last = Math.max(this.#last ?? time, time)
  }

  #object(event: ObjectEvent, isSnapshot: boolean): void {
    const { gvk, namespace, name, uid, action, object, time } = event
    const key = `${gvk}\n${namespace}\n${name}`
    const before = this.#alive.get(key)
    this.#pods.observe(event)
    if (object.length > 0) this.#largest.add(gvk, namespace, name, object.length)
    const counted = [this.#all, countsOf(this.#kinds, gvk), countsOf(this.#namespaces, namespace)]
    const count = (change: (counts: Counts) => void): void => {
      for (const each of counted) change(each)
    }
    count((each) => {
      each.bytes += object.length
    })
    if (isSnapshot) {
      this.#alive.set(key, uid)
      count((each) => {
        each.atStart++
        if (before === undefined) each.atEnd++
      })
      return
    }
    this.#at(time)
    this.#histogram.add(time)
    if (action === "applied") {
      const isKnown = before !== undefined && before === uid
      this.#alive.set(key, uid)
      count((each) => {
        if (isKnown) each.changed++
        else each.created++
        if (before === undefined) each.atEnd++
      })
      return
    }
    if (action === "vanished") this.#vanished++
    // The deletion of an object may be reported after its successor's creation.
    const isGone = before !== undefined && (before === uid || uid === "")
    if (isGone) this.#alive.delete(key)
    count((each) => {
      each.deleted++
      if (isGone) each.atEnd--
    })
  }
}

const countsOf = (all: Map<string, Counts>, name: string): Counts => {
  const known = all.get(name)
  if (known !== undefined) return known
  const counts = noCounts()
  all.set(name, counts)
  return counts
}
