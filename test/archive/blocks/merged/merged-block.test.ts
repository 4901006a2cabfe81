/** Whatever frames are merged, the new block has the same events with the same objects; and what is read of a damaged one is an error of its own. */
import { readFileSync } from "node:fs"
import { crc32 } from "node:zlib"
import fc from "fast-check"
import protobuf from "protobufjs"
import { expect, test } from "vitest"
import { type PackedBlock, unpackChecked } from "../../../../src/archive/blocks/block.ts"
import { ArrivedFrame, type BlockFrame } from "../../../../src/archive/blocks/block-frame.ts"
import {
  type BlockRow,
  type BlockTable,
  objectsOf,
  placeOf,
  tableOf,
} from "../../../../src/archive/blocks/block-rows.ts"
import { MergedBlock, type NamesOf } from "../../../../src/archive/blocks/merged-block.ts"
import { readMergedTable } from "../../../../src/archive/blocks/merged-table.ts"
import { fromPlanes, toPlanes } from "../../../../src/archive/blocks/number-columns.ts"
import { type ObjectBytes, unabridged, WholeObjects } from "../../../../src/archive/blocks/object-bytes.ts"
import { ObjectIndex } from "../../../../src/archive/blocks/object-index.ts"
import { decodeColumns, MalformedFrameError, splitObservations } from "../../../../src/wire/index.ts"
import { rounds } from "../../../harness/effort.ts"
import { encodeFrame, type SampleEvent, START } from "../../sample-frames.ts"

const kinds = ["v1.Pod", "apps/v1.Deployment", "example.com/v1.Training"]

const anyEvent = (isOpaque: boolean): fc.Arbitrary<SampleEvent> =>
  fc.record({
    action: fc.constantFrom("applied", "applied", "deleted", "vanished"),
    number: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 250, max: 300 }), fc.constant(2 ** 32 - 1)),
    time: fc.constantFrom(0, 0, 1, 2 ** 20),
    received: fc.constantFrom(0, 0, 5, 2 ** 33),
    version: isOpaque ? fc.string({ minLength: 1, maxLength: 4 }) : fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
    object: fc.constantFrom("0", "2", "300", "300", "odd", "200000"),
  })

/** A kind, the time that passed before, what was lost before it, and the floors of its times. */
const anyFrame = fc.nat(kinds.length - 1).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    pause: fc.constantFrom(0, 1000, 2 ** 33, -5000),
    skipped: fc.nat(3),
    floor: fc.constantFrom(0, 0, 0, START + 2 ** 35),
    epoch: fc.constantFrom(0, 0, 0, 1),
    events: fc.array(anyEvent(kind === 2), { minLength: 1, maxLength: 6 }),
  }),
)

const nameOf = (number: number) => ({ uid: `uid-${number}`, name: `name-${number}` })

/** Nothing is known of object 5. */
const namesOf: NamesOf = (_, numbers) =>
  new Map(numbers.filter((number) => number !== 5).map((number) => [number, nameOf(number)]))

/** JSON with what is known of the object, if it is long enough, or something else. */
const textOf = ({ number, version, object }: SampleEvent): string => {
  if (object === "odd") return ["\u0000", "\u0004{}", '"\u0001"', "\u0000\u0003"][number % 4] ?? ""
  const length = Number(object)
  const known = `{"uid":"uid-${number}","name":"name-${number}","version":"${version}","text":"`
  return (known + String(number).repeat(length)).slice(length > 100 ? 0 : known.length).slice(0, length)
}

interface Placed {
  readonly frame: BlockFrame
  readonly objects: ObjectBytes
}

/** Frames of one recording: each introduces the objects that were not there. */
const placedFrames = (all: ReadonlyArray<typeof anyFrame extends fc.Arbitrary<infer Frame> ? Frame : never>) => {
  const known = new Set<string>()
  let [time, sequence] = [START + 10_000, 1]
  return all.map(({ kind, pause, skipped, floor, epoch, events }): Placed => {
    const gvk = kinds[kind] as string
    time = Math.max(START, time + pause)
    sequence += skipped
    const newObjects = [...new Set(events.map(({ number }) => number))].filter(
      (number) => !known.has(`${gvk}${number}`),
    )
    for (const number of newObjects) known.add(`${gvk}${number}`)
    let lateness = 2 ** 34
    const timed = events.map((event): SampleEvent => {
      time += event.time
      // Lateness may only fall, or times would decrease.
      lateness = Math.min(lateness, event.received ?? 0)
      // The text is made here, so that counterexamples are readable.
      const object = event.action === "vanished" ? "" : textOf(event)
      return { ...event, object, time, received: time + lateness }
    })
    const split = splitObservations(encodeFrame({ gvk, epoch, events: ordered(timed), newObjects }))
    const floors = { timeFloor: floor, receivedFloor: floor }
    const frame = new ArrivedFrame(sequence, 0, floors, decodeColumns(split.columns, split.payload.length))
    sequence += events.length
    return { frame, objects: new WholeObjects(split.payload) }
  })
}

/** As a sender has them: neither happened nor received before the one before. */
const ordered = (events: ReadonlyArray<SampleEvent>): ReadonlyArray<SampleEvent> => {
  let [time, received] = [0, 0]
  return events.map((event) => {
    time = Math.max(time, event.time)
    received = Math.max(received, event.received ?? 0, time)
    return { ...event, time, received: Math.min(received, time + 2 ** 31) }
  })
}

interface Listed {
  readonly sequence: number
}

const listed = (frame: BlockFrame, index: number, objects: ObjectBytes) => ({
  sequence: frame.sequence(index),
  gvk: frame.events.gvk,
  epoch: frame.events.epoch,
  action: frame.events.action(index),
  number: frame.events.objectNumber(index),
  time: frame.time(index),
  received: frame.received(index),
  lateness: frame.events.lateness(index),
  version: frame.events.resourceVersionText(index),
  fingerprint: [frame.events.fingerprintLow(index), frame.events.fingerprintHigh(index)],
  isIntroduced: frame.introduces(index),
  object: textAt(frame, index, objects),
})

const textAt = (frame: BlockFrame, index: number, objects: ObjectBytes): string => {
  const { events } = frame
  const stored = objects.slice(frame.objectStart(index), events.length(index))
  const known = nameOf(events.objectNumber(index))
  const object = frame.isOfMergedBlock
    ? unabridged(stored, { ...known, version: events.resourceVersionText(index) })
    : stored
  return Buffer.from(object).toString()
}

const eventsOf = (frames: ReadonlyArray<BlockFrame>, objects: (frame: BlockFrame) => ObjectBytes) =>
  frames.flatMap((frame) =>
    Array.from({ length: frame.events.count }, (_, index) => listed(frame, index, objects(frame))),
  )

const bySequence = (one: Listed, other: Listed): number => one.sequence - other.sequence

const rowOf = ({ summary: { firstSequence, lastSequence }, toc, data }: PackedBlock): BlockRow => ({
  ...{ firstSequence, lastSequence, toc: toc.bytes, tocSize: toc.size, tocChecksum: toc.checksum },
  ...{ data: data.bytes, dataSize: data.size, dataChecksum: data.checksum },
})

const merged = (placed: ReadonlyArray<Placed>, isWanted?: (sequence: number) => boolean) => {
  const block = new MergedBlock(namesOf)
  for (const { frame, objects } of placed) block.add(frame, objects, isWanted)
  return block.pack(1, placed.at(-1)?.frame.lastSequence ?? 1)
}

const indexOf = ({ toc }: PackedBlock): ObjectIndex => {
  const index = ObjectIndex.of(toc.bytes)
  if (index === undefined) throw new Error("the block has no index of its objects")
  return index
}

/** Of its table of contents, before compression. */
const tableBytes = (packed: PackedBlock): Uint8Array =>
  unpackChecked(packed.toc.bytes.subarray(indexOf(packed).byteLength), packed.toc.size)

const opened = (packed: PackedBlock): { readonly table: BlockTable; readonly objects: ObjectBytes } => {
  const row = rowOf(packed)
  const table = tableOf(row, () => row.data)
  return { table, objects: objectsOf(row, table) }
}

test("has every event that is wanted, with its times, its version and its object", () => {
  fc.assert(
    fc.property(
      fc.array(anyFrame, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 3 }),
      (frames, share) => {
        const placed = placedFrames(frames)
        const isWanted = (sequence: number): boolean => sequence % share === 0
        const wanted = placed
          .flatMap(({ frame, objects }) => eventsOf([frame], () => objects))
          .filter(({ sequence }) => isWanted(sequence))
        const { table, objects } = opened(merged(placed, isWanted))
        expect(eventsOf(table.frames, () => objects).sort(bySequence)).toEqual(wanted)
        for (const event of wanted) {
          const place = placeOf(table, event.sequence)
          expect(place && listed(place.frame, place.index, objects)).toEqual(event)
        }
        expect(placeOf(table, 0)).toBeUndefined()
        // Merged blocks are merged again when retention joins what it carries over.
        const again = new MergedBlock(namesOf)
        for (const frame of table.frames) again.add(frame, objects)
        const second = opened(again.pack(1, table.lastSequence))
        expect(eventsOf(second.table.frames, () => second.objects).sort(bySequence)).toEqual(wanted)
      },
    ),
    { numRuns: rounds(120) },
  )
})

test("a frame after one of its events has the rest of them", () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { minLength: 1, maxLength: 8 }), fc.nat(30), (frames, after) => {
      const { table, objects } = opened(merged(placedFrames(frames)))
      for (const frame of table.frames) {
        const all = eventsOf([frame], () => objects)
        if (frame.lastSequence <= after) continue
        expect(eventsOf([frame.after(after)], () => objects)).toEqual(all.filter(({ sequence }) => sequence > after))
      }
    }),
    { numRuns: rounds(80) },
  )
})

test("unpacks the pieces with the objects that are asked for, and no others", () => {
  const events = Array.from({ length: 40 }, (_, index): SampleEvent => {
    const number = 1 + (index % 10)
    const text = `${number} `.repeat(10_000)
    return { action: "applied", number, time: START + index, version: index + 1, object: text }
  })
  const frames = events.map((event, index): Placed => {
    const newObjects = index < 10 ? [event.number] : []
    const split = splitObservations(encodeFrame({ gvk: "v1.Pod", events: [event], newObjects }))
    const frame = new ArrivedFrame(
      1 + index,
      0,
      { timeFloor: 0, receivedFloor: 0 },
      decodeColumns(split.columns, split.payload.length),
    )
    return { frame, objects: new WholeObjects(split.payload) }
  })
  const { table, objects } = opened(merged(frames))
  const sizes = table.pieces?.sizes ?? []
  expect(sizes.length).toBeGreaterThan(1)
  const before = objects.heldBytes
  for (const sequence of [3, 13, 23, 33]) {
    const place = placeOf(table, sequence)
    if (place === undefined) throw new Error(`event ${sequence} is missing`)
    const object = objects.slice(place.frame.objectStart(place.index), place.frame.events.length(place.index))
    expect(Buffer.from(object).toString()).toBe("3 ".repeat(10_000))
  }
  // All states of an object are next to each other: in one piece, or across the border of two.
  expect(objects.heldBytes - before).toBeLessThanOrEqual((sizes[0] ?? 0) + (sizes[1] ?? 0))
  expect(objects.heldBytes - before).toBeLessThan(sizes.reduce((sum, size) => sum + size, 0))
})

test("columns are planes of bytes without those that are nothing but zeros", () => {
  expect(toPlanes(Uint32Array.of(1, 2, 3), 3)).toEqual(Uint8Array.of(1, 2, 3))
  expect(toPlanes(Uint32Array.of(0x0102, 3), 2)).toEqual(Uint8Array.of(2, 3, 1, 0))
  expect(toPlanes(Uint32Array.of(0, 0, 9), 2)).toEqual(new Uint8Array(0))
  expect(() => fromPlanes(new Uint8Array(5), 2)).toThrow(RangeError)
  expect(() => fromPlanes(new Uint8Array(10), 2)).toThrow(RangeError)
})

const schema = new protobuf.Root()
protobuf.parse(readFileSync(new URL("../../../../proto/archive.proto", import.meta.url), "utf8"), schema, {
  keepCase: true,
})

test("every field of its table of contents is the one in the .proto file", () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { minLength: 1, maxLength: 6 }), (frames) => {
      const { bytes, size } = merged(placedFrames(frames)).toc
      const index = ObjectIndex.of(bytes)?.byteLength ?? 0
      for (const [name, content] of [
        ["ObjectIndex", bytes.subarray(12, index)],
        ["TableOfContents", unpackChecked(bytes.subarray(index), size)],
      ] as const) {
        const type = schema.lookupType(`kubereel.${name}`)
        const again = Buffer.from(type.encode(type.decode(content)).finish())
        // The order of fields is another one; a field that the file does not have would be missing.
        expect(again).toHaveLength(content.length)
        expect(type.decode(again)).toEqual(type.decode(content))
      }
    }),
    { numRuns: 20 },
  )
})

test("a block without its index of objects, or with that of other kinds, is refused", () => {
  const frames = fc.array(anyFrame, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(frames, frames, (these, others) => {
      const [packed, other] = [merged(placedFrames(these)), merged(placedFrames(others))]
      const bytes = packed.toc.bytes.subarray(indexOf(packed).byteLength)
      const row = rowOf({ ...packed, toc: { ...packed.toc, bytes, checksum: crc32(bytes) } })
      expect(() => tableOf(row, () => row.data)).toThrow(MalformedFrameError)
      if (indexOf(packed).kinds.length !== indexOf(other).kinds.length)
        expect(() => readMergedTable(tableBytes(packed), indexOf(other), () => undefined)).toThrow(MalformedFrameError)
    }),
    { numRuns: rounds(80) },
  )
})

test("of a block whose objects are damaged everything else is known, with fingerprints of 0", () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { minLength: 1, maxLength: 8 }), (frames) => {
      const packed = merged(placedFrames(frames))
      const { table, objects } = opened(packed)
      const damaged = tableOf(rowOf(packed), () => undefined)
      const expected = eventsOf(table.frames, () => objects).map((event) => ({ ...event, fingerprint: [0, 0] }))
      expect(eventsOf(damaged.frames, () => objects)).toEqual(expected)
    }),
    { numRuns: rounds(80) },
  )
})

test("a block says which objects it has", () => {
  fc.assert(
    fc.property(
      fc.array(anyFrame, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(...kinds),
      fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { maxLength: 100 }),
      (frames, gvk, numbers) => {
        const packed = merged(placedFrames(frames))
        const { table } = opened(packed)
        const ofKind = table.frames.filter(({ events }) => events.gvk === gvk)
        const wanted = new Set(numbers)
        const has = ofKind.some((frame) => frame.indexOfObject(wanted, 0) < frame.events.count)
        const mayHold = ObjectIndex.of(packed.toc.bytes)?.mayHold({ gvk, numbers: wanted })
        // More are not looked for.
        expect(mayHold).toBe(numbers.length <= 64 ? has : ofKind.length > 0)
      },
    ),
    { numRuns: rounds(200) },
  )
})

test("a damaged table of contents is rejected as malformed or read, never anything else", () => {
  const isMalformedOrRead = (bytes: Uint8Array, index: ObjectIndex): void => {
    try {
      const { frames } = readMergedTable(bytes, index, () => undefined)
      for (const frame of frames) for (let index = 0; index < frame.events.count; index++) frame.objectStart(index)
    } catch (error) {
      if (!(error instanceof MalformedFrameError)) throw error
    }
  }
  fc.assert(
    fc.property(fc.array(anyFrame, { minLength: 1, maxLength: 4 }), fc.nat(), fc.nat(255), (frames, place, value) => {
      const packed = merged(placedFrames(frames))
      const bytes = Uint8Array.from(tableBytes(packed))
      isMalformedOrRead(bytes.subarray(0, place % bytes.length), indexOf(packed))
      isMalformedOrRead(bytes.with(place % bytes.length, value), indexOf(packed))
      const toc = packed.toc.bytes
      for (const damaged of [toc.subarray(0, place % toc.length), toc.with(place % toc.length, value)]) {
        try {
          ObjectIndex.of(damaged)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedFrameError)
        }
      }
    }),
    { numRuns: rounds(600) },
  )
})
