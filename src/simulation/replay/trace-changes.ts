/**
 * A trace as a replay reads it: the state at its start, each object once in dependency order, then what changes.
 * Memory is that of the state and of one chunk. Gaps are passed on: a replay of what was not recorded cannot be
 * faithful.
 */

import {
  type GapEvent,
  inDependencyOrder,
  type ObjectEvent,
  type OwnedLifecycles,
  type PodLifecycle,
  type TraceHeader,
  type TraceItem,
} from "../../trace/index.ts"
import { OutsideTrace } from "./replay-root.ts"

/** A state of one object, or its deletion. */
export interface TraceChange {
  /** µs since the Unix epoch. */
  readonly time: number
  readonly gvk: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
  /** JSON with memory of its own; `undefined`: it was deleted. */
  readonly object: Uint8Array | undefined
}

/** A trace in the pieces that a replay needs. Bytes have memory of their own. */
export type TracePart =
  /** SimKube's `config`, which says where pod templates are; may come at any time. */
  | { readonly type: "config"; readonly config: Uint8Array }
  /** Comes once, before all changes. */
  | {
      readonly type: "beginning"
      readonly header: TraceHeader | undefined
      /** µs since the Unix epoch: the moment that is replayed first. */
      readonly time: number
      readonly objects: ReadonlyArray<TraceChange>
    }
  | { readonly type: "change"; readonly change: TraceChange }
  | { readonly type: "gap"; readonly gap: GapEvent }
  /** Lives of pods, also of pods that lived outside the window; may come after the end. */
  | { readonly type: "lives"; readonly owned: OwnedLifecycles }
  /** µs since the Unix epoch; comes once, after all changes. */
  | { readonly type: "end"; readonly time: number }

/** The part of a trace to replay, in µs since the Unix epoch. */
export interface ReplayWindow {
  /** Default: the start of the trace. */
  readonly from: number | undefined
  /** Exclusive. Default: the end of the trace. */
  readonly to: number | undefined
  /** µs after the first moment at which the replay ends, if that is before `to`. */
  readonly duration: number | undefined
  /** µs since the Unix epoch. A trace whose window ends later has no end of its own: the future is in no recording. */
  readonly now: number
}

/**
 * Reads items; stops as soon as the window is over, unless `readsOn` is set and lives of pods may follow. Throws {@link OutsideTrace}, and
 * what the items throw.
 */
export async function* traceChanges(
  items: AsyncIterable<Iterable<TraceItem>>,
  window: ReplayWindow,
  readsOn = false,
): AsyncGenerator<ReadonlyArray<TracePart>, void> {
  const reader = new ChangeReader(window)
  let isEnded = false
  for await (const chunk of items) {
    const parts: TracePart[] = []
    for (const item of chunk) if (!reader.add(item, parts) && !(readsOn && reader.mayHaveLives)) break
    const readsFurther = readsOn && reader.mayHaveLives
    if (reader.isOver && readsFurther && !isEnded) {
      isEnded = true
      parts.push(...reader.end())
    }
    if (parts.length > 0) yield parts
    if (reader.isOver && !readsFurther) break
  }
  if (!isEnded) yield reader.end()
}

class ChangeReader {
  readonly #window: ReplayWindow
  /** The objects that exist before the start, by kind and then by place. */
  readonly #state = new Map<string, Map<string, TraceChange>>()
  #header: TraceHeader | undefined
  /** The first moment, once it is known. */
  #start: number | undefined
  #hasBegun = false
  #last = 0
  /** Whether the last moment of the trace has no change: it marks the end. */
  #isEndMarked = false
  isOver = false
  /** Whether lifecycles may come after the changes: the header says so, or it is a trace of SimKube's. */
  mayHaveLives = false

  constructor(window: ReplayWindow) {
    this.#window = window
    this.#start = window.from
  }

  /** Returns whether more items are wanted; once the window is over, only lives are of interest. */
  add(item: TraceItem, parts: TracePart[]): boolean {
    if (this.isOver) {
      if (item.type === "lifecycles") parts.push({ type: "lives", owned: item })
      return false
    }
    switch (item.type) {
      case "header":
        this.#header = item
        this.mayHaveLives ||= item.hasLifecycles === true
        this.#checkWindow(item.window)
        return true
      case "config":
        this.mayHaveLives = true
        parts.push({ type: "config", config: Uint8Array.from(item.config) })
        return true
      case "batch":
        this.#isEndMarked = true
        return this.#reach(item.time, false, parts)
      case "event":
        return this.#event(item.event, item.isSnapshot, parts)
      case "lifecycles":
        this.#outlast(item.pods.values())
        parts.push({ type: "lives", owned: item })
        return true
      default:
        return true
    }
  }

  end(): ReadonlyArray<TracePart> {
    const parts: TracePart[] = []
    if (!this.#hasBegun) this.#begin(this.#start ?? this.#last, parts)
    const windowEnd = this.#header?.window?.end ?? 0
    const ownEnd = windowEnd <= this.#window.now ? Math.max(windowEnd, this.#last) : this.#last
    parts.push({ type: "end", time: Math.max(this.#start ?? 0, Math.min(ownEnd, this.#limit)) })
    return parts
  }

  /** A trace of SimKube's own ends with its last change, and pods may end later (W-34). */
  #outlast(pods: Iterable<ReadonlyArray<PodLifecycle>>): void {
    if (this.#header?.window !== undefined || this.#isEndMarked) return
    for (const lives of pods)
      for (const life of lives) if (life.state === "finished") this.#last = Math.max(this.#last, life.end * 1_000_000)
  }

  get #limit(): number {
    const { to = Number.POSITIVE_INFINITY, duration } = this.#window
    return duration === undefined || this.#start === undefined ? to : Math.min(to, this.#start + duration)
  }

  #event(event: ObjectEvent | GapEvent, isSnapshot: boolean, parts: TracePart[]): boolean {
    if (event.type === "gap") {
      if (event.toTime < (this.#start ?? 0)) return true
      parts.push({ type: "gap", gap: { ...event } })
      return true
    }
    this.#isEndMarked = false
    const { time, gvk, namespace, name, action } = event
    const object = action === "applied" ? Uint8Array.from(event.object) : undefined
    const change = { time, gvk, namespace, name, object }
    if ((isSnapshot && !this.#hasBegun) || (this.#start !== undefined && time < this.#start)) {
      this.#fold(change)
      // The snapshot has the times at which its objects were last changed.
      if (!isSnapshot) this.#last = Math.max(this.#last, time)
      return true
    }
    if (!this.#reach(time, true, parts)) return false
    parts.push({ type: "change", change })
    return true
  }

  /** What is requested has to overlap the window of the trace, and starts with it at the earliest. */
  #checkWindow(own: TraceHeader["window"]): void {
    if (own === undefined) return
    const { from, to, now } = this.#window
    const isOutside = (from !== undefined && own.end <= now && from >= own.end) || (to !== undefined && to <= own.start)
    if (isOutside) throw new OutsideTrace({ start: own.start, end: own.end })
    // A window from 0 on means from the start of the recording.
    if (own.start > 0) this.#start = Math.max(own.start, from ?? 0)
  }

  /** Returns false if the window is over. The objects of SimKube's first batch follow it and are the state at its time. */
  #reach(time: number, isChange: boolean, parts: TracePart[]): boolean {
    this.#start ??= time
    // Without a window of its own, a trace starts with the first time in it.
    if (this.#last === 0 && this.#header?.window === undefined) this.#start = Math.max(this.#start, time)
    if (time >= this.#limit) {
      this.isOver = true
      this.#last = this.#limit
      return false
    }
    this.#last = Math.max(this.#last, time)
    if (isChange || time > this.#start) this.#begin(this.#start, parts)
    return true
  }

  #begin(time: number, parts: TracePart[]): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const objects = inDependencyOrder(this.#state.keys()).flatMap((gvk) => [...(this.#state.get(gvk)?.values() ?? [])])
    this.#state.clear()
    parts.push({ type: "beginning", header: this.#header, time, objects })
  }

  #fold(change: TraceChange): void {
    const place = `${change.namespace}/${change.name}`
    const ofKind = this.#state.get(change.gvk) ?? new Map<string, TraceChange>()
    this.#state.set(change.gvk, ofKind)
    if (change.object === undefined) ofKind.delete(place)
    else ofKind.set(place, change)
  }
}
