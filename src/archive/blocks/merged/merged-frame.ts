/** Frames of merged blocks: all events of a kind, whose objects are stored by object. */
import type { ResourceVersion } from "../../../kube/resource-version.ts"
import { type ActionCode, joinVersion } from "../../../wire/observations.ts"
import { BlockFrame, type FrameEvents } from "../block-frame.ts"
import { byObject } from "../by-object.ts"
import type { StoredColumns } from "./stored-columns.ts"

/** The events of a merged block's kind from some index on, with sequence numbers between which there may be others. */
export class MergedFrame extends BlockFrame {
  readonly events: FrameEvents
  readonly #columns: StoredColumns
  readonly #starts: ObjectStarts
  readonly #first: number

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
    const [only] = numbers
    if (numbers.size !== 1 || only === undefined) return super.indexOfObject(numbers, index)
    const found = this.#columns.indexOfObject(only, this.#first + index)
    return found < 0 ? this.events.count : found - this.#first
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

  /** `first`: where the kind's objects start. */
  constructor(columns: StoredColumns, first: () => number) {
    this.#columns = columns
    this.#first = first
  }

  of(index: number): number {
    if (this.#starts === undefined && this.#asked++ < foundAlone)
      return this.#first() + bytesBefore(this.#columns, index)
    this.#starts ??= startsByObject(this.#columns, this.#first())
    return this.#starts[index] as number
  }
}

const startsByObject = (columns: StoredColumns, payloadStart: number): Float64Array => {
  const { count } = columns.fields
  const starts = new Float64Array(count)
  const lengths = columns.column("lengths")
  let start = payloadStart
  for (const index of byObject(columns.column("numbers"), count)) {
    starts[index] = start
    start += lengths[index] as number
  }
  return starts
}

/** Of the objects before the one of an event, in the order of {@link byObject}. */
const bytesBefore = (columns: StoredColumns, index: number): number => {
  const [numbers, lengths] = [columns.column("numbers"), columns.column("lengths")]
  const number = numbers[index] as number
  let bytes = 0
  for (let other = 0; other < numbers.length; other++) {
    const found = numbers[other] as number
    if (found < number || (found === number && other < index)) bytes += lengths[other] as number
  }
  return bytes
}

/** The events from some index on. */
class MergedEvents implements FrameEvents {
  readonly gvk: string
  readonly epoch: number
  readonly count: number
  readonly hasOpaqueVersions: boolean
  readonly #columns: StoredColumns
  readonly #first: number
  /** Kept here: a search for an object asks for the number of every event. */
  #numbers: Uint32Array | undefined

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
    return this.#columns.column("actions")[this.#first + index] as ActionCode
  }

  objectNumber(index: number): number {
    this.#numbers ??= this.#columns.column("numbers")
    return this.#numbers[this.#first + index] as number
  }

  length(index: number): number {
    return this.#columns.column("lengths")[this.#first + index] as number
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
    return this.#columns.versions[0][this.#first + index] as number
  }

  versionHigh(index: number): number {
    return this.#columns.versions[1][this.#first + index] as number
  }

  resourceVersion(index: number): ResourceVersion {
    return joinVersion(this.versionLow(index), this.versionHigh(index))
  }

  resourceVersionText(index: number): string {
    return this.#columns.fields.opaqueVersions[this.#first + index] ?? this.resourceVersion(index).toString()
  }

  fingerprintLow(index: number): number {
    return this.#columns.column("fingerprintsLow")[this.#first + index] as number
  }

  fingerprintHigh(index: number): number {
    return this.#columns.column("fingerprintsHigh")[this.#first + index] as number
  }
}
