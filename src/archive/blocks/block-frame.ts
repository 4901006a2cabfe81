/** Frames with their positions in a block: as they arrived, or as merging made them. */
import type { EventTimes } from "../../trace/index.ts"
import type { Observations } from "../../wire/index.ts"

/** What readers ask the events of a frame, however they are stored. Indexes run from 0 to `count`−1 and are not checked. */
export type FrameEvents = Pick<
  Observations,
  | "gvk"
  | "epoch"
  | "count"
  | "hasOpaqueVersions"
  | "action"
  | "objectNumber"
  | "length"
  | "time"
  | "received"
  | "lateness"
  | "versionLow"
  | "versionHigh"
  | "resourceVersion"
  | "resourceVersionText"
  | "fingerprintLow"
  | "fingerprintHigh"
>

/** Earliest times that the events of a frame may get; 0 if its own are in order. */
export interface TimeFloors {
  readonly timeFloor: number
  readonly receivedFloor: number
}

/** Of events that are in order. */
export const noFloors: TimeFloors = { timeFloor: 0, receivedFloor: 0 }

/** The events of one kind with their sequence numbers, and the places of their objects among the block's. */
export abstract class BlockFrame {
  readonly firstSequence: number
  abstract readonly events: FrameEvents
  readonly floors: TimeFloors
  /** Whether lengths and objects are those that are stored (object-bytes.ts), not those that arrived. */
  abstract readonly isOfMergedBlock: boolean

  constructor(firstSequence: number, floors: TimeFloors) {
    this.firstSequence = firstSequence
    this.floors = floors
  }

  /** Ascends with the index. */
  abstract sequence(index: number): number

  /** Index of the first event after a sequence number; `events.count` if there is none. */
  abstract firstIndexAfter(sequence: number): number

  /** Where the object of an event starts in the block's objects. */
  abstract objectStart(index: number): number

  /** Whether an event is the first of its object, or the first after its owners have changed. */
  abstract introduces(index: number): boolean

  /** Without the events up to a sequence number, where a reader is that this frame spans; others may stay. */
  abstract after(sequence: number): BlockFrame

  /** Index of the first event from `index` on that is of one of these objects; `events.count` if there is none. */
  indexOfObject(numbers: ReadonlySet<number>, index: number): number {
    const { events } = this
    let found = index
    while (found < events.count && !numbers.has(events.objectNumber(found))) found++
    return found
  }

  get lastSequence(): number {
    return this.events.count === 0 ? this.firstSequence - 1 : this.sequence(this.events.count - 1)
  }

  /** Index of an event; −1: it has none with this sequence number. */
  indexOf(sequence: number): number {
    if (sequence < this.firstSequence || sequence > this.lastSequence) return -1
    const index = this.firstIndexAfter(sequence - 1)
    return this.sequence(index) === sequence ? index : -1
  }

  /** When an event happened, µs: as the sender says, but never before the kind's previous event. */
  time(index: number): number {
    return Math.max(this.floors.timeFloor, this.events.time(index))
  }

  /** When it was received, likewise, and never before it happened. */
  received(index: number): number {
    return Math.max(this.floors.receivedFloor, this.events.received(index), this.time(index))
  }

  /** The time that counts. */
  timeIn(times: EventTimes, index: number): number {
    return times === "received" ? this.received(index) : this.time(index)
  }
}

/** As it arrived: consecutive sequence numbers, and objects one after the other in this order. */
export class ArrivedFrame extends BlockFrame {
  readonly isOfMergedBlock = false
  readonly events: Observations
  readonly #payloadStart: number
  #introduced: ReadonlySet<number> | undefined

  /** `payloadStart`: of its first object among the block's. */
  constructor(firstSequence: number, payloadStart: number, floors: TimeFloors, events: Observations) {
    super(firstSequence, floors)
    this.events = events
    this.#payloadStart = payloadStart
  }

  sequence(index: number): number {
    return this.firstSequence + index
  }

  firstIndexAfter(sequence: number): number {
    return Math.min(this.events.count, Math.max(0, sequence + 1 - this.firstSequence))
  }

  objectStart(index: number): number {
    return this.#payloadStart + this.events.offset(index)
  }

  introduces(index: number): boolean {
    this.#introduced ??= firstOfNew(this.events)
    return this.#introduced.has(index)
  }

  /** Readers are at the ends of such frames, or look themselves where they are in one. */
  after(): BlockFrame {
    return this
  }
}

const firstOfNew = (events: Observations): ReadonlySet<number> => {
  const numbers = new Set<number>()
  for (let index = 0; index < events.newObjectCount; index++) numbers.add(events.newObject(index).number)
  const first = new Set<number>()
  for (let index = 0; index < events.count && numbers.size > 0; index++)
    if (numbers.delete(events.objectNumber(index))) first.add(index)
  return first
}
