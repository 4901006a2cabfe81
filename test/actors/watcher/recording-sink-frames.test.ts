/** The frames of the recording sink: when they are sent, how large they get, and which times and completeness they state. */
import { describe, expect, test } from "vitest"
import { object, SinkBench } from "./sink-bench.ts"

describe("a frame", () => {
  test("is sent 5 ms after the network read that started it, with everything that arrived until then", () => {
    const bench = new SinkBench()
    bench.applied(object("a", 1))
    bench.sink.readDone()
    bench.clock.advance(4)
    bench.applied(object("b", 2))
    bench.sink.readDone()
    expect(bench.sent).toBe(0)
    bench.clock.advance(1)
    expect(bench.sent).toBe(1)
    bench.clock.advance(10_000)
    expect(bench.sent).toBe(1)
    expect(bench.brief()).toEqual(["applied a@1", "applied b@2"])
  })

  test("that is full is sent at once, and states no more than it contains", () => {
    const bench = new SinkBench({ slabBytes: 64 * 1024 })
    const data = "x".repeat(10_000)
    for (let version = 1; version <= 100; version++) bench.applied(object(`object-${version % 7}`, version, { data }))
    let recorded = 0
    for (const { events, completeThrough, bytes } of bench.frames()) {
      recorded += events.length
      expect(completeThrough).toBe(String(recorded))
      expect(bytes).toBeLessThanOrEqual(64 * 1024)
    }
    expect(recorded).toBe(100)
    expect(bench.sent).toBeGreaterThan(10)
  })

  test("fits an object of 2 MiB, in a slab not much larger, and ordinary frames follow", () => {
    const bench = new SinkBench()
    const large = object("large", 2, { data: "y".repeat(2 * 1024 * 1024) })
    bench.applied(object("a", 1), large, object("b", 3))
    bench.deleted({ ...large, metadata: { ...large.metadata, resourceVersion: "4" } })
    expect(bench.brief()).toEqual(["applied a@1", "applied large@2", "applied b@3", "deleted large@4"])
    expect(bench.events().map(({ json }) => json.length > 2 * 1024 * 1024)).toEqual([false, true, false, true])
    expect(Math.max(...bench.frames().map(({ bytes }) => bytes))).toBeLessThan(2 * 1024 * 1024 + 4096)
    expect(bench.completeThrough).toBe("4")
  })

  test("fits an object whose names and owners alone are larger than a frame", () => {
    const bench = new SinkBench({ slabBytes: 64 * 1024 })
    const ownerReferences = Array.from({ length: 2000 }, (_, index) => ({ uid: `owner-${index}`.padEnd(60, "x") }))
    bench.applied(object("a", 1), object("b", 2, { metadata: { ownerReferences } }))
    expect(bench.brief()).toEqual(["applied a@1", "applied b@2"])
  })

  test("is created even if the outlet is full: what has been read must have room", () => {
    const bench = new SinkBench()
    bench.isWritable = false
    expect(bench.sink.isWritable).toBe(false)
    bench.applied(object("a", 1))
    expect(bench.brief()).toEqual(["applied a@1"])
  })
})

describe("completeness", () => {
  test("advances with a bookmark at once, and with changes that do not count once a second", () => {
    const bench = new SinkBench({ detect: "spec" })
    bench.list("first", "10", object("a", 1, { spec: 1 }))
    bench.sink.progressed("20")
    expect(bench.completeThrough).toBe("20")
    const before = bench.sent
    for (let version = 21; version <= 40; version++) {
      bench.applied(object("a", version, { spec: 1, status: version }))
      bench.sink.readDone()
      bench.clock.advance(100)
    }
    expect(bench.sent - before).toBe(2)
    bench.clock.advance(1000)
    expect(bench.completeThrough).toBe("40")
    expect(bench.events()).toHaveLength(1)
  })

  test("is not repeated if nothing has changed", () => {
    const bench = new SinkBench({ resumeVersion: "10" })
    bench.sink.progressed("10")
    bench.sink.readDone()
    bench.clock.advance(5000)
    bench.sink.progressed("11")
    bench.sink.progressed("11")
    bench.sink.readDone()
    bench.clock.advance(5000)
    expect(bench.frames().map(({ completeThrough }) => completeThrough)).toEqual(["11"])
  })

  test("of a bookmark is in the frame of the events before it", () => {
    const bench = new SinkBench()
    bench.applied(object("a", 1))
    bench.sink.progressed("5")
    expect(bench.sent).toBe(0)
    expect(bench.frames()).toMatchObject([{ events: [{ version: "1" }], completeThrough: "5" }])
  })

  test("is never ahead: the frame before does not cover an event that begins a new frame", () => {
    const bench = new SinkBench({ slabBytes: 64 * 1024 })
    bench.applied(object("a", 1, { data: "x".repeat(40_000) }), object("b", 2, { data: "x".repeat(40_000) }))
    expect(bench.frames().map(({ events, completeThrough }) => [events.length, completeThrough])).toEqual([
      [1, "1"],
      [1, "2"],
    ])
  })

  test("of opaque versions is stated as the server wrote them", () => {
    const bench = new SinkBench()
    bench.list("first", "start", object("a", "f00"))
    bench.applied(object("a", "beef"))
    bench.deleted(object("a", "77"))
    expect(bench.brief()).toEqual(["applied a@f00", "applied a@beef", "deleted a@77"])
    expect(bench.completeThrough).toBe("77")
  })
})

describe("time", () => {
  test("is one reading per network read", () => {
    const bench = new SinkBench()
    bench.applied(object("a", 1))
    bench.clock.offsetMicros += 3
    bench.applied(object("b", 2))
    bench.sink.readDone()
    bench.applied(object("c", 3))
    const [first = 0, second, third] = bench.events().map(({ time }) => time)
    expect([second, third]).toEqual([first, first + 3])
  })

  test("never decreases when the clock is set back, nor after a restart with a slower clock", () => {
    const bench = new SinkBench({ lastTime: 1_800_000_000_000_000 })
    bench.applied(object("a", 1))
    bench.sink.readDone()
    bench.clock.offsetMicros = 200_000_000_000_000
    bench.applied(object("a", 2))
    bench.sink.readDone()
    bench.clock.offsetMicros = -5_000_000
    bench.applied(object("a", 3))
    bench.sink.readDone()
    const times = bench.events().map(({ time }) => time)
    expect(times).toEqual([1_800_000_000_000_000, 1_900_000_000_000_000, 1_900_000_000_000_000])
    expect(bench.recorder.frames.lastTime).toBe(1_900_000_000_000_000)
  })

  test("of a gap begins where the recording was complete and never ends before it, for any clock", () => {
    const bench = new SinkBench()
    bench.list("first", "10", object("a", 1))
    bench.sink.readDone()
    bench.clock.offsetMicros = 60_000_000
    bench.sink.progressed("20")
    const complete = bench.clock.wallMicros()
    bench.clock.offsetMicros = -60_000_000
    bench.list("expired", "30", object("a", 1))
    expect(bench.gaps()).toMatchObject([{ fromTime: complete, toTime: complete }])
  })

  test("of a gap never begins before the last event, for any clock", () => {
    const bench = new SinkBench()
    bench.clock.offsetMicros = 60_000_000
    bench.applied(object("a", 1))
    bench.sink.readDone()
    bench.clock.offsetMicros = 0
    bench.clock.advance(5)
    bench.list("expired", "30", object("a", 1))
    const [event] = bench.events()
    expect(bench.gaps()).toMatchObject([{ fromVersion: "1", fromTime: event?.time, toTime: event?.time }])
  })

  test("supports jumps of more than an hour between events", () => {
    const bench = new SinkBench()
    for (const [version, hours] of [0, 1, 2, 24, 9000].entries()) {
      bench.clock.offsetMicros = hours * 3_600_000_000
      bench.applied(object("a", version + 1))
      bench.sink.readDone()
    }
    expect(bench.events()).toHaveLength(5)
  })
})

test("each recorded event is reported to the owner", () => {
  const bench = new SinkBench()
  bench.applied(object("a", 1))
  bench.deleted(object("a", 2))
  expect(bench.said).toEqual(["applied a", "deleted a"])
})

test("a closed sink has sent everything and leaves no timer", () => {
  const bench = new SinkBench({ detect: "spec" })
  bench.applied(object("a", 1, { spec: 1 }))
  bench.sink.readDone()
  bench.clock.advance(10)
  bench.applied(object("a", 2, { spec: 1 }))
  bench.sink.readDone()
  bench.applied(object("b", 3))
  bench.recorder.frames.close()
  expect(bench.clock.pending).toBe(0)
  expect(bench.brief()).toEqual(["applied a@1", "applied b@3"])
  expect(bench.completeThrough).toBe("3")
})
