/** Estimates of when late changes happened: what frames say of them. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { FrameWriter } from "../../../src/actors/watcher/frame-writer.ts"
import { VersionClock } from "../../../src/kube/index.ts"
import type { LateStretch, Timing } from "../../../src/kube/watch/liveness/observed-object.ts"
import { decodeObservations, type LateRange } from "../../../src/wire/observations.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { nothingRecorded } from "./nothing-recorded.ts"

const second = 1_000_000
const begin = 1_700_000_000_000_000

/** Seconds after the clock's start: of the last live moment, and of the end. */
const stretch = (from: number, until?: number): LateStretch => ({
  notBefore: begin + from * second,
  notAfter: until === undefined ? undefined : begin + until * second,
  cause: "disconnected",
})

/** A watcher's frames on a clock that the test moves; the last live event had version 100 at second 0. */
class Frames {
  readonly clock = new ManualClock()
  readonly writer: FrameWriter
  readonly #frames: Array<ReturnType<typeof decodeObservations>> = []

  constructor(versions?: VersionClock) {
    let slab = Buffer.alloc(0)
    const outlet = {
      isWritable: true,
      reserve: (bytes: number) => {
        slab = Buffer.alloc(bytes)
        return slab
      },
      commit: (length: number) => this.#frames.push(decodeObservations(slab.subarray(0, length))),
    }
    this.writer = new FrameWriter("v1.ConfigMap", outlet, this.clock, nothingRecorded, { versions })
    this.writer.object({ number: 1, uid: "uid", namespace: "shop", name: "settings" }, 2)
    this.live(100)
    this.writer.readDone()
  }

  live(version: number): void {
    this.writer.event(frameEvent({ objectNumber: 1, version, bytes: Buffer.from("{}") }))
  }

  /** `happened`, `since`: seconds after the clock's start; `undefined`: the object does not say. */
  late(
    version: number | string,
    of: LateStretch,
    happened?: number,
    timing: Timing = "late",
    bytes = 2,
    since?: number,
  ): void {
    const happenedMicros = happened === undefined ? 0 : begin + happened * second
    const sinceMicros = since === undefined ? 0 : begin + since * second
    this.writer.event(frameEvent({ objectNumber: 1, version, bytes: Buffer.alloc(bytes, 120) }), {
      timing,
      stretch: of,
      happenedMicros,
      sinceMicros,
      version,
    })
  }

  /** Seconds after the clock's start, and ranges, of everything so far. */
  end(): {
    readonly happened: ReadonlyArray<number>
    readonly received: ReadonlyArray<number>
    readonly ranges: ReadonlyArray<LateRange>
  } {
    this.writer.close()
    const events = this.#frames.flatMap((frame) =>
      Array.from({ length: frame.count }, (_, index) => [frame.time(index), frame.received(index)] as const),
    )
    return {
      happened: events.map(([time]) => (time - begin) / second),
      received: events.map(([, received]) => (received - begin) / second),
      ranges: this.#frames.flatMap((frame) =>
        Array.from({ length: frame.lateRangeCount }, (_, index) => frame.lateRange(index)),
      ),
    }
  }
}

describe("the time of a late change", () => {
  test("is the one that its object says, and its receipt is kept", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(0, 30), 12.5)
    frames.live(130)
    const { happened, received, ranges } = frames.end()
    expect(happened).toEqual([0, 12.5, 30])
    expect(received).toEqual([0, 30, 30])
    expect(ranges).toEqual([
      {
        notBefore: begin,
        notAfter: begin + 30 * second,
        receivedFrom: begin + 30 * second,
        receivedTo: begin + 30 * second,
        events: 1,
        cause: "disconnected",
        namespace: "",
      },
    ])
  })

  test("is within its bounds, whatever the object says", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(5, 20), 2)
    frames.late(120, stretch(5, 20), 900)
    expect(frames.end().happened).toEqual([0, 6, 20])
  })

  test("and its bounds stay in order if the clock was set back, so that it was live at a time that is still to come", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(100, 20), 15)
    frames.late(120, stretch(100, 20))
    const { happened, ranges } = frames.end()
    expect(happened).toEqual([0, 20, 20])
    const [notBefore, notAfter] = [begin + 20 * second, begin + 20 * second]
    expect(ranges).toMatchObject([{ notBefore, notAfter, events: 2 }])
  })

  test("is never before its predecessor's", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(0, 30), 15)
    frames.late(120, stretch(0, 30), 11)
    expect(frames.end().happened).toEqual([0, 15, 15])
  })

  test("lies between those of its neighbours, by its version, if the object does not say", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(120, stretch(0, 30), 10)
    frames.late(125, stretch(0, 30))
    frames.late(135, stretch(0, 30))
    frames.late(140, stretch(0, 30), 18)
    expect(frames.end().happened).toEqual([0, 10, 12, 16, 18])
  })

  test("goes by the changes of other kinds, if they were dated", () => {
    const versions = new VersionClock(VersionClock.memory())
    const frames = new Frames(versions)
    frames.clock.advance(30_000)
    versions.note(124, begin + 17 * second)
    versions.note(126, begin + 17.5 * second)
    frames.late(120, stretch(0, 30), 10)
    frames.late(125, stretch(0, 30))
    frames.late(140, stretch(0, 30), 18)
    expect(frames.end().happened).toEqual([0, 10, 17.25, 18])
  })

  test("goes by later versions of other kinds, and the one that the server named at the end, if nothing of its own follows", () => {
    const versions = new VersionClock(VersionClock.memory())
    const frames = new Frames(versions)
    frames.clock.advance(30_000)
    versions.note(130, begin + 12 * second)
    versions.note(150, begin + 31 * second)
    frames.late(120, stretch(0, 30), 10)
    frames.late(125, stretch(0, 30))
    frames.late(140, stretch(0, 30))
    expect(frames.end().happened).toEqual([0, 10, 11, 21])
  })

  test("is between its predecessor and the end if nothing is known of what follows", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(120, stretch(0, 30), 10)
    frames.late(125, stretch(0, 30))
    const [, , last = 0] = frames.end().happened
    expect(last).toBeGreaterThan(10)
    expect(last).toBeLessThanOrEqual(30)
  })

  test("is that of its predecessor in a frame that is full, so that its successors keep theirs", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(120, stretch(0, 30), 10)
    frames.late(125, stretch(0, 30), undefined, "late", 40_000)
    frames.late(130, stretch(0, 30), 12, "late", 60_000)
    expect(frames.end().happened).toEqual([0, 10, 10, 12])
  })

  test("is not before what waited in the frame that was full", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(120, stretch(0), undefined, "late", 40_000, 12)
    frames.late(130, stretch(0), 10, "late", 60_000)
    expect(frames.end().happened).toEqual([0, 12, 12])
  })

  test("is never before the creation and the writes that its object names", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(0, 30), undefined, "late", 2, 7)
    frames.late(120, stretch(0, 30), undefined, "late", 2, 5)
    frames.late(130, stretch(0, 30), 9)
    frames.late(131, stretch(0, 30), undefined, "late", 40_000, 12)
    frames.late(132, stretch(0, 30), undefined, "late", 60_000, 40)
    const { happened } = frames.end()
    expect(happened).toEqual([0, 7, 8, 9, 12, 30])
  })

  test("shares the space evenly if versions are no numbers", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late("a", stretch(0, 30), 10)
    frames.late("b", stretch(0, 30))
    frames.late("c", stretch(0, 30), 14)
    const { happened } = frames.end()
    expect(happened.at(-2)).toBe(12)
  })
})

describe("an undecided change", () => {
  test("is live if nothing late follows it", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(0), undefined, "undecided")
    frames.live(111)
    expect(frames.end()).toMatchObject({ happened: [0, 30, 30], ranges: [] })
  })

  test("was late if a late one follows it", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(0), undefined, "undecided")
    frames.late(120, stretch(0), 10)
    const { happened, received, ranges } = frames.end()
    expect(happened).toEqual([0, 5, 10])
    expect(received).toEqual([0, 30, 30])
    expect(ranges.map(({ events }) => events)).toEqual([2])
  })

  test("that was late is not before the writes that its object names", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(0), undefined, "undecided", 2, 8)
    frames.late(120, stretch(0), 10)
    expect(frames.end().happened).toEqual([0, 8, 10])
  })

  test("was late if a later version of another kind is older than its receipt", () => {
    const versions = new VersionClock(VersionClock.memory())
    const frames = new Frames(versions)
    frames.clock.advance(30_000)
    versions.note(108, begin + 11 * second)
    versions.note(112, begin + 13 * second)
    frames.late(110, stretch(0), undefined, "undecided")
    frames.late(200, stretch(0), undefined, "undecided")
    const { happened, ranges } = frames.end()
    expect(happened).toEqual([0, 12, 30])
    expect(ranges.map(({ events }) => events)).toEqual([1])
  })

  test("is live if other kinds have come only as far", () => {
    const versions = new VersionClock(VersionClock.memory())
    const frames = new Frames(versions)
    frames.clock.advance(30_000)
    versions.note(108, begin + 11 * second)
    versions.note(112, begin + 29.5 * second)
    frames.late(110, stretch(0), undefined, "undecided")
    expect(frames.end()).toMatchObject({ happened: [0, 30], ranges: [] })
  })

  test("was late if a late one follows it in the next network read, and was received before it", () => {
    const frames = new Frames()
    frames.clock.advance(30_000)
    frames.late(110, stretch(0), undefined, "undecided")
    frames.writer.readDone()
    frames.clock.advance(2)
    frames.late(120, stretch(0), 10)
    const { happened, ranges } = frames.end()
    expect(happened).toEqual([0, 5, 10])
    expect(ranges).toMatchObject([{ events: 2, receivedFrom: begin + 30 * second, receivedTo: begin + 30_002_000 }])
  })
})

test("each namespace has late ranges of its own", () => {
  const frames = new Frames()
  frames.clock.advance(30_000)
  const of = stretch(0, 30)
  for (const [version, namespace] of [
    [110, "shop"],
    [111, "stock"],
  ] as const) {
    const event = frameEvent({ objectNumber: 1, version, bytes: Buffer.from("{}") })
    const happened = { happenedMicros: begin + 9 * second, sinceMicros: 0 }
    frames.writer.event(event, { timing: "late", stretch: of, ...happened, version }, namespace)
  }
  expect(frames.end().ranges.map(({ namespace }) => namespace)).toEqual(["shop", "stock"])
})

test("for any mixture of changes, times never decrease, are within their bounds, and none is after its receipt", () => {
  // Times of objects are whole µs.
  const seconds = fc.integer({ min: -10 * second, max: 60 * second }).map((micros) => micros / second)
  const change = fc.record({
    waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
    timing: fc.constantFrom<Timing>("live", "late", "late", "undecided"),
    happened: fc.option(seconds, { nil: undefined }),
    since: fc.option(seconds, { nil: undefined }),
    bytes: fc.constantFrom(2, 2, 2, 30_000),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), fc.boolean(), (changes, isResumed) => {
      const frames = new Frames(new VersionClock(VersionClock.memory()))
      frames.clock.advance(30_000)
      const of = stretch(0, isResumed ? 30 : undefined)
      for (const [index, { waitMs, timing, happened, since, bytes }] of changes.entries()) {
        frames.clock.advance(waitMs)
        if (waitMs > 0) frames.writer.readDone()
        if (timing === "live") frames.live(200 + index)
        else frames.late(200 + index, of, timing === "late" ? happened : undefined, timing, bytes, since)
      }
      const { happened, received, ranges } = frames.end()
      expect(happened).toHaveLength(changes.length + 1)
      for (const [index, time] of happened.entries()) {
        expect(time).toBeGreaterThanOrEqual(happened[index - 1] ?? 0)
        expect(time).toBeLessThanOrEqual(received[index] as number)
      }
      const late = happened.filter((time, index) => time < (received[index] as number))
      expect(ranges.reduce((sum, { events }) => sum + events, 0)).toBeGreaterThanOrEqual(late.length)
    }),
  )
})
