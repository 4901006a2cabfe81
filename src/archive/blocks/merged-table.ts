/**
 * Tables of contents of merged blocks: what `TableOfContents` of proto/archive.proto has of them. A frame holds all events of a kind, in sequence order, and
 * numbers their objects' places by object: an object has all of its states in one place, next to each other.
 *
 * Reading is total: what is no such table fails with MalformedFrameError.
 */
import protobuf from "protobufjs/minimal.js"
import { messageOf } from "../../message-of.ts"
import { joinVersion, MalformedFrameError } from "../../wire/observations.ts"
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

const piecesTag = (2 << 3) | 2
const frameTag = (3 << 3) | 2

/** Fields of `Pieces`. */
const dictionaryTag = (1 << 3) | 2
const storedTag = (2 << 3) | 2
const sizesTag = (3 << 3) | 2

/** Fields of `MergedFrame`. */
const gvkTag = (1 << 3) | 2
const epochTag = (2 << 3) | 0
const countTag = (3 << 3) | 0
const firstSequenceTag = (4 << 3) | 1
const timeBaseTag = (5 << 3) | 1
const opaqueTag = (13 << 3) | 2
const introducedTag = (17 << 3) | 2
const timeFloorTag = (18 << 3) | 1
const receivedFloorTag = (19 << 3) | 1
const latenessTag = (16 << 3) | 2

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

/** A table with what is needed to find its objects. */
interface MergedTable {
  readonly frames: ReadonlyArray<BlockFrame>
  readonly pieces: PieceDirectory
  /** Bytes of fingerprints behind the pieces. */
  readonly fingerprintBytes: number
}

/** A table as it is stored, before compression, and what stands before it. */
interface WrittenTable {
  readonly index: Uint8Array
  readonly table: Uint8Array
}

/** `columns`: in the order in which their objects are stored. */
export const writeMergedTable = (columns: ReadonlyArray<EventColumns>, pieces: PieceDirectory): WrittenTable => {
  const objects = columns.map(rankedObjects)
  const writer = protobuf.Writer.create()
  writer.uint32(piecesTag).fork()
  if (pieces.dictionary.length > 0) writer.uint32(dictionaryTag).bytes(pieces.dictionary)
  writePacked(writer, storedTag, pieces.stored)
  writePacked(writer, sizesTag, pieces.sizes)
  writer.ldelim()
  columns.forEach((each, at) => {
    writer.uint32(frameTag).fork()
    writeColumns(writer, each, (objects[at] as RankedObjects).ranks)
    writer.ldelim()
  })
  const kinds = columns.map(({ gvk }, at) => ({ gvk, numbers: writeNumberSet((objects[at] as RankedObjects).numbers) }))
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

const writePacked = (writer: protobuf.Writer, tag: number, values: ReadonlyArray<number>): void => {
  if (values.length === 0) return
  writer.uint32(tag).fork()
  for (const value of values) writer.uint32(value)
  writer.ldelim()
}

const writeColumns = (writer: protobuf.Writer, columns: EventColumns, ranks: Uint32Array): void => {
  const { count } = columns
  writer.uint32(gvkTag).string(columns.gvk)
  if (columns.epoch > 0) writer.uint32(epochTag).uint32(columns.epoch)
  writer.uint32(countTag).uint32(count)
  writer.uint32(firstSequenceTag).double(columns.sequences[0] ?? 0)
  writer.uint32(timeBaseTag).double(columns.timeBase)
  for (const [name, column] of Object.entries(columnsToStore(columns, ranks))) {
    const planes = toPlanes(column, count)
    if (planes.length > 0) writer.uint32((planeFields[name as ColumnName] << 3) | 2).bytes(planes)
  }
  for (const version of columns.opaqueVersions) writer.uint32(opaqueTag).string(version)
  if (columns.isLate) writer.uint32(latenessTag).bytes(doubles(columns.lateness, count))
  writePacked(writer, introducedTag, columns.introduced)
  const { timeFloor, receivedFloor } = columns.floors
  if (timeFloor > 0) writer.uint32(timeFloorTag).double(timeFloor)
  if (receivedFloor > 0) writer.uint32(receivedFloorTag).double(receivedFloor)
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
  const reader = protobuf.Reader.create(Buffer.from(table.buffer, table.byteOffset, table.byteLength))
  const fields: StoredColumnsFields[] = []
  let pieces: PieceDirectory = { dictionary: nothing, stored: [], sizes: [] }
  try {
    while (reader.pos < reader.len) {
      const tag = reader.uint32()
      if (tag === piecesTag) pieces = readPieces(reader, reader.uint32() + reader.pos)
      else if (tag === frameTag) {
        const kind = index.kinds[fields.length]
        if (kind === undefined) throw new RangeError("a frame that the index of objects lacks")
        fields.push(readColumns(reader, reader.uint32() + reader.pos, kind.numbers))
      } else reader.skipType(tag & 7)
    }
    if (index.kinds.length !== fields.length)
      throw new RangeError(`${fields.length} frames, ${index.kinds.length} in the index of objects`)
    const bytes = fields.reduce((sum, { count }) => sum + count * fingerprintBytes, 0)
    let beforeEnd = bytes
    const columns = fields.map((each) => {
      const stored = new StoredColumns(each, { dataOf, beforeEnd })
      beforeEnd -= each.count * fingerprintBytes
      return stored
    })
    return { frames: framesOf(columns), pieces, fingerprintBytes: bytes }
  } catch (error) {
    if (error instanceof MalformedFrameError) throw error
    throw new MalformedFrameError({ reason: `table of contents: ${messageOf(error)}`, byteLength: table.length })
  }
}

const readPieces = (reader: protobuf.Reader, end: number): PieceDirectory => {
  let dictionary: Uint8Array = nothing
  let [stored, sizes]: [number[], number[]] = [[], []]
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === dictionaryTag) dictionary = reader.bytes()
    else if (tag === storedTag) stored = readPacked(reader)
    else if (tag === sizesTag) sizes = readPacked(reader)
    else reader.skipType(tag & 7)
  }
  return { dictionary, stored, sizes }
}

const readPacked = (reader: protobuf.Reader): number[] => {
  const end = reader.uint32() + reader.pos
  const values: number[] = []
  while (reader.pos < end) values.push(reader.uint32())
  return values
}

/** Events that a table may claim to have: far more than one has, and few enough to make room for. */
const mostEvents = 1 << 21

const readColumns = (reader: protobuf.Reader, end: number, numbers: NumberSet): StoredColumnsFields => {
  let [gvk, epoch, count, firstSequence, timeBase] = ["", 0, 0, 0, 0]
  let [timeFloor, receivedFloor] = [0, 0]
  const planes = new Map<number, Uint8Array>()
  const opaqueVersions: string[] = []
  let introduced: number[] = []
  let lateness: Uint8Array = nothing
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === gvkTag) gvk = reader.string()
    else if (tag === epochTag) epoch = reader.uint32()
    else if (tag === countTag) count = reader.uint32()
    else if (tag === firstSequenceTag) firstSequence = reader.double()
    else if (tag === timeBaseTag) timeBase = reader.double()
    else if (tag === opaqueTag) opaqueVersions.push(reader.string())
    else if (tag === latenessTag) lateness = reader.bytes()
    else if (tag === timeFloorTag) timeFloor = reader.double()
    else if (tag === receivedFloorTag) receivedFloor = reader.double()
    else if (tag === introducedTag) introduced = readPacked(reader)
    else if ((tag & 7) === 2) planes.set(tag >>> 3, reader.bytes())
    else reader.skipType(tag & 7)
  }
  if (count === 0 || count > mostEvents) throw new RangeError(`a frame with ${count} events`)
  return {
    ...{ gvk, epoch, count, firstSequence, timeBase, floors: { timeFloor, receivedFloor } },
    ...{ planes, opaqueVersions, introduced: new Set(introduced), lateness, numbers },
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
