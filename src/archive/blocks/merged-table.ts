/**
 * Tables of contents of merged blocks: what `TableOfContents` of proto/archive.proto has of them. A frame holds all events of a kind, in sequence order, and
 * numbers their objects' places by object: an object has all of its states in one place, next to each other.
 *
 * Reading is total: what is no such table fails with MalformedFrameError.
 */

import protobuf from "protobufjs/minimal.js"
import { messageOf } from "../../message-of.ts"
import { joinVersion, MalformedFrameError, Message, readerOf } from "../../wire/index.ts"
import { type BlockFrame, noFloors, type TimeFloors } from "./block-frame.ts"
import { MergedFrame, ObjectStarts } from "./merged-frame.ts"
import { byObject, toPlanes } from "./number-columns.ts"
import type { PieceDirectory } from "./object-bytes.ts"
import { type NumberSet, type ObjectIndex, writeNumberSet, writeObjectIndex } from "./object-index.ts"
import {
  type ColumnName,
  fingerprintBytes,
  planeFields,
  StoredColumns,
  type StoredColumnsFields,
} from "./stored-columns.ts"

/** What `TableOfContents` of proto/archive.proto has of merged blocks. */
const tableFields = new Message({ pieces: [2, "span"], frames: [3, "manySpans"] })

const piecesFields = new Message({ dictionary: [1, "bytes"], stored: [2, "manyNumbers"], sizes: [3, "manyNumbers"] })

/** `MergedFrame`. */
const frameFields = new Message({
  gvk: [1, "string"],
  epoch: [2, "uint32"],
  count: [3, "uint32"],
  firstSequence: [4, "double"],
  timeBase: [5, "double"],
  sequences: [6, "bytes"],
  actions: [7, "bytes"],
  objects: [8, "bytes"],
  lengths: [9, "bytes"],
  timeDeltas: [10, "bytes"],
  versionsLow: [11, "bytes"],
  versionsHigh: [12, "bytes"],
  opaqueVersions: [13, "manyStrings"],
  lateness: [16, "bytes"],
  introduced: [17, "manyNumbers"],
  timeFloor: [18, "double"],
  receivedFloor: [19, "double"],
})

const nothing = new Uint8Array(0)

// Events of one kind as growing columns in sequence order, which need not be without holes: what a merged block keeps of them.
//
// 49 bytes an event; none of them is an object.

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
const doubles = (column: Float64Array, count: number): Uint8Array => {
  const bytes = Buffer.from(column.buffer, column.byteOffset, count * 8)
  return isLittleEndian ? bytes : Buffer.from(bytes).swap64()
}

interface MergedTable {
  readonly frames: ReadonlyArray<BlockFrame>
  readonly pieces: PieceDirectory
  /** Bytes of fingerprints behind the pieces. */
  readonly fingerprintBytes: number
}

interface WrittenTable {
  readonly index: Uint8Array
  readonly table: Uint8Array
}

/** `columns`: in the order in which their objects are stored. */
export const writeMergedTable = (columns: ReadonlyArray<EventColumns>, pieces: PieceDirectory): WrittenTable => {
  const { dictionary, stored, sizes } = pieces
  const writer = protobuf.Writer.create()
  piecesFields.writeField(writer, tableFields.tags.pieces, {
    ...{ dictionary: dictionary.length > 0 ? dictionary : undefined, stored: [...stored], sizes: [...sizes] },
  })
  const kinds = columns.map((each) => {
    const { numbers, ranks } = rankedObjects(each)
    frameFields.writeField(writer, tableFields.tags.frames, frameOf(each, ranks))
    return { gvk: each.gvk, numbers: writeNumberSet(numbers) }
  })
  return { index: writeObjectIndex(kinds), table: writer.finish() }
}

interface RankedObjects {
  /** Of all objects, ascending. */
  readonly numbers: Uint32Array
  /** By event, the place of its object among them. */
  readonly ranks: Uint32Array
}

const rankedObjects = ({ numbers, count }: EventColumns): RankedObjects => {
  const distinct: number[] = []
  const ranks = new Uint32Array(count)
  for (const index of byObject(numbers, count)) {
    const number = numbers[index] as number
    if (distinct.at(-1) !== number) distinct.push(number)
    ranks[index] = distinct.length - 1
  }
  return { numbers: Uint32Array.from(distinct), ranks }
}

const positive = (value: number): number | undefined => (value > 0 ? value : undefined)

const frameOf = (columns: EventColumns, ranks: Uint32Array) => {
  const { gvk, epoch, count, timeBase, sequences, opaqueVersions, introduced, lateness, isLate, floors } = columns
  const planes = Object.entries(columnsToStore(columns, ranks)).flatMap(([name, column]) => {
    const bytes = toPlanes(column, count)
    return bytes.length > 0 ? [[name, bytes] as const] : []
  })
  return {
    ...{ gvk, epoch: positive(epoch), count, firstSequence: sequences[0] ?? 0, timeBase },
    ...Object.fromEntries(planes),
    ...{ opaqueVersions, introduced, lateness: isLate ? doubles(lateness, count) : undefined },
    ...{ timeFloor: positive(floors.timeFloor), receivedFloor: positive(floors.receivedFloor) },
  }
}

const columnsToStore = (columns: EventColumns, objects: Uint32Array): Readonly<Record<ColumnName, Uint32Array>> => {
  const { count, sequences, versionsLow, versionsHigh } = columns
  const steps = new Uint32Array(count)
  for (let index = 1; index < count; index++)
    steps[index] = (sequences[index] as number) - (sequences[index - 1] as number) - 1
  const [low, high] = [new Uint32Array(count), new Uint32Array(count)]
  for (let index = 0, lastLow = 0, lastHigh = 0; index < count; index++) {
    const [nextLow, nextHigh] = [versionsLow[index] as number, versionsHigh[index] as number]
    low[index] = nextLow - lastLow
    high[index] = nextHigh - lastHigh - (nextLow < lastLow ? 1 : 0)
    lastLow = nextLow
    lastHigh = nextHigh
  }
  const { actions, lengths, timeDeltas } = columns
  return {
    ...{ sequences: steps, actions, objects, lengths, timeDeltas },
    ...{ versionsLow: low, versionsHigh: high },
  }
}

/** `index`: what stands before it. `dataOf`: the BLOB with the objects, `undefined` if it is damaged. @throws MalformedFrameError */
export const readMergedTable = (
  table: Uint8Array,
  index: ObjectIndex,
  dataOf: () => Uint8Array | undefined,
): MergedTable => {
  try {
    const { pieces, frames = [] } = tableFields.read(readerOf(table))
    if (index.kinds.length !== frames.length)
      throw new RangeError(`${frames.length} frames, ${index.kinds.length} in the index of objects`)
    const fields = index.kinds.map(({ numbers }, at) => readColumns(readerOf(table, frames[at]), numbers))
    const bytes = fields.reduce((sum, { count }) => sum + count * fingerprintBytes, 0)
    let beforeEnd = bytes
    const columns = fields.map((each) => {
      const stored = new StoredColumns(each, { dataOf, beforeEnd })
      beforeEnd -= each.count * fingerprintBytes
      return stored
    })
    const {
      dictionary = nothing,
      stored = [],
      sizes = [],
    } = pieces === undefined ? {} : piecesFields.read(readerOf(table, pieces))
    return { frames: framesOf(columns), pieces: { dictionary, stored, sizes }, fingerprintBytes: bytes }
  } catch (error) {
    if (error instanceof MalformedFrameError) throw error
    throw new MalformedFrameError({ reason: `table of contents: ${messageOf(error)}`, byteLength: table.length })
  }
}

/** Events that a table may claim to have: far more than one has, and few enough to make room for. */
const mostEvents = 1 << 21

const readColumns = (reader: protobuf.Reader, numbers: NumberSet): StoredColumnsFields => {
  const found = frameFields.read(reader)
  const { gvk = "", epoch = 0, count = 0, firstSequence = 0, timeBase = 0, timeFloor = 0, receivedFloor = 0 } = found
  const { sequences, actions, objects, lengths, timeDeltas, versionsLow, versionsHigh } = found
  if (count === 0 || count > mostEvents) throw new RangeError(`a frame with ${count} events`)
  const planes = [sequences, actions, objects, lengths, timeDeltas, versionsLow, versionsHigh]
  return {
    ...{ gvk, epoch, count, firstSequence, timeBase, floors: { timeFloor, receivedFloor }, numbers },
    planes: new Map(Object.values(planeFields).map((field, at) => [field, planes[at] ?? nothing])),
    ...{ opaqueVersions: found.opaqueVersions ?? [], introduced: new Set(found.introduced) },
    lateness: found.lateness ?? nothing,
  }
}

/** Frames whose objects are stored one kind after the other. */
const framesOf = (all: ReadonlyArray<StoredColumns>): ReadonlyArray<BlockFrame> => {
  let startOfNext = (): number => 0
  return all.map((columns) => {
    const start = startOfNext
    startOfNext = () => start() + columns.payloadLength()
    return new MergedFrame(columns, new ObjectStarts(columns, start))
  })
}
