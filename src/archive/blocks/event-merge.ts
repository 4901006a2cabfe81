/**
 * Events of several kinds in the order of (time, sequence), read from their blocks on demand. The time is when they happened or when they
 * were received.
 *
 * Within a kind times never decrease, so each kind is one sorted stream, and a merge of those needs one open frame per kind. Only tables of
 * contents are read ahead: a quiet kind's next event may be a thousand blocks away, and its bytes are fetched only when it is due. All
 * kinds share one clock, so events that are due together are in neighbouring blocks, and each block is decompressed once.
 *
 * Memory: one table of contents per kind, and the caches of {@link BlockSource} and {@link ObjectNames}.
 */

import type { Action, EventTimes, ObjectEvent } from "../../trace/index.ts"
import { ACTION_NAMES, APPLIED } from "../../wire/index.ts"
import type { KindKey } from "../rows/kind-table.ts"
import type { ObjectNames } from "../rows/object-rows.ts"
import type { BlockFrame } from "./block-frame.ts"
import type { BlockSource } from "./block-source.ts"
import { unabridged } from "./object-bytes.ts"
import type { EventPlace } from "./stored-blocks.ts"

interface EventRange {
  /** Last sequence number to read. */
  readonly cut: number
  /** Inclusive. */
  readonly fromTime: number
  /** Exclusive. */
  readonly untilTime: number
  readonly times: EventTimes
  /**
   * Kinds that are read from their first event on, whatever `fromTime` is, but for their first list ({@link listedObjects}), which was complete at that
   * time. Default: none.
   */
  readonly listed?: ReadonlyMap<string, number>
}

/** Reads the events of `kinds` in order. Each event's `object` is valid until the next one is read. */
export function* mergeEvents(
  source: BlockSource,
  names: ObjectNames,
  kinds: ReadonlyArray<KindKey>,
  range: EventRange,
): Generator<ObjectEvent, void, void> {
  const cursors = kinds.map((kind) => new KindCursor(source, kind, range)).filter((cursor) => cursor.advance())
  while (cursors.length > 0) {
    const [first, second] = frontRunners(cursors)
    // The choice remains valid until another kind is due.
    while (second === undefined || first.isBefore(second)) {
      yield first.read(source, names)
      if (!first.advance()) {
        cursors.splice(cursors.indexOf(first), 1)
        break
      }
    }
  }
}

/**
 * The first list of a kind, which was complete at `through`, µs since the Unix epoch: the first state of each object up to then, in the order of the list.
 * What happened to an object later in that time, before other namespaces of its kind were listed, is a change.
 */
export function* listedObjects(
  source: BlockSource,
  names: ObjectNames,
  kind: KindKey,
  { cut, through, times }: Pick<EventRange, "cut" | "times"> & { readonly through: number },
): Generator<ObjectEvent, void, void> {
  const list = new FirstList(through)
  for (const frame of source.framesOf(kind, 0, 0, times)) {
    for (let index = 0; index < frame.events.count; index++) {
      if (frame.sequence(index) > cut || frame.timeIn(times, index) > through) return
      if (list.takes(frame, index, frame.timeIn(times, index)))
        yield readEvent(source, names, kind, frame.sequence(index), times)
    }
  }
}

/** Tells the events of a first list from changes. Takes the events of the kind in order, from the first on. Memory: a number for each object of the list. */
export class FirstList {
  readonly #through: number
  readonly #seen = new Set<number>()

  constructor(through: number) {
    this.#through = through
  }

  isOver(time: number): boolean {
    return time > this.#through
  }

  takes({ events }: BlockFrame, index: number, time: number): boolean {
    if (this.isOver(time)) return false
    const number = events.objectNumber(index)
    if (this.#seen.has(number)) return false
    this.#seen.add(number)
    return events.action(index) === APPLIED
  }
}

/** The two cursors with the earliest events. There are tens of kinds, and runs of one kind are long, so a heap would gain nothing. */
const frontRunners = (cursors: ReadonlyArray<KindCursor>): [KindCursor, KindCursor | undefined] => {
  let first = cursors[0] as KindCursor
  let second: KindCursor | undefined
  for (let index = 1; index < cursors.length; index++) {
    const cursor = cursors[index] as KindCursor
    if (cursor.isBefore(first)) {
      second = first
      first = cursor
    } else if (second === undefined || cursor.isBefore(second)) second = cursor
  }
  return [first, second]
}

/** A position among the events of one kind, moved by tables of contents alone. Before the first event until it was advanced. */
export class FrameCursor {
  readonly #frames: Generator<BlockFrame, void, void>
  readonly #nextIndex: ((frame: BlockFrame, index: number) => number) | undefined
  frame: BlockFrame | undefined
  index = -1

  /** `nextIndex`: index of the first event from one on that counts, `events.count` if there is none. Default: all count. */
  constructor(frames: Generator<BlockFrame, void, void>, nextIndex?: (frame: BlockFrame, index: number) => number) {
    this.#frames = frames
    this.#nextIndex = nextIndex
  }

  next(): BlockFrame | undefined {
    let index = this.index + 1
    for (;;) {
      if (this.frame !== undefined) {
        this.index = this.#nextIndex === undefined ? index : this.#nextIndex(this.frame, index)
        if (this.index < this.frame.events.count) return this.frame
      }
      const next = this.#frames.next()
      if (next.done === true) return undefined
      this.frame = next.value
      index = 0
    }
  }
}

class KindCursor {
  readonly #kind: KindKey
  readonly #range: EventRange
  readonly #events: FrameCursor
  readonly #fromTime: number
  /** Until the first list has been read. */
  #list: FirstList | undefined
  #time = 0
  #sequence = 0

  constructor(source: BlockSource, kind: KindKey, range: EventRange) {
    this.#kind = kind
    this.#range = range
    const through = range.listed?.get(kind.gvk)
    this.#list = through === undefined ? undefined : new FirstList(through)
    this.#fromTime = through === undefined ? range.fromTime : 0
    this.#events = new FrameCursor(source.framesOf(kind, 0, this.#fromTime, range.times))
  }

  advance(): boolean {
    for (;;) {
      const frame = this.#events.next()
      if (frame === undefined) return false
      const { index } = this.#events
      this.#time = frame.timeIn(this.#range.times, index)
      this.#sequence = frame.sequence(index)
      if (this.#sequence > this.#range.cut || this.#time >= this.#range.untilTime) return false
      if (this.#time >= this.#fromTime && !this.#isListed(frame, index)) return true
    }
  }

  #isListed(frame: BlockFrame, index: number): boolean {
    if (this.#list === undefined) return false
    if (this.#list.takes(frame, index, this.#time)) return true
    if (this.#list.isOver(this.#time)) this.#list = undefined
    return false
  }

  isBefore(other: KindCursor): boolean {
    return this.#time < other.#time || (this.#time === other.#time && this.#sequence < other.#sequence)
  }

  read(source: BlockSource, names: ObjectNames): ObjectEvent {
    return readEvent(source, names, this.#kind, this.#sequence, this.#range.times)
  }
}

/** One event with its object and its object's name. @throws CorruptArchiveError */
export const readEvent = (
  source: BlockSource,
  names: ObjectNames,
  kind: KindKey,
  sequence: number,
  times: EventTimes = "happened",
): ObjectEvent => eventIn(source.eventAt(sequence), names, kind, times)

/** The same of an event whose place is known. */
export const eventIn = (
  { frame, index, stored }: EventPlace,
  names: ObjectNames,
  kind: KindKey,
  times: EventTimes = "happened",
): ObjectEvent => {
  const { uid, namespace, name } = names.nameOf(kind.id, frame.events.objectNumber(index))
  const resourceVersion = frame.events.resourceVersionText(index)
  return {
    type: "object",
    sequence: frame.sequence(index),
    time: frame.timeIn(times, index),
    ...(times === "happened" && frame.events.lateness(index) > 0 && { received: frame.received(index) }),
    gvk: kind.gvk,
    // Frames are checked when they arrive, so the code is one of the three.
    action: ACTION_NAMES[frame.events.action(index)] as Action,
    uid,
    namespace,
    name,
    resourceVersion,
    object: frame.isOfMergedBlock ? unabridged(stored, { uid, name, version: resourceVersion }) : stored,
  }
}
