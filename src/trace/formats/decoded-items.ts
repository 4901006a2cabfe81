/**
 * A trace as its items, from its bytes.
 *
 * A window that starts at 0 means: from the beginning of the recording. Exports name that moment, and begin with the state at it. Of traces that
 * do not, it is the time of the first event; and what existed before belongs to the state at the start, although it comes in the order in which a recorder's first lists arrived,
 * kind by kind: Pods before their ReplicaSets, custom objects before their definitions.
 */
import type { ObjectEvent } from "../event.ts"
import { inDependencyOrder } from "../ownership/dependency-order.ts"
import { metadataIn } from "../sanitising/managed-fields.ts"
import type { TraceItem } from "../trace-item.ts"
import type { TraceDecoder } from "./format.ts"

/**
 * Chunks of items. Iterate each chunk before the next is taken; bytes in items are valid until the next item.
 *
 * Throws BadTraceError, and any error of the source.
 */
export type TraceItems = AsyncIterable<Iterable<TraceItem>>

/** The items of a trace's bytes, as they arrive. */
export async function* decodedItems(
  bytes: AsyncIterable<Uint8Array>,
  decoder: TraceDecoder,
): AsyncGenerator<Iterable<TraceItem>, void> {
  const beginning = new FoundBeginning()
  for await (const chunk of bytes) yield beginning.isOver ? decoder.push(chunk) : beginning.take(decoder.push(chunk))
  yield beginning.take(decoder.end())
  yield beginning.end()
}

/** µs of the trace, and bytes of its objects, in which first lists are looked for. Lists of a start end within seconds. */
const longestLists = 60_000_000
const mostBytes = 64 * 1024 * 1024

type EventItem = Extract<TraceItem, { type: "event" }>

/** Passes on a trace with a beginning unchanged. Of one whose window starts at 0, holds what may belong to the first lists. */
class FoundBeginning {
  isOver = false
  #header: Extract<TraceItem, { type: "header" }> | undefined
  /** Time of the first event that is not of a state at the start, µs since the Unix epoch. */
  #first: number | undefined
  readonly #state: EventItem[] = []
  readonly #rest: TraceItem[] = []
  readonly #seen = new Set<string>()
  #bytes = 0;

  *take(items: Iterable<TraceItem>): Generator<TraceItem, void> {
    for (const item of items) {
      if (this.isOver) yield item
      else if (this.#header !== undefined) {
        if (this.#hold(item)) continue
        yield* this.end()
        yield item
      } else if (item.type === "header" && item.window?.start === 0) this.#header = item
      else {
        this.isOver = true
        yield item
      }
    }
  }

  /** What is held, with the beginning that was found. */
  *end(): Generator<TraceItem, void> {
    if (this.isOver) return
    this.isOver = true
    const header = this.#header
    if (header?.window === undefined) return
    const { end } = header.window
    const start = this.#first ?? Math.min(end, Math.max(...this.#state.map(({ event }) => event.time)) + 1)
    yield { ...header, window: { start: Number.isFinite(start) ? start : end, end }, livesFrom: 0 }
    const byKind = Map.groupBy(this.#state, ({ event }) => event.gvk)
    for (const gvk of inDependencyOrder(byKind.keys()))
      for (const { event } of byKind.get(gvk) ?? [])
        yield { type: "event", event: { ...event, time: Math.min(event.time, start) }, isSnapshot: true }
    yield* this.#rest
  }

  /** Returns whether the first lists may continue. */
  #hold(item: TraceItem): boolean {
    if (item.type !== "event") return this.#rest.push(item) > 0
    const { event } = item
    if (event.type === "gap") return this.#rest.push({ ...item, event: { ...event } }) > 0
    if (!item.isSnapshot) this.#first ??= event.time
    this.#bytes += event.object.length
    if (event.time > (this.#first ?? event.time) + longestLists || this.#bytes > mostBytes) return false
    const kept = { ...item, event: { ...event, object: Uint8Array.from(event.object) } }
    if (item.isSnapshot || this.#isListed(event)) this.#state.push(kept)
    else this.#rest.push(kept)
    return true
  }

  /** Whether it is the first that the trace has of an object that is older than the trace. */
  #isListed(event: ObjectEvent): boolean {
    const key = `${event.gvk} ${event.uid === "" ? `${event.namespace}/${event.name}` : event.uid}`
    if (this.#seen.has(key)) return false
    this.#seen.add(key)
    return event.action === "applied" && createdAt(event.object) <= (this.#first ?? event.time)
  }
}

/** µs since the Unix epoch; Infinity: the object does not say, as after sanitising. */
const createdAt = (object: Uint8Array): number => {
  const created = Date.parse(String(metadataIn(object)?.creationTimestamp))
  return Number.isNaN(created) ? Number.POSITIVE_INFINITY : created * 1000
}
