/** Frames of merged blocks: all events of a kind, whose objects are stored by object. */
import type { ResourceVersion } from "../../kube/offline.ts"
import { type ActionCode, joinVersion } from "../../wire/index.ts"
import { BlockFrame, type FrameEvents } from "./block-frame.ts"
import { byObject } from "./number-columns.ts"
import { planeFields, type StoredColumns } from "./stored-columns.ts"

/** Objects beyond which, and of those that a frame has, it is faster to unpack the numbers of all of its events. */
const mostLookedFor = 256
const mostPresent = 8

/** The events of a merged block's kind from some index on, with sequence numbers between which there may be others. */
export class MergedFrame extends BlockFrame {
  readonly isOfMergedBlock = true
  readonly events: FrameEvents
  readonly #columns: StoredColumns
  readonly #starts: ObjectStarts
  readonly #first: number
  #sought: { readonly numbers: ReadonlySet<number>; readonly present: ReadonlyArray<number> } | undefined

  /** `first`: index of its first event among the columns' ones. Default: the first of all. */
  constructor(columns: StoredColumns, starts: ObjectStarts, first = 0) {
    super(columns.sequence(first), columns.fields.floors)
    this.events = new MergedEvents(columns, first)
    this.#columns = columns
    this.#starts = starts
    this.#first = first
  }

  sequence(index: number): number {
    return this.#columns.sequence(this.#first + index)
  }

  firstIndexAfter(sequence: number): number {
    let low = 0
    let high = this.events.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.sequence(middle) <= sequence) low = middle + 1
      else high = middle
    }
    return low
  }

  override indexOfObject(numbers: ReadonlySet<number>, index: number): number {
    const present = this.#presentOf(numbers)
    if (present === undefined) return super.indexOfObject(numbers, index)
    const { count } = this.events
    let first = count
    for (const number of present) {
      const found = this.#columns.indexOfObject(number, this.#first + index)
      if (found >= 0) first = Math.min(first, found - this.#first)
    }
    return first
  }

  /** Those of a few objects that the frame has; `undefined`: they are too many to look for one by one. */
  #presentOf(numbers: ReadonlySet<number>): ReadonlyArray<number> | undefined {
    if (numbers.size > mostLookedFor) return undefined
    if (this.#sought?.numbers !== numbers) {
      const present = [...numbers].filter((number) => this.#columns.fields.numbers.rankOf(number) >= 0)
      this.#sought = { numbers, present }
    }
    return this.#sought.present.length > mostPresent ? undefined : this.#sought.present
  }

  objectStart(index: number): number {
    return this.#starts.of(this.#first + index)
  }

  introduces(index: number): boolean {
    return this.#columns.fields.introduced.has(this.#first + index)
  }

  after(sequence: number): BlockFrame {
    if (sequence < this.firstSequence) return this
    return new MergedFrame(this.#columns, this.#starts, this.#first + this.firstIndexAfter(sequence))
  }
}

/** Objects of a block that are found one by one: sorting those of a whole block takes as long as finding 20. */
const foundAlone = 8

/** Where the objects of a kind start in their block, computed when one is asked for. */
export class ObjectStarts {
  readonly #columns: StoredColumns
  readonly #first: () => number
  #starts: Float64Array | undefined
  #asked = 0
  #last: { readonly index: number; readonly start: number } | undefined

  /** `first`: where the kind's objects start. */
  constructor(columns: StoredColumns, first: () => number) {
    this.#columns = columns
    this.#first = first
  }

  of(index: number): number {
    if (this.#starts !== undefined) return this.#starts[index] as number
    // A history asks for one state of an object after the other, and they are next to each other.
    const start = this.#afterLast(index)
    if (start === undefined && this.#asked++ >= foundAlone) {
      this.#starts = startsByObject(this.#columns, this.#first())
      return this.#starts[index] as number
    }
    this.#last = { index, start: start ?? this.#first() + bytesBefore(this.#columns, index) }
    return this.#last.start
  }

  /** `undefined`: the object is not the one that was asked for last, in a later event. */
  #afterLast(index: number): number | undefined {
    const objects = this.#columns.column(planeFields.objects)
    const object = objects[index]
    const last = this.#last
    if (last === undefined || last.index > index || objects[last.index] !== object) return undefined
    const lengths = this.#columns.column(planeFields.lengths)
    let { start } = last
    for (let at = last.index; at < index; at++) if (objects[at] === object) start += lengths[at] as number
    return start
  }
}

const startsByObject = (columns: StoredColumns, payloadStart: number): Float64Array => {
  const { count } = columns.fields
  const starts = new Float64Array(count)
  const lengths = columns.column(planeFields.lengths)
  let start = payloadStart
  for (const index of byObject(columns.column(planeFields.objects), count)) {
    starts[index] = start
    start += lengths[index] as number
  }
  return starts
}

/** Of the objects before the one of an event, in the order of {@link byObject}. */
const bytesBefore = (columns: StoredColumns, index: number): number => {
  const [objects, lengths] = [columns.column(planeFields.objects), columns.column(planeFields.lengths)]
  const object = objects[index] as number
  let bytes = 0
  for (let other = 0; other < objects.length; other++) {
    const found = objects[other] as number
    if (found < object || (found === object && other < index)) bytes += lengths[other] as number
  }
  return bytes
}

class MergedEvents implements FrameEvents {
  readonly gvk: string
  readonly epoch: number
  readonly count: number
  readonly hasOpaqueVersions: boolean
  readonly #columns: StoredColumns
  readonly #first: number

  constructor(columns: StoredColumns, first = 0) {
    const { gvk, epoch, count, opaqueVersions } = columns.fields
    this.gvk = gvk
    this.epoch = epoch
    this.count = count - first
    this.hasOpaqueVersions = opaqueVersions.length > 0
    this.#columns = columns
    this.#first = first
  }

  action(index: number): ActionCode {
    return this.#columns.value(planeFields.actions, this.#first + index) as ActionCode
  }

  objectNumber(index: number): number {
    return this.#columns.objectNumber(this.#first + index)
  }

  length(index: number): number {
    return this.#columns.value(planeFields.lengths, this.#first + index)
  }

  time(index: number): number {
    return this.received(index) - this.lateness(index)
  }

  received(index: number): number {
    return this.#columns.received(this.#first + index)
  }

  lateness(index: number): number {
    return this.#columns.lateness(this.#first + index)
  }

  versionLow(index: number): number {
    return this.#columns.versionLow(this.#first + index)
  }

  versionHigh(index: number): number {
    return this.#columns.versionHigh(this.#first + index)
  }

  resourceVersion(index: number): ResourceVersion {
    return joinVersion(this.versionLow(index), this.versionHigh(index))
  }

  resourceVersionText(index: number): string {
    return this.#columns.fields.opaqueVersions[this.#first + index] ?? this.resourceVersion(index).toString()
  }

  fingerprintLow(index: number): number {
    return this.#columns.fingerprintLow(this.#first + index)
  }

  fingerprintHigh(index: number): number {
    return this.#columns.fingerprintHigh(this.#first + index)
  }
}
