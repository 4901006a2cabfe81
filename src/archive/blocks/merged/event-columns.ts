/**
 * Events of one kind as growing columns in sequence order, which need not be without holes: what a merged block keeps of them.
 *
 * 49 bytes an event; none of them is an object.
 */
import { joinVersion } from "../../../wire/observations.ts"
import { type BlockFrame, noFloors, type TimeFloors } from "../block-frame.ts"

const initialCapacity = 64
const twoPow32 = 0x1_0000_0000

export class EventColumns {
  readonly gvk: string
  readonly epoch: number
  count = 0
  /** Of all frames that these events come from. */
  floors: TimeFloors = noFloors
  /** When event 0 was received, as its sender said, µs since the Unix epoch. */
  timeBase = 0
  sequences: Float64Array = new Float64Array(initialCapacity)
  actions: Uint32Array = new Uint32Array(initialCapacity)
  numbers: Uint32Array = new Uint32Array(initialCapacity)
  /** Of objects as they are stored, bytes. */
  lengths: Uint32Array = new Uint32Array(initialCapacity)
  /** µs after the event before. */
  timeDeltas: Uint32Array = new Uint32Array(initialCapacity)
  versionsLow: Uint32Array = new Uint32Array(initialCapacity)
  versionsHigh: Uint32Array = new Uint32Array(initialCapacity)
  fingerprintsLow: Uint32Array = new Uint32Array(initialCapacity)
  fingerprintsHigh: Uint32Array = new Uint32Array(initialCapacity)
  /** µs. */
  lateness: Float64Array = new Float64Array(initialCapacity)
  isLate = false
  /** One per event if versions are not integers, else empty. */
  readonly opaqueVersions: Array<string> = []
  /** Indexes of the events that are the first of their objects, ascending. */
  readonly introduced: Array<number> = []
  #lastReceived = 0

  constructor(gvk: string, epoch: number) {
    this.gvk = gvk
    this.epoch = epoch
  }

  /** Adds an event of a frame of this kind. `false`, with nothing added: it must begin other columns. */
  add(frame: BlockFrame, index: number): boolean {
    const { events, floors } = frame
    const at = this.count
    const received = events.received(index)
    if (at > 0 && !this.#continues(frame, received - this.#lastReceived)) return false
    if (at === this.sequences.length) this.#grow(at * 2)
    if (at === 0) {
      this.timeBase = received
      this.floors = floors
    }
    const lateness = events.lateness(index)
    this.sequences[at] = frame.sequence(index)
    this.actions[at] = events.action(index)
    this.numbers[at] = events.objectNumber(index)
    this.lengths[at] = events.length(index)
    this.timeDeltas[at] = at === 0 ? 0 : received - this.#lastReceived
    this.versionsLow[at] = events.versionLow(index)
    this.versionsHigh[at] = events.versionHigh(index)
    this.fingerprintsLow[at] = events.fingerprintLow(index)
    this.fingerprintsHigh[at] = events.fingerprintHigh(index)
    this.lateness[at] = lateness
    this.isLate ||= lateness > 0
    if (events.hasOpaqueVersions) this.opaqueVersions.push(events.resourceVersionText(index))
    if (frame.introduces(index)) this.introduced.push(at)
    this.#lastReceived = received
    this.count++
    return true
  }

  /** The resource version of an event. */
  versionText(index: number): string {
    const low = this.versionsLow[index] as number
    return this.opaqueVersions[index] ?? joinVersion(low, this.versionsHigh[index] as number).toString()
  }

  /** What frames of observations can express as one: a frame that does not begin where the clock was set back, mostly. */
  #continues({ events, floors }: BlockFrame, delta: number): boolean {
    return (
      delta >= 0 &&
      delta < twoPow32 &&
      events.epoch === this.epoch &&
      events.hasOpaqueVersions === this.opaqueVersions.length > 0 &&
      floors.timeFloor === this.floors.timeFloor &&
      floors.receivedFloor === this.floors.receivedFloor
    )
  }

  #grow(capacity: number): void {
    const larger = (column: Uint32Array): Uint32Array => copied(column, new Uint32Array(capacity))
    this.sequences = copied(this.sequences, new Float64Array(capacity))
    this.lateness = copied(this.lateness, new Float64Array(capacity))
    this.actions = larger(this.actions)
    this.numbers = larger(this.numbers)
    this.lengths = larger(this.lengths)
    this.timeDeltas = larger(this.timeDeltas)
    this.versionsLow = larger(this.versionsLow)
    this.versionsHigh = larger(this.versionsHigh)
    this.fingerprintsLow = larger(this.fingerprintsLow)
    this.fingerprintsHigh = larger(this.fingerprintsHigh)
  }
}

const copied = <Column extends Uint32Array | Float64Array>(from: Column, to: Column): Column => {
  to.set(from)
  return to
}

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** f64 each, little-endian. */
export const doubles = (column: Float64Array, count: number): Uint8Array => {
  const bytes = Buffer.from(column.buffer, column.byteOffset, count * 8)
  return isLittleEndian ? bytes : Buffer.from(bytes).swap64()
}
