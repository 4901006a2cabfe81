/** What was received later than it happened: its times, the ranges that say so, and what a moment in the past shows of it. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { ArchiveIoError } from "../../src/archive/directory/archive-errors.ts"
import { readCoverage } from "../../src/archive/reading/recorded-coverage.ts"
import { DATABASE_FILE } from "../../src/archive/tables/schema.ts"
import type { LateCause } from "../../src/trace/index.ts"
import { type LateRange, ObservationsBuilder, type PodLife } from "../../src/wire/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { encodeFrame, type SampleFrame, START } from "./sample-frames.ts"

const gvk = "v1.ConfigMap"
const second = 1_000_000
const at = (seconds: number): number => START + seconds * second

interface Change {
  readonly happened: number
  readonly received?: number
  readonly number?: number
}

/** `happened` and `received` are seconds after the start. */
const frameOf = (changes: ReadonlyArray<Change>, more: Partial<SampleFrame> = {}): SampleFrame => ({
  gvk,
  events: changes.map(({ happened, received, number = 1 }) => ({
    ...{ action: "applied", number, time: at(happened), version: happened + 1, object: `{"at":${happened}}` },
    ...(received !== undefined && { received: at(received) }),
  })),
  ...more,
})

const range = (
  from: number,
  to: number,
  received: number,
  events: number,
  more: Partial<LateRange> = {},
): LateRange => ({
  ...{ notBefore: at(from), notAfter: at(to), receivedFrom: at(received), receivedTo: at(received), events },
  ...{ cause: "stopped", namespace: "", ...more },
})

const opened = () => {
  const directory = temporaryDirectory()
  let now = START
  const writer = ArchiveWriter.open(directory, { now: () => now })
  onTestFinished(() => writer.close())
  let number = 0
  return {
    directory,
    writer,
    setTime: (seconds: number): void => {
      now = at(seconds)
    },
    take: (...frames: ReadonlyArray<SampleFrame>): void => {
      for (const frame of frames) writer.append("watcher", 1, ++number, encodeFrame(frame))
    },
    takeBytes: (bytes: Uint8Array): void => {
      writer.append("watcher", 1, ++number, bytes)
      writer.commit()
    },
    read: <Answer>(ask: (reader: ArchiveReader) => Answer): Answer => {
      writer.commit()
      const reader = ArchiveReader.open(directory)
      try {
        return ask(reader)
      } finally {
        reader.close()
      }
    },
  }
}

describe("late ranges", () => {
  test("grow with every frame of the same outage, before its commit and after, and others stay apart", () => {
    const { take, read, writer } = opened()
    const outage = (events: number, to: number, received: number): SampleFrame =>
      frameOf([{ happened: to, received }], { lateRanges: [range(0, to, received, events)] })
    take(frameOf([{ happened: 0 }], { newObjects: [1] }), outage(2, 5, 24), outage(3, 9, 25))
    writer.commit()
    const other = (cause: LateCause, namespace: string): SampleFrame =>
      frameOf([{ happened: 20, received: 26 }], { lateRanges: [range(0, 20, 26, 1, { cause, namespace })] })
    take(outage(5, 20, 26), other("delayed", ""), other("stopped", "shop"))
    const late = read((reader) => reader.lateRanges())
    const whole = { gvk, notBefore: at(0), notAfter: at(20), receivedTo: at(26) }
    expect(late).toHaveLength(3)
    expect(late).toContainEqual({ ...whole, receivedFrom: at(24), events: 10, cause: "stopped", namespace: "" })
    expect(late).toContainEqual({ ...whole, receivedFrom: at(26), events: 1, cause: "delayed", namespace: "" })
    expect(late).toContainEqual({ ...whole, receivedFrom: at(26), events: 1, cause: "stopped", namespace: "shop" })
  })

  test("are counted once if a commit fails and is repeated", () => {
    const { take, read, writer, directory } = opened()
    take(frameOf([{ happened: 0 }], { newObjects: [1] }))
    writer.commit()
    take(frameOf([{ happened: 5, received: 24 }], { lateRanges: [range(0, 20, 24, 4)] }))
    const other = new DatabaseSync(join(directory, DATABASE_FILE))
    other.exec("CREATE TRIGGER failing BEFORE INSERT ON late_range BEGIN SELECT RAISE(ABORT, 'for the test'); END")
    expect(() => writer.commit()).toThrow(ArchiveIoError)
    other.exec("DROP TRIGGER failing")
    other.close()
    expect(read((reader) => reader.lateRanges().map(({ events }) => events))).toEqual([4])
  })

  test("concern a window in which their changes may have happened, and up to a cut", () => {
    const { take, read } = opened()
    take(frameOf([{ happened: 0 }], { newObjects: [1] }))
    take(frameOf([{ happened: 12, received: 24 }], { lateRanges: [range(10, 20, 24, 1)] }))
    const concerns = (from: number, until: number, times?: "received"): number =>
      read((reader) => reader.lateRanges({ fromTime: at(from), untilTime: at(until), ...(times && { times }) })).length
    expect([concerns(0, 10), concerns(0, 11), concerns(20, 22), concerns(21, 22)]).toEqual([0, 1, 1, 0])
    // A window of receipts lacks what happened in it and holds what happened before it.
    expect([concerns(0, 10, "received"), concerns(21, 22, "received"), concerns(25, 26, "received")]).toEqual([0, 1, 0])
    expect(read((reader) => [reader.lateRanges({ cut: 1 }).length, reader.lateRanges({ cut: 2 }).length])).toEqual([
      0, 1,
    ])
    expect(read((reader) => reader.lateRanges({ kinds: ["v1.Pod"] }))).toEqual([])
  })

  test("are part of what a recording covers, beside its gaps", () => {
    const { take, writer, directory } = opened()
    take(frameOf([{ happened: 0 }], { newObjects: [1], completeThrough: "1" }))
    take(frameOf([{ happened: 12, received: 24 }], { lateRanges: [range(10, 20, 24, 1)] }))
    writer.commit()
    const [kind] = readCoverage(directory, { fromTime: at(11), untilTime: at(13) }).kinds
    expect(kind).toMatchObject({ events: 1, late: [{ notBefore: at(10), events: 1 }] })
    expect(readCoverage(directory, { fromTime: at(21), untilTime: at(25) }).kinds[0]).toMatchObject({
      events: 0,
      late: [],
    })
  })
})

describe("a late event", () => {
  test("has the time at which it happened, and says when it was received; by receipt it has that time", () => {
    const { take, read } = opened()
    take(frameOf([{ happened: 0 }], { newObjects: [1] }), frameOf([{ happened: 12, received: 24 }, { happened: 24 }]))
    const seen = read((reader) => Array.from(reader.events(), (event) => ({ ...event, object: undefined })))
    expect(seen.map(({ time }) => time)).toEqual([at(0), at(12), at(24)])
    expect(seen.map((event) => "received" in event && event.received)).toEqual([false, at(24), false])
    const received = read((reader) => Array.from(reader.events({ times: "received", fromTime: at(20) })))
    expect(received.map(({ time }) => time)).toEqual([at(24), at(24)])
    expect(received.some((event) => "received" in event)).toBe(false)
  })

  test("does not move back the time through which its kind is complete, nor that since which it is recorded", () => {
    const { take, writer, setTime } = opened()
    take(frameOf([{ happened: 3 }], { newObjects: [1], completeThrough: "1" }))
    setTime(10)
    take({ gvk, completeThrough: "5" })
    setTime(24)
    take(frameOf([{ happened: 7, received: 24 }], { completeThrough: "9" }))
    writer.commit()
    const state = writer.kindState(gvk)
    expect(state).toMatchObject({ completeThrough: "9", completeThroughTime: at(10), recordedSince: at(3) })
    expect(state).toMatchObject({ lastEventTime: at(7), lastReceivedTime: at(24) })
    take(frameOf([{ happened: 12, received: 25 }], { completeThrough: "13" }))
    writer.commit()
    expect(writer.kindState(gvk).completeThroughTime).toBe(at(12))
  })

  test("of a first list leaves the kind recorded since its list was received", () => {
    const { take, writer } = opened()
    take(frameOf([{ happened: 3, received: 24 }], { newObjects: [1], completeThrough: "1" }))
    writer.commit()
    expect(writer.kindState(gvk).recordedSince).toBe(at(24))
  })

  test("is received in order although the recorder's clock went back", () => {
    const { take, read } = opened()
    take(frameOf([{ happened: 0 }], { newObjects: [1] }), frameOf([{ happened: 12, received: 24 }]))
    take(frameOf([{ happened: 20 }]))
    const times = read((reader) => Array.from(reader.events({ times: "received" }), ({ time }) => time))
    expect(times).toEqual([at(0), at(24), at(24)])
    expect(read((reader) => Array.from(reader.events(), ({ time }) => time))).toEqual([at(0), at(12), at(20)])
  })
})

describe("a moment in the past", () => {
  const life = (seconds: number, more: Partial<PodLife> = {}): PodLife => ({
    ...{ pod: 1, time: at(seconds), start: 100, end: undefined, gone: false, ...more },
  })
  const identity = { uid: "p", namespace: "shop", name: "web", specHash: 7n }
  const lives = (...records: ReadonlyArray<PodLife>): Uint8Array => {
    const builder = new ObservationsBuilder("v1.Pod", { tracksPods: true })
    const slab = Buffer.alloc(4096)
    builder.begin(slab, 0)
    for (const record of records) expect(builder.addPodLife(record)).toBe(true)
    return slab.subarray(0, builder.finish())
  }

  test("shows each pod as it was then, whatever was recorded afterwards", () => {
    const { takeBytes, read } = opened()
    takeBytes(lives(life(1, { identity })))
    const stateAt = (seconds: number, times?: "received") =>
      read((reader) =>
        [...reader.podLives({ cut: Number.MAX_SAFE_INTEGER, untilTime: at(seconds), ...(times && { times }) })].map(
          ({ uid, end }) => `${uid} ${end}`,
        ),
      )
    const asked = [stateAt(1), stateAt(5)]
    takeBytes(lives(life(6, { end: 105 }), life(7, { end: 105, received: at(9), gone: true })))
    // A restored cluster brings the pod back under another number.
    takeBytes(lives(life(10, { pod: 2, identity, start: 110 })))
    expect([stateAt(1), stateAt(5)]).toEqual(asked)
    expect([asked, stateAt(7), stateAt(11)]).toEqual([[[], ["p undefined"]], ["p 105"], ["p undefined"]])
    expect([stateAt(6, "received"), stateAt(11, "received")]).toEqual([["p undefined"], ["p undefined"]])
  })

  test("has the owners that an object had then, whoever adopts it afterwards; the first known ones before that", () => {
    const { takeBytes, read } = opened()
    const owned = (seconds: number, uid: string | undefined, received?: number): Uint8Array => {
      const builder = new ObservationsBuilder("apps/v1.ReplicaSet")
      const slab = Buffer.alloc(4096)
      builder.begin(slab, 0)
      const references = uid === undefined ? "" : JSON.stringify([{ apiVersion: "v1", kind: "Node", name: uid, uid }])
      builder.addObject({
        number: 1,
        uid: "rs",
        namespace: "shop",
        name: "rs",
        ownerReferences: Buffer.from(references),
      })
      builder.append({
        ...frame(seconds),
        receivedMicros: received === undefined ? 0 : at(received),
        bytes: Buffer.from("{}"),
      })
      return slab.subarray(0, builder.finish())
    }
    const frame = (seconds: number) => ({
      ...{ action: 1 as const, objectNumber: 1, timeMicros: at(seconds), receivedMicros: 0, version: seconds },
      ...{ fingerprintLow: 0, fingerprintHigh: 0, start: 0, end: 2 },
    })
    takeBytes(owned(10, "one"))
    const ownersAt = (seconds?: number, times?: "received") =>
      read((reader) => {
        const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", uid: "rs" }
        const edge = reader.ownersOf(owner, seconds === undefined ? undefined : at(seconds), times)
        return edge?.ownerReferences.map(({ name }) => name)
      })
    const asked = [ownersAt(5), ownersAt(20)]
    takeBytes(owned(20, "two"))
    takeBytes(owned(30, undefined, 40))
    expect([ownersAt(5), ownersAt(20)]).toEqual(asked)
    expect([asked, ownersAt(21), ownersAt(30), ownersAt(31), ownersAt()]).toEqual([
      [["one"], ["one"]],
      ...[["two"], ["two"], [], []],
    ])
    expect([ownersAt(40, "received"), ownersAt(41, "received")]).toEqual([["two"], []])
  })
})
