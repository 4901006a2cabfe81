/** Which changes of a watch count as late, and within which bounds they happened. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Liveness } from "../../../../src/kube/watch/liveness/liveness.ts"
import type { ObservedObject } from "../../../../src/kube/watch/liveness/observed-object.ts"
import { VersionClock } from "../../../../src/kube/watch/liveness/version-clock.ts"
import { type Writes, writesOfEarlierLife } from "../../../../src/kube/watch/liveness/written-time.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { observed, secondsText, type Written } from "./observed.ts"

/** The version before was written long ago: for objects whose every change leaves a time. */
const long: Writes = { written: 1, writes: 0, fields: 0 }

/** A watch on a clock that the test moves. The server's clock is `serverAheadMs` ahead. */
class Stream {
  readonly clock = new ManualClock()
  readonly liveness: Liveness
  readonly serverAheadMs: number
  /** Of objects with a UID of their own, what a sink keeps. */
  readonly known = new Map<string, Writes | "unknown">()
  /** What the watches of other kinds have noted. */
  readonly versions = new VersionClock(VersionClock.memory())

  constructor({ liveUntilMs = 0, serverAheadMs = 0 } = {}) {
    this.serverAheadMs = serverAheadMs
    this.clock.advance(3_600_000)
    this.liveness = new Liveness({
      clock: this.clock,
      liveUntil: liveUntilMs * 1000,
      versions: this.versions,
      writesBefore: (object) => (uidOf(object) === "u" ? long : (this.known.get(uidOf(object)) ?? "new")),
    })
  }

  get nowMs(): number {
    return this.clock.wallMicros() / 1000
  }

  /** The list is complete and the watch is open. */
  listed(): this {
    const serverMs = this.nowMs + this.serverAheadMs
    this.liveness.opened(Math.floor(serverMs / 1000) * 1000)
    this.liveness.listed()
    return this
  }

  /** One network read. `writtenAgoMs`: how long ago, in ms, each object was last written; `undefined`: it does not say. */
  read(
    ...objects: ReadonlyArray<Written & { readonly writtenAgoMs?: number | undefined }>
  ): ReadonlyArray<ObservedObject> {
    this.liveness.readBegins()
    const seen = objects.map(({ writtenAgoMs, ...written }) => {
      const writtenMs = writtenAgoMs === undefined ? undefined : this.nowMs + this.serverAheadMs - writtenAgoMs
      const object = observed({ ...written, writtenMs })
      this.liveness.judge(object)
      if (this.known.get(uidOf(object)) !== "unknown") this.known.set(uidOf(object), { ...object })
      return object
    })
    this.liveness.readDone()
    return seen
  }
}

const uidOf = ({ bytes, scanned }: Readonly<ObservedObject>): string =>
  bytes.toString("utf8", scanned.uidStart, scanned.uidEnd)

const timings = (objects: ReadonlyArray<ObservedObject>) => objects.map(({ timing }) => timing)
const second = 1_000_000
/** µs of the receiver's clock, that many ms after its start. */
const at = (ms: number): number => 1_700_000_000_000_000 + ms * 1000

describe("a resumed watch", () => {
  const resumed = (stream: Stream, version: string): void => {
    stream.liveness.opened(Math.floor(stream.nowMs / 1000) * 1000)
    stream.liveness.probed(version)
  }

  test("brings late changes up to the version that the server named, and live ones after it", () => {
    const stream = new Stream({ liveUntilMs: at(3_600_000 - 30_000) / 1000 })
    resumed(stream, "120")
    const objects = stream.read(
      { version: 101, writtenAgoMs: 29_000 },
      { version: 120, writtenAgoMs: 2000 },
      { version: 121, writtenAgoMs: 0 },
      { version: 122, writtenAgoMs: 9000 },
    )
    expect(timings(objects)).toEqual(["late", "late", "live", "live"])
    expect(objects[0]?.stretch).toEqual({
      notBefore: at(3_600_000 - 31_000),
      notAfter: at(3_600_000),
      cause: "stopped",
    })
  })

  test("is late because it was disconnected if it was live before", () => {
    const stream = new Stream().listed()
    stream.read({ version: 1, writtenAgoMs: 0 })
    stream.liveness.ended(false)
    stream.clock.advance(20_000)
    resumed(stream, "9")
    const [object] = stream.read({ version: 2, writtenAgoMs: 10_000 })
    expect(object?.stretch?.cause).toBe("disconnected")
    expect(object?.stretch?.notBefore).toBe(at(3_600_000 - 1000))
  })

  test("is live if it was away for less than a second, or ended in order and was opened at once", () => {
    const stream = new Stream().listed()
    stream.clock.advance(60_000)
    stream.liveness.ended(true)
    expect(stream.liveness.isStale).toBe(false)
    stream.clock.advance(900)
    expect(stream.liveness.isStale).toBe(false)
    resumed(stream, "9")
    expect(timings(stream.read({ version: 2, writtenAgoMs: 500 }))).toEqual(["live"])
    stream.clock.advance(2000)
    expect(stream.liveness.isStale).toBe(true)
  })

  test("is live again after a bookmark above that version", () => {
    const stream = new Stream({ liveUntilMs: at(3_600_000 - 30_000) / 1000 })
    resumed(stream, "120")
    stream.liveness.reached("120")
    expect(stream.liveness.isStale).toBe(true)
    stream.liveness.reached("121")
    expect(stream.liveness.isStale).toBe(false)
  })

  test("has no estimate of a change that left no time, and knows that it was after the object's last write", () => {
    const stream = new Stream({ liveUntilMs: at(3_600_000 - 30_000) / 1000 })
    stream.known.set("restored", writesOfEarlierLife)
    resumed(stream, "120")
    const objects = stream.read(
      { uid: "restored", version: 101, writtenAgoMs: 35_000 },
      { uid: "restored", version: 102, writtenAgoMs: 20_000 },
      { uid: "restored", version: 103, writtenAgoMs: 20_000, fields: {} },
      { uid: "new", version: 104, writtenAgoMs: 10_000 },
    )
    expect(new Set(timings(objects))).toEqual(new Set(["late"]))
    const ago = (micros: number): number => Math.round((stream.nowMs * 1000 - micros) / 1000)
    expect(objects.map(({ happenedMicros }) => (happenedMicros === 0 ? 0 : ago(happenedMicros)))).toEqual([
      0, 19_500, 0, 9500,
    ])
    expect(objects.map(({ sinceMicros }) => ago(sinceMicros))).toEqual([35_000, 20_000, 20_000, 10_000])
  })

  test("was written again in the second of the last write, if nothing was written later and no field was removed", () => {
    const stream = new Stream({ liveUntilMs: at(3_600_000 - 30_000) / 1000 })
    resumed(stream, "120")
    const terminating = { creationTimestamp: secondsText(0), deletionTimestamp: secondsText(stream.nowMs - 10_000) }
    const objects = stream.read(
      { uid: "a", version: 101, writtenAgoMs: 20_000 },
      { uid: "a", version: 102, writtenAgoMs: 20_000 },
      { uid: "b", version: 103, writtenAgoMs: 12_000 },
      { uid: "a", version: 104, writtenAgoMs: 20_000 },
      { uid: "a", version: 105, writtenAgoMs: 20_000, metadata: terminating },
      { uid: "a", version: 106, writtenAgoMs: 20_000, metadata: terminating, action: 2 },
      { uid: "b", version: 107, writtenAgoMs: 9000 },
      { uid: "b", version: 108, writtenAgoMs: 9000, action: 2 },
    )
    const told = objects.map(({ happenedMicros }) =>
      happenedMicros === 0 ? 0 : Math.round((stream.nowMs * 1000 - happenedMicros) / 1000),
    )
    expect(told).toEqual([19_500, 19_500, 11_500, 0, 9500, 9500, 8500, 0])
  })

  test("tells the watches of other kinds which version the server had", () => {
    const stream = new Stream({ liveUntilMs: at(3_600_000 - 30_000) / 1000 })
    resumed(stream, "120")
    expect(stream.versions.after(100, 200)).toEqual({ version: 120, micros: at(3_600_000) })
  })

  test("says by itself what is late if the server's versions are no numbers", () => {
    const stream = new Stream({ liveUntilMs: at(3_600_000 - 30_000) / 1000 })
    resumed(stream, "abc")
    stream.clock.advance(5000)
    expect(timings(stream.read({ writtenAgoMs: 4500 }))).toEqual(["late"])
  })
})

describe("an open watch", () => {
  test("that was silent brings late changes until one was written just now", () => {
    const stream = new Stream().listed()
    stream.read({ writtenAgoMs: 200 })
    stream.clock.advance(20_000)
    const objects = stream.read(
      { writtenAgoMs: 19_000 },
      { writtenAgoMs: 9000 },
      { writtenAgoMs: 700 },
      { writtenAgoMs: 100 },
    )
    expect(timings(objects)).toEqual(["late", "late", "live", "live"])
    expect(objects[0]?.stretch).toEqual({ notBefore: at(3_600_000 - 1000), notAfter: undefined, cause: "delayed" })
  })

  test("that was silent leaves a change undecided whose object has no times", () => {
    const stream = new Stream().listed()
    stream.clock.advance(20_000)
    expect(timings(stream.read({}, { writtenAgoMs: 9000 }, {}))).toEqual(["undecided", "late", "late"])
  })

  test("whose objects were always written some seconds ago is behind", () => {
    const stream = new Stream().listed()
    const seen: Array<string> = []
    // It falls behind by 0.6 s a second, to 9 s.
    for (let count = 0; count < 20; count++) {
      stream.clock.advance(1000)
      seen.push(...timings(stream.read({ writtenAgoMs: Math.min(9000, count * 600) })))
    }
    const firstLate = seen.indexOf("late")
    expect(firstLate).toBeGreaterThan(5)
    expect(firstLate).toBeLessThan(14)
    expect(new Set(seen.slice(firstLate))).toEqual(new Set(["late"]))
  })

  test("is not late when a kind without changes for an hour has one", () => {
    const stream = new Stream().listed()
    stream.clock.advance(3_600_000)
    expect(timings(stream.read({ writtenAgoMs: 300 }))).toEqual(["live"])
    stream.clock.advance(3_600_000)
    stream.known.set("a", { ...long, written: Math.floor(stream.nowMs / 1000) - 3600 })
    expect(timings(stream.read({ uid: "a", action: 2, writtenAgoMs: 3_600_000 }))).toEqual(["undecided"])
    stream.clock.advance(60_000)
    expect(timings(stream.read({ writtenAgoMs: 0 }))).toEqual(["live"])
  })

  test("is not late when objects are rewritten that keep their times, as a storage migration does", () => {
    const stream = new Stream().listed()
    stream.clock.advance(30_000)
    stream.read({ writtenAgoMs: 0 })
    for (let count = 0; count < 20; count++) {
      stream.clock.advance(700)
      expect(timings(stream.read({ writtenAgoMs: 86_400_000 - count * 1000 }))).toEqual(["live"])
    }
    stream.clock.advance(10_000)
    expect(timings(stream.read({ writtenAgoMs: 86_400_000 }, { writtenAgoMs: 86_300_000 }))).not.toContain("late")
  })

  test("is not late when a field is removed after a silence, which leaves the time of the last write", () => {
    const stream = new Stream().listed()
    stream.clock.advance(600)
    expect(timings(stream.read({ uid: "a", writtenAgoMs: 0 }))).toEqual(["live"])
    stream.clock.advance(600)
    expect(timings(stream.read({ uid: "a", version: 2, writtenAgoMs: 0 }))).toEqual(["live"])
    for (let version = 3; version < 6; version++) {
      stream.clock.advance(40_000)
      const ago = 40_000 * (version - 2)
      expect(timings(stream.read({ uid: "a", version, writtenAgoMs: ago }))).toEqual(["undecided"])
    }
    // So did one that was behind: the evidence is another object.
    stream.clock.advance(20_000)
    const burst = stream.read({ uid: "a", version: 6, writtenAgoMs: 180_000 }, { version: 7, writtenAgoMs: 9000 })
    expect(timings(burst)).toEqual(["undecided", "late"])
    expect(burst[0]?.happenedMicros).toBe(0)
  })

  test("is not late when fields are removed once a second", () => {
    const stream = new Stream().listed()
    stream.read({ uid: "a", writtenAgoMs: 0 })
    for (let version = 2; version < 30; version++) {
      stream.clock.advance(1000)
      expect(timings(stream.read({ uid: "a", version, writtenAgoMs: (version - 1) * 1000 }))).toEqual(["live"])
    }
  })

  test("is not late when fields are removed after a burst of late changes", () => {
    const stream = new Stream().listed()
    stream.clock.advance(20_000)
    const burst = stream.read({ uid: "a", writtenAgoMs: 9000 }, { uid: "a", version: 2, writtenAgoMs: 9000 })
    expect(timings(burst)).toEqual(["late", "late"])
    stream.clock.advance(1000)
    expect(timings(stream.read({ uid: "a", version: 3, writtenAgoMs: 10_000 }))).toEqual(["undecided"])
  })

  test("is not late when an object enters a selection, or was left out so far, long after its last write", () => {
    const stream = new Stream().listed()
    stream.known.set("b", "unknown")
    stream.clock.advance(20_000)
    expect(timings(stream.read({ uid: "b", writtenAgoMs: 9000 }))).toEqual(["undecided"])
  })

  test("is late when a new object, or a new write of a known one, was written within the silence", () => {
    for (const uid of ["new", "u"]) {
      const stream = new Stream().listed()
      stream.clock.advance(20_000)
      expect(timings(stream.read({ uid, writtenAgoMs: 9000 }))).toEqual(["late"])
    }
  })

  test("is not late when a webhook kept a write for long, if the server's versions say so", () => {
    const stream = new Stream().listed()
    for (let version = 10; version < 100; version += 10) {
      stream.clock.advance(6000)
      stream.versions.note(version - 1, stream.clock.wallMicros() - 200_000)
      expect(timings(stream.read({ version, writtenAgoMs: 5500 }))).toEqual(["live"])
    }
    stream.clock.advance(20_000)
    stream.versions.note(101, stream.clock.wallMicros() - 10_000_000)
    expect(timings(stream.read({ version: 105, writtenAgoMs: 9000 }))).toEqual(["late"])
  })

  test("is not confused by an object with times in the future", () => {
    const stream = new Stream().listed()
    stream.clock.advance(5000)
    expect(timings(stream.read({ writtenAgoMs: -86_400_000 }))).toEqual(["live"])
    stream.clock.advance(20_000)
    expect(timings(stream.read({ writtenAgoMs: 15_000 }, { writtenAgoMs: 100 }))).toEqual(["late", "live"])
  })

  test("is not late when the receiver's clock is set, or differs from the server's", () => {
    for (const serverAheadMs of [-90_000, 90_000]) {
      const stream = new Stream({ serverAheadMs }).listed()
      stream.clock.advance(5000)
      expect(timings(stream.read({ writtenAgoMs: 100 }))).toEqual(["live"])
    }
  })

  test("places the times of a server whose clock differs on the receiver's", () => {
    const stream = new Stream({ serverAheadMs: 90_000 }).listed()
    stream.clock.advance(20_000)
    const [object] = stream.read({ writtenAgoMs: 10_000 })
    const error = (object?.happenedMicros ?? 0) - (stream.nowMs - 10_000) * 1000
    expect(Math.abs(error)).toBeLessThanOrEqual(1.1 * second)
  })
})

/** A watch over some minutes, as the server and the network had it. */
const watched = fc.record({
  serverAheadMs: fc.constantFrom(0, 0, -40_000, 40_000),
  phaseMs: fc.integer({ min: 0, max: 999 }),
  /** Pauses between changes, ms; whether the change's object tells when it was written; and the time until it could be received, if it is delayed. */
  changes: fc.array(
    fc.record({
      afterMs: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 30_000 })),
      tells: fc.boolean(),
      delayMs: fc.oneof(
        { weight: 12, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: 5000, max: 40_000 }) },
      ),
    }),
    { minLength: 1, maxLength: 60 },
  ),
})

const play = ({ serverAheadMs, phaseMs, changes }: typeof watched extends fc.Arbitrary<infer T> ? T : never) => {
  const stream = new Stream({ serverAheadMs })
  stream.clock.advance(phaseMs)
  stream.listed()
  const results: Array<{ readonly object: ObservedObject; readonly trueMs: number; readonly receivedMs: number }> = []
  let trueMs = stream.nowMs
  let openMs = 0
  const planned = changes.map(({ afterMs, tells, delayMs }, index) => {
    trueMs += afterMs
    // Nothing overtakes on a stream: a delay holds up everything behind it.
    openMs = Math.max(openMs, trueMs + delayMs)
    return { trueMs, tells, version: index + 1, receivedMs: openMs + 20 }
  })
  for (let next = 0; next < planned.length; ) {
    const { receivedMs } = planned[next] as (typeof planned)[number]
    stream.clock.advance(Math.max(0, receivedMs - stream.nowMs))
    const together = planned.slice(next).filter((change) => change.receivedMs === receivedMs)
    next += together.length
    const objects = stream.read(
      ...together.map((change) => ({
        version: change.version,
        action: change.tells ? (1 as const) : (2 as const),
        writtenAgoMs: change.tells ? stream.nowMs - change.trueMs : 86_400_000,
      })),
    )
    for (const [index, object] of objects.entries()) {
      results.push({ object, trueMs: (together[index] as (typeof planned)[number]).trueMs, receivedMs })
    }
  }
  return results
}

test("the bounds of a late change contain the time at which it happened", () => {
  fc.assert(
    fc.property(watched, (given) => {
      for (const { object, trueMs, receivedMs } of play(given)) {
        if (object.timing !== "late") continue
        const { notBefore, notAfter } = object.stretch as NonNullable<typeof object.stretch>
        expect(notBefore).toBeLessThanOrEqual(trueMs * 1000)
        expect(Math.min(notAfter ?? Number.POSITIVE_INFINITY, receivedMs * 1000)).toBeGreaterThanOrEqual(trueMs * 1000)
      }
    }),
  )
})

test("a change that is received when it happened is not late", () => {
  fc.assert(
    fc.property(watched, ({ changes, ...rest }) => {
      const live = changes.map((change) => ({ ...change, delayMs: 0 }))
      for (const { object } of play({ ...rest, changes: live })) expect(object.timing).not.toBe("late")
    }),
  )
})

test("a change that was delayed for long never counts as live if its object tells", () => {
  fc.assert(
    fc.property(watched, ({ changes, ...rest }) => {
      // One delay after a live change, and everything behind it at once.
      const [first, ...others] = changes
      const delayed = others.map((change, index) => ({ ...change, delayMs: index === 0 ? 20_000 : 0 }))
      const results = play({
        ...rest,
        changes: [{ ...(first as (typeof changes)[number]), tells: true, delayMs: 0 }, ...delayed],
      })
      for (const { object, trueMs, receivedMs } of results) {
        if (object.action === 1 && receivedMs - trueMs > 5000) expect(object.timing).not.toBe("live")
      }
    }),
  )
})
