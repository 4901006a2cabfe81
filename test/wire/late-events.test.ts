import { readFileSync } from "node:fs"
import fc from "fast-check"
import protobuf from "protobufjs"
import { describe, expect, test } from "vitest"
import {
  decodeColumns,
  decodeObservations,
  type LateRange,
  MalformedFrameError,
  type Observations,
  ObservationsBuilder,
  splitObservations,
} from "../../src/wire/observations.ts"
import { rounds } from "../harness/effort.ts"
import { frameEvent } from "./frame-events.ts"

const GVK = "v1.ConfigMap"
const START = 1_763_700_000_000_000
const HOUR = 3_600_000_000

/** When an event happened and when it was received, µs. */
interface Times {
  readonly happened: number
  readonly received: number
}

/** `extra`: calls between the events and the end of the frame. */
const write = (
  events: ReadonlyArray<Times>,
  extra?: (builder: ObservationsBuilder) => void,
  builder = new ObservationsBuilder(GVK, { initialCapacity: 2 }),
): Buffer => {
  const slab = Buffer.alloc(builder.sizeFor(0) + events.length * 64 + 4096)
  builder.begin(slab, 0)
  for (const [index, { happened, received }] of events.entries()) {
    const bytes = Buffer.from(`{"n":${index}}`)
    const event = { objectNumber: index + 1, version: index + 1, timeMicros: happened, receivedMicros: received, bytes }
    expect(builder.append(frameEvent(event))).toBe(true)
  }
  extra?.(builder)
  const bound = builder.byteLength
  const used = builder.finish()
  expect(used).toBeLessThanOrEqual(bound)
  return slab.subarray(0, used)
}

const timesOf = (frame: Observations): ReadonlyArray<Times> =>
  Array.from({ length: frame.count }, (_, index) => ({
    happened: frame.time(index),
    received: frame.received(index),
  }))

/** Times of a kind as a watcher gives them: both in order, none received before it happened. `received: 0`: when it happened. */
const anyTimes: fc.Arbitrary<ReadonlyArray<Times>> = fc
  .array(
    fc.record({
      reads: fc.oneof(fc.constant(0), fc.nat(5000), fc.nat(2_000_000_000)),
      // How far the event moves from the time of the one before towards its receipt; 1 is live.
      part: fc.oneof(fc.constant(1), fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    { minLength: 1, maxLength: 100 },
  )
  .map((steps) => {
    let received = START
    let happened = START - 3 * HOUR
    return steps.map(({ reads, part }) => {
      received += reads
      happened += Math.floor((received - happened) * part)
      return { happened, received: happened === received ? 0 : received }
    })
  })

/** Both times of each event; live ones are received when they happen. */
const bothOf = (times: ReadonlyArray<Times>): ReadonlyArray<Times> =>
  times.map(({ happened, received }) => ({ happened, received: received === 0 ? happened : received }))

describe("a frame with late events", () => {
  test("is read as it was written", () => {
    fc.assert(
      fc.property(anyTimes, (times) => {
        const bytes = write(times)
        const frame = decodeObservations(bytes)
        expect(timesOf(frame)).toEqual(bothOf(times))
        expect(frame.firstTime()).toBe(frame.time(0))
        expect(frame.lastTime()).toBe(frame.time(frame.count - 1))
        expect(frame.hasLateEvents).toBe(timesOf(frame).some(({ happened, received }) => happened < received))
        const { columns, payload } = splitObservations(bytes)
        expect(timesOf(decodeColumns(columns, payload.length))).toEqual(timesOf(frame))
      }),
      { numRuns: rounds(300) },
    )
  })

  test("holds an outage of hours, received at once", () => {
    const times = [0, 5 * HOUR, 30 * HOUR].map((after) => ({
      happened: START + after,
      received: START + 31 * HOUR,
    }))
    expect(timesOf(decodeObservations(write(times)))).toEqual(times)
  })

  test("has the bytes of a frame without late events if there are none", () => {
    const times = [0, 1, 7_000_000].map((after) => ({ happened: START + after, received: 0 }))
    const explicit = times.map(({ happened }) => ({ happened, received: happened }))
    expect(write(explicit)).toEqual(write(times))
    // 1: objects, 2: gvk, 4: time_base, 5 to 9 and 11: columns.
    expect(fieldsOf(write(times))).toEqual([1, 2, 4, 5, 6, 7, 8, 9, 11])
    expect(fieldsOf(write(times.map(({ happened }) => ({ happened, received: happened + 9_000_000 }))))).toContain(23)
  })

  test("refuses an event that happened before the one before or after its receipt", () => {
    const builder = new ObservationsBuilder(GVK)
    builder.begin(Buffer.alloc(4096), 0)
    const append = (timeMicros: number, receivedMicros: number): boolean =>
      builder.append(frameEvent({ objectNumber: 1, version: 1, timeMicros, receivedMicros, bytes: Buffer.from("{}") }))
    expect(append(START + 1, START)).toBe(false)
    expect(append(START - HOUR, START)).toBe(true)
    expect(append(START - HOUR - 1, START)).toBe(false)
    expect(append(START - HOUR, START - 1)).toBe(false)
    expect(append(START - HOUR, START + 2 ** 32)).toBe(false)
    expect(append(START + 1, 0)).toBe(true)
    expect(builder.count).toBe(2)
  })
})

describe("retiming", () => {
  test("gives events of the frame other times, and keeps their times of receipt", () => {
    fc.assert(
      fc.property(anyTimes, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (times, parts) => {
        let before = START - 3 * HOUR
        const wanted = times.map(({ happened, received }) => {
          const receipt = received === 0 ? happened : received
          const part = parts.next().value
          before += part > 0.8 ? receipt - before : Math.floor((receipt - before) * part)
          return { happened: before, received: receipt }
        })
        const bytes = write(times, (builder) => {
          for (const [index, { happened }] of times.entries()) expect(builder.time(index)).toBe(happened)
          for (const [index, { happened, received }] of wanted.entries()) {
            builder.retime(index, happened, happened === received)
            expect(builder.time(index)).toBe(happened)
          }
        })
        expect(timesOf(decodeObservations(bytes))).toEqual(wanted)
      }),
      { numRuns: rounds(300) },
    )
  })

  test("to live leaves no trace in the frame", () => {
    const received = START + 30_000_000
    const live = [0, 1].map(() => ({ happened: received, received: 0 }))
    const bytes = write(
      [0, 1].map((at) => ({ happened: START + at, received })),
      (builder) => {
        builder.retime(0, 0, true)
        builder.retime(1, 0, true)
      },
    )
    expect(bytes).toEqual(write(live))
  })

  test("cannot put an event after its receipt", () => {
    write([{ happened: START, received: 0 }], (builder) => {
      expect(() => builder.retime(0, START + 1)).toThrow(RangeError)
    })
  })
})

const anyRange: fc.Arbitrary<LateRange> = fc
  .record({
    notBefore: fc.nat(),
    lasts: fc.nat(),
    waits: fc.nat(),
    takes: fc.nat(),
    events: fc.integer({ min: 0, max: 0xffff_ffff }),
    cause: fc.constantFrom("stopped", "disconnected", "delayed"),
    namespace: fc.string({ unit: "grapheme", maxLength: 100 }),
  })
  .map(({ notBefore, lasts, waits, takes, events, cause, namespace }) => ({
    notBefore: START + notBefore,
    notAfter: START + notBefore + lasts,
    receivedFrom: START + notBefore + waits,
    receivedTo: START + notBefore + waits + takes,
    ...{ events, cause, namespace },
  }))

/** A column of the frame. */
const doubles = (...numbers: ReadonlyArray<number>): Buffer => Buffer.from(Float64Array.from(numbers).buffer)

describe("late ranges", () => {
  const schema = new protobuf.Root()
  protobuf.parse(readFileSync(new URL("../../proto/observations.proto", import.meta.url), "utf8"), schema, {
    keepCase: true,
  })
  const message = schema.lookupType("kubereel.Observations")
  const range: LateRange = {
    ...{ notBefore: START, notAfter: START + 24_000_000, receivedFrom: START + 24_000_000 },
    ...{ receivedTo: START + 25_000_000, events: 37, cause: "stopped", namespace: "shop" },
  }
  const withRange = (): Buffer =>
    write([{ happened: START + 1000, received: START + 24_000_000 }], (builder) => {
      expect(builder.addLateRange(range)).toBe(true)
    })

  test("are read as they were written", () => {
    fc.assert(
      fc.property(fc.array(anyRange, { maxLength: 4 }), (ranges) => {
        const frame = decodeObservations(
          write([], (builder) => {
            for (const one of ranges) expect(builder.addLateRange(one)).toBe(true)
          }),
        )
        expect(frame.lateRangeCount).toBe(ranges.length)
        expect(ranges.map((_, index) => frame.lateRange(index))).toEqual(ranges)
      }),
      { numRuns: rounds(200) },
    )
  })

  test("and lateness read the same through the .proto file", () => {
    const decoded = message.toObject(message.decode(withRange()))
    expect(decoded.late_ranges).toEqual([
      {
        ...{ not_before: START, not_after: START + 24_000_000, received_from: START + 24_000_000 },
        ...{ received_to: START + 25_000_000, events: 37, cause: "stopped", namespace: "shop" },
      },
    ])
    expect(decoded.time_base).toBe(START + 24_000_000)
    expect(decoded.lateness.readDoubleLE(0)).toBe(23_999_000)
  })

  test("that do not fit are refused, and the frame stays as it was", () => {
    const builder = new ObservationsBuilder(GVK)
    const slab = Buffer.alloc(256)
    builder.begin(slab, 0)
    expect(builder.addLateRange({ ...range, namespace: "n".repeat(100) })).toBe(false)
    expect(decodeObservations(slab.subarray(0, builder.finish())).lateRangeCount).toBe(0)
  })

  test.each([
    ["an unknown cause", { late_ranges: [{ cause: "bored" }] }, 'late for cause "bored"'],
    ["an end before the start", { late_ranges: [{ cause: "stopped", not_before: 5, not_after: 4 }] }, "from 5 to 4"],
    [
      "a receipt before anything happened",
      { late_ranges: [{ cause: "stopped", not_before: 5, not_after: 6, received_from: 1, received_to: 2 }] },
      "received from 1 to 2",
    ],
    ["a time that is no number", { late_ranges: [{ cause: "stopped", not_after: Number.NaN }] }, "to NaN"],
    ["a column that is too short", { lateness: Buffer.alloc(3) }, "lateness has 3 bytes"],
    ["an event before all time", { time_base: 1000 }, "event 0 happened at -23998000"],
    ["an event after its receipt", { lateness: doubles(-1) }, "event 0 is late by -1"],
    ["a lateness that is no number", { lateness: doubles(Number.NaN) }, "event 0 is late by NaN"],
  ])("with %s are refused", (_, damage, words) => {
    const bytes = message.encode(Object.assign(message.decode(withRange()), damage)).finish()
    expect(() => decodeObservations(bytes)).toThrow(MalformedFrameError)
    expect(() => decodeObservations(bytes)).toThrow(words)
  })

  test("events whose times decrease are refused", () => {
    const times = [0, 1].map((index) => ({ happened: START + index * 5000, received: START + 50_000 }))
    const lateness = doubles(10_000, 20_000)
    const bytes = message.encode(Object.assign(message.decode(write(times)), { lateness })).finish()
    expect(() => decodeObservations(bytes)).toThrow("event 1 happened at")
  })

  test("in a frame with damaged or missing bytes are either read or rejected as malformed", () => {
    const whole = withRange()
    let refused = 0
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, change, cut) => {
        const damaged = Buffer.from(cut ? whole.subarray(0, at) : whole)
        if (!cut) damaged[at] = (damaged[at] ?? 0) ^ change
        try {
          const frame = decodeObservations(damaged)
          timesOf(frame)
          for (let index = 0; index < frame.lateRangeCount; index++) frame.lateRange(index)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedFrameError)
          refused++
        }
      }),
      { numRuns: rounds(2000) },
    )
    expect(refused).toBeGreaterThan(0)
  })
})

/** The field numbers of a message, in order. */
const fieldsOf = (bytes: Uint8Array): ReadonlyArray<number> => {
  const reader = protobuf.Reader.create(bytes)
  const fields: Array<number> = []
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    fields.push(tag >>> 3)
    reader.skipType(tag & 7)
  }
  return fields
}
