import { readFileSync } from "node:fs"
import fc from "fast-check"
import protobuf from "protobufjs"
import { expect, test } from "vitest"
import { pack, readTable, unpack, writeTableEntry } from "../../../src/archive/blocks/block.ts"
import { ArrivedFrame } from "../../../src/archive/blocks/block-frame.ts"
import {
  decodeStates,
  encodeStates,
  mergeStates,
  type ObjectStates,
  StateCollector,
} from "../../../src/archive/checkpoints/object-states.ts"
import { mergeAll } from "../../../src/archive/checkpoints/state-history.ts"
import { decodeObservations, MalformedFrameError, splitObservations } from "../../../src/wire/observations.ts"
import { encodeFrame, fingerprintOf, type SampleEvent, START } from "../sample-frames.ts"

const schema = new protobuf.Root()
protobuf.parse(readFileSync(new URL("../../../proto/archive.proto", import.meta.url), "utf8"), schema, {
  keepCase: true,
})

const anyVersion = fc.oneof(fc.nat(), fc.bigInt({ min: 2n ** 60n, max: 2n ** 64n - 1n }))
const anyChange = (version: fc.Arbitrary<number | bigint | string>): fc.Arbitrary<SampleEvent> =>
  fc.record({
    action: fc.constantFrom("applied", "applied", "deleted", "vanished"),
    number: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 2 ** 32 - 10, max: 2 ** 32 - 1 })),
    time: fc.constant(START),
    version,
    object: fc.constant(""),
  })
/** Changes of one kind, sometimes with opaque versions. */
const anyHistory = fc.oneof(
  fc.array(anyChange(anyVersion), { maxLength: 60 }),
  fc.array(anyChange(fc.string({ minLength: 1, maxLength: 8 })), { maxLength: 60 }),
)

const noFloors = { timeFloor: 0, receivedFloor: 0 }

const collect = (events: ReadonlyArray<SampleEvent>, firstSequence: number): ObjectStates => {
  const frame = new ArrivedFrame(firstSequence, 0, noFloors, decodeObservations(encodeFrame({ gvk: "v1.Pod", events })))
  const collector = new StateCollector(true)
  for (let index = 0; index < events.length; index++) collector.add(frame, index)
  return collector.finish()
}

const asList = (states: ObjectStates) =>
  Array.from({ length: states.count }, (_, index) => ({
    number: states.numbers[index],
    sequence: states.sequences[index],
    version: states.version(index).toString(),
    fingerprint: [states.fingerprintsLow[index], states.fingerprintsHigh[index]],
    dead: states.dead[index],
  }))

/** The same from a plain map. */
const expectedList = (events: ReadonlyArray<SampleEvent>, firstSequence: number, keepDead: boolean) => {
  const last = new Map(events.map((event, index) => [event.number, { event, sequence: firstSequence + index }]))
  return [...last.values()]
    .filter(({ event }) => keepDead || event.action === "applied")
    .sort((left, right) => left.event.number - right.event.number)
    .map(({ event, sequence }) => ({
      number: event.number,
      sequence,
      version: event.version.toString(),
      fingerprint: [...fingerprintOf("")],
      dead: event.action === "applied" ? 0 : 1,
    }))
}

const FAR = 2 ** 40 + 7

test("collected states are the last event of each object, by number", () => {
  fc.assert(
    fc.property(anyHistory, (events) => {
      const states = collect(events, FAR)
      expect(asList(states)).toEqual(expectedList(events, FAR, true))
      for (const { number } of events) expect(states.numbers[states.indexOf(number)]).toBe(number)
      expect(states.indexOf(25)).toBe(-1)
    }),
  )
})

test("merged states are those of the joined history, in any grouping", () => {
  fc.assert(
    fc.property(anyHistory, fc.array(fc.nat(60), { maxLength: 6 }), (events, cuts) => {
      const borders = [0, ...cuts.filter((cut) => cut <= events.length).sort((a, b) => a - b), events.length]
      const pieces = borders.slice(1).map((end, index) => {
        const begin = borders[index] ?? 0
        return collect(events.slice(begin, end), FAR + begin)
      })
      expect(asList(mergeAll(pieces))).toEqual(expectedList(events, FAR, true))
      const [first, ...rest] = pieces as [ObjectStates, ...Array<ObjectStates>]
      expect(asList(mergeStates(first, mergeAll(rest), false))).toEqual(expectedList(events, FAR, false))
    }),
  )
})

test("encoded states are decoded unchanged, and every field is the one in the .proto file", () => {
  fc.assert(
    fc.property(anyHistory, (events) => {
      const states = collect(events, FAR)
      const bytes = encodeStates(states)
      expect(asList(decodeStates(Uint8Array.from(bytes)))).toEqual(asList(states))
      const type = schema.lookupType("kubereel.ObjectStates")
      expect(type.encode(type.decode(bytes)).finish()).toEqual(bytes)
    }),
  )
})

test("states with fields that the format does not have are refused", () => {
  const bytes = encodeStates(collect([{ action: "applied", number: 3, time: START, version: 1, object: "{}" }], 9))
  const field = Uint8Array.of((2 << 3) | 2, 4, 3, 0, 0, 0)
  expect(() => decodeStates(Buffer.concat([bytes, field]))).toThrow(MalformedFrameError)
})

test("damaged states are rejected as malformed or read, never anything else", () => {
  const whole = encodeStates(collect([{ action: "deleted", number: 3, time: START, version: "v", object: "" }], 9))
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const damaged = Uint8Array.from(whole, (byte, index) => (index === at ? byte ^ mask : byte))
      try {
        decodeStates(damaged.subarray(0, at % 3 === 0 ? at : damaged.length))
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedFrameError)
      }
    }),
  )
})

test("a table of contents locates every frame and matches the .proto file", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyHistory, fc.constantFrom(0, START + 5)), { maxLength: 5 }), (histories) => {
      const table = protobuf.Writer.create()
      let sequence = FAR
      let payload = 0
      const places = histories.map(([events, floor]) => {
        const frame = splitObservations(
          encodeFrame({
            gvk: "v1.Pod",
            events: events.map((e) => ({ ...e, object: e.action === "vanished" ? "" : "{}" })),
          }),
        )
        writeTableEntry(table, sequence, frame.payload.length, { timeFloor: floor, receivedFloor: 0 }, frame.columns)
        const place = { sequence, payload, count: events.length, floor }
        sequence += events.length
        payload += frame.payload.length
        return place
      })
      const bytes = table.finish()
      const frames = readTable(bytes)
      expect(
        frames.map((frame) => ({
          ...{ firstSequence: frame.firstSequence, count: frame.events.count },
          objectStart: frame.events.count === 0 ? undefined : frame.objectStart(0),
        })),
      ).toEqual(
        places.map(({ sequence, payload, count }) => ({
          ...{ firstSequence: sequence, count },
          objectStart: count === 0 ? undefined : payload,
        })),
      )
      frames.forEach((frame, index) => {
        if (frame.events.count > 0) expect(frame.time(0)).toBe(Math.max(START, places[index]?.floor ?? 0))
      })
      const type = schema.lookupType("kubereel.TableOfContents")
      expect(type.encode(type.decode(bytes)).finish()).toEqual(Buffer.from(bytes))
    }),
  )
})

test("packed bytes are unpacked unchanged, and any damage to them is detected", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), fc.nat(), fc.integer({ min: 1, max: 255 }), (content, at, mask) => {
      const packed = pack(content)
      expect(new Uint8Array(unpack(packed))).toEqual(content)
      const bytes = Uint8Array.from(packed.bytes)
      bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ mask
      expect(() => unpack({ ...packed, bytes })).toThrow(MalformedFrameError)
    }),
  )
})
