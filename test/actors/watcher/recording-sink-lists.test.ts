/** What the recording sink concludes from lists: deletions, re-creations, gaps and epochs. */
import { describe, expect, test } from "vitest"
import { object, SinkBench } from "./sink-bench.ts"

const recreated = (name: string, version: number) => object(name, version, { metadata: { uid: `new-uid-${name}` } })

describe("a list", () => {
  test("records what is new and what has changed, nothing for equal versions, and what is missing as vanished", () => {
    const bench = new SinkBench()
    bench.list("first", "10", object("a", 1), object("b", 2), object("c", 3))
    bench.list("expired", "20", object("a", 1), object("b", 12), object("d", 15))
    expect(bench.brief()).toEqual([
      "applied a@1",
      "applied b@2",
      "applied c@3",
      "applied b@12",
      "applied d@15",
      "vanished c@20",
    ])
    expect(bench.recorder.index.size).toBe(3)
    expect(bench.recorder.statistics).toMatchObject({ vanished: 1, unchanged: 1, gaps: 1 })
  })

  test("that is the first leaves no gap; every other one leaves one, from the last complete version to the list", () => {
    const bench = new SinkBench()
    bench.list("first", "10", object("a", 1))
    bench.applied(object("a", 11))
    bench.recorder.frames.flush()
    const complete = bench.clock.wallMicros()
    bench.clock.advance(1000)
    bench.list("expired", "20")
    bench.clock.advance(1000)
    bench.list("overload", "30")
    expect(bench.gaps()).toEqual([
      {
        namespace: "",
        fromVersion: "11",
        toVersion: "20",
        fromTime: complete,
        toTime: complete + 1_000_000,
        reason: "expired",
        detail: expect.stringContaining("no longer had the changes"),
      },
      expect.objectContaining({ fromVersion: "20", toVersion: "30", reason: "overload" }),
    ])
  })

  test("with another UID under a known name ends the old object before the new one appears", () => {
    const bench = new SinkBench()
    bench.list("first", "10", object("a", 1), object("b", 2))
    bench.list("expired", "20", recreated("a", 15), object("b", 2))
    expect(bench.events().slice(2)).toMatchObject([
      { action: "vanished", uid: "uid-a", json: "" },
      { action: "applied", uid: "new-uid-a", version: "15" },
    ])
  })

  test("that saw an object deleted and re-created while it was sent has both", () => {
    const bench = new SinkBench()
    bench.sink.listStarted("first")
    bench.observe(1, true, object("a", 1))
    bench.observe(2, true, object("a", 5))
    bench.observe(1, true, recreated("a", 6))
    bench.sink.listCompleted("10")
    expect(bench.brief()).toEqual(["applied a@1", "deleted a@5", "applied a@6"])
    expect(bench.recorder.index.size).toBe(1)
  })

  test("that is repeated after it broke off counts only the content of the last one", () => {
    const bench = new SinkBench()
    bench.list("first", "10", object("a", 1), object("b", 2))
    bench.sink.listStarted("expired")
    bench.observe(1, true, object("a", 11))
    bench.observe(1, true, object("c", 12))
    bench.list("expired", "20", object("b", 2), recreated("c", 18))
    expect(bench.brief().slice(2)).toEqual([
      "applied a@11",
      "applied c@12",
      "vanished c@18",
      "applied c@18",
      "vanished a@20",
    ])
    expect(bench.gaps()).toHaveLength(1)
  })

  test("does not end what an earlier life recorded and it still contains", () => {
    const objects = [1, 2].map((number) => ({
      number,
      uid: `uid-${number}`,
      namespace: "shop",
      name: `${number}`,
      version: number,
      fingerprintLow: 0,
      fingerprintHigh: 0,
    }))
    const bench = new SinkBench({ objects, resumeVersion: "5", completeTime: 100 })
    bench.list("expired", "9", object("1", 1), object("3", 7))
    expect(bench.brief()).toEqual(["applied 3@7", "vanished 2@9"])
    expect(bench.gaps()).toMatchObject([{ fromVersion: "5", fromTime: 100, toVersion: "9" }])
  })

  test("that is not complete states nothing about completeness, for any number of frames", () => {
    const bench = new SinkBench({ resumeVersion: "3", slabBytes: 64 * 1024 })
    bench.applied(object("a", 4))
    bench.sink.listStarted("expired")
    for (let index = 0; index < 200; index++) {
      bench.observe(1, true, object(`object-${index}`, 100 + index, { data: "x".repeat(2000) }))
    }
    bench.sink.progressed("150")
    bench.sink.readDone()
    bench.clock.advance(2000)
    expect(bench.sent).toBeGreaterThan(5)
    expect(bench.completeThrough).toBe("4")
    bench.sink.listCompleted("400")
    expect(bench.completeThrough).toBe("400")
  })

  test("whose deletions fill several frames is stated as complete with the last of them", () => {
    const bench = new SinkBench({ slabBytes: 64 * 1024 })
    const many = Array.from({ length: 5000 }, (_, index) => object(`object-${index}`, index + 1))
    bench.list("first", "6000", ...many)
    const before = bench.sent
    bench.list("expired", "7000")
    const frames = bench.frames().slice(before)
    expect(frames.length).toBeGreaterThan(1)
    expect(frames.flatMap(({ events }) => events)).toHaveLength(5000)
    expect(frames.map(({ completeThrough }) => completeThrough)).toEqual([...frames.slice(1).map(() => ""), "7000"])
    expect(frames.at(-1)?.gaps).toHaveLength(1)
  })
})

describe("a new epoch", () => {
  test("begins in its own frame, compares no version with the old one, and ends in a gap", () => {
    const bench = new SinkBench({ detect: "content" })
    bench.list("first", "100", object("a", 90, { data: 1 }), object("b", 91), object("c", 92, { data: 1 }))
    bench.sink.epochStarted("restored from a backup")
    bench.list("cluster-restored", "50", object("a", 40, { data: 1 }), object("c", 41, { data: 0 }))
    const frames = bench.frames()
    // Each list begins with a frame that says so.
    expect(frames.map(({ epoch, events }) => [epoch, events.length > 0])).toEqual([
      [0, false],
      [0, true],
      [1, false],
      [1, true],
    ])
    expect(bench.brief().slice(3)).toEqual(["applied c@41", "vanished b@50"])
    expect(bench.gaps()).toMatchObject([
      { fromVersion: "100", toVersion: "50", reason: "cluster-restored", detail: "restored from a backup" },
    ])
    expect(bench.completeThrough).toBe("50")
  })

  test("records an object again although its version is the same, if every version counts", () => {
    const bench = new SinkBench({ detect: "all" })
    bench.list("first", "100", object("a", 40))
    bench.sink.epochStarted("")
    bench.list("cluster-restored", "50", object("a", 40))
    bench.list("expired", "60", object("a", 40))
    expect(bench.events().map(({ version, epoch }) => [version, epoch])).toEqual([
      ["40", 0],
      ["40", 1],
    ])
  })

  test("does not take a version that is equal by chance for progress", () => {
    const bench = new SinkBench()
    bench.list("first", "100", object("a", 40))
    bench.sink.epochStarted("")
    bench.sink.listStarted("cluster-restored")
    expect(bench.completeThrough).toBe("100")
    bench.sink.listCompleted("100")
    expect(bench.frames().at(-1)).toMatchObject({ epoch: 1, completeThrough: "100", gaps: [{}] })
  })

  test("whose list an earlier life did not complete still ends in its gap", () => {
    const bench = new SinkBench({ epoch: 3, resumeVersion: "", lastTime: 5_000_000 })
    bench.list("first", "50", object("a", 40))
    const fromTime = bench.clock.wallMicros()
    expect(bench.gaps()).toMatchObject([{ fromVersion: "", toVersion: "50", reason: "cluster-restored", fromTime }])
    expect(bench.frames().at(-1)).toMatchObject({ epoch: 3, completeThrough: "50" })
  })
})
