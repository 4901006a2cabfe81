import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { DATABASE_FILE } from "../../src/archive/tables/schema.ts"
import type { TraceEvent } from "../../src/trace/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { encodeFrame, gapAt, plain, type SampleEvent, START } from "./sample-frames.ts"

const POD = "v1.Pod"
const NODE = "v1.Node"

const openWriter = (directory: string, blockBytes = 3000): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, { limits: { blockBytes, blocksPerCheckpoint: 3 } })
  onTestFinished(() => writer.close())
  return writer
}

const openReader = (directory: string): ArchiveReader => {
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  return reader
}

const change = (number: number, time: number, rest: Partial<SampleEvent> = {}): SampleEvent => ({
  action: "applied",
  number,
  time: START + time,
  version: time,
  object: `{"number":${number},"time":${time},"filler":"${"x".repeat(100)}"}`,
  ...rest,
})

/** Frames of ten events, alternately of two kinds, one event a µs. */
const frameAt = (step: number): Buffer => {
  const gvk = step % 2 === 0 ? POD : NODE
  const events = Array.from({ length: 10 }, (_, index) => change(1 + index, step * 10 + index))
  return encodeFrame({ gvk, events, newObjects: step < 2 ? events.map(({ number }) => number) : [] })
}

const writeStep = (writer: ArchiveWriter, step: number): void => {
  writer.append(`watcher/${step % 2}`, 1, step + 1, frameAt(step))
  writer.commit()
}

test("readers that pause while blocks are sealed see exactly the events before their cut", () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat(30)), (steps) => {
      const directory = temporaryDirectory()
      const writer = openWriter(directory)
      const readers: Array<{ cut: number; events: Iterator<TraceEvent>; sequences: Array<number> }> = []
      const go = (reader: (typeof readers)[number], count: number): boolean => {
        for (let taken = 0; taken < count; taken++) {
          const next = reader.events.next()
          if (next.done === true) return false
          reader.sequences.push(next.value.sequence)
        }
        return true
      }
      for (let step = 0; step < 60; step++) {
        writeStep(writer, step)
        if (step % 6 === 0) {
          const cut = writer.cut()
          readers.push({ cut, events: openReader(directory).events({ cut }), sequences: [] })
        }
        for (const reader of readers) go(reader, steps.next().value)
      }
      for (const reader of readers) {
        while (go(reader, 100));
        expect(reader.sequences).toEqual(Array.from({ length: reader.cut }, (_, index) => index + 1))
      }
    }),
    { numRuns: 5 },
  )
})

test("a reader that stopped midway does not hold the write-ahead log", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory)
  for (let step = 0; step < 20; step++) writeStep(writer, step)
  const reader = openReader(directory)
  const events = reader.events()
  const live = writer.liveObjects(POD)[Symbol.iterator]()
  const snapshot = reader.snapshotAt({ time: START + 150 })
  for (const half of [events, live, snapshot]) expect(half.next().done).toBe(false)
  writeStep(writer, 20)
  const other = new DatabaseSync(join(directory, DATABASE_FILE), { timeout: 0 })
  expect(other.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()).toEqual({ busy: 0, log: 0, checkpointed: 0 })
  other.close()
})

test("a window is from inclusive to exclusive, and follows the snapshot before it", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory)
  for (let step = 0; step < 20; step++) writeStep(writer, step)
  const reader = openReader(directory)
  const times = Array.from(
    reader.events({ fromTime: START + 35, untilTime: START + 52, kinds: [POD] }),
    ({ time }) => time - START,
  )
  expect(times).toEqual([40, 41, 42, 43, 44, 45, 46, 47, 48, 49])
  const snapshot = Array.from(reader.snapshotAt({ time: START + 45 }), ({ gvk, time }) => [gvk, time - START])
  expect(snapshot.filter(([gvk]) => gvk === POD).map(([, time]) => time)).toEqual([
    25, 26, 27, 28, 29, 40, 41, 42, 43, 44,
  ])
  expect(snapshot.filter(([gvk]) => gvk === NODE).map(([, time]) => time)).toEqual([
    30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
  ])
})

test("gaps are at the time at which they were closed, and a gap that overlaps the window is always included", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory)
  const events = [change(1, 1_000_000), change(1, 2_000_000), change(1, 3_000_000)]
  writer.append("watcher", 1, 1, encodeFrame({ gvk: POD, newObjects: [1], events, gaps: [gapAt(START + 2_000_000)] }))
  writer.recordGap(NODE, gapAt(START + 2_550_000, "closed after the window"))
  writer.recordGap(NODE, gapAt(START + 900_000, "before the window"))
  writer.commit()
  const reader = openReader(directory)
  const told = (event: TraceEvent) => (event.type === "gap" ? event.detail : event.sequence)
  expect(Array.from(reader.events(), told)).toEqual([
    "before the window",
    1,
    2,
    "410 Gone",
    "closed after the window",
    3,
  ])
  const window = { fromTime: START + 1_500_000, untilTime: START + 2_500_000 }
  expect(Array.from(reader.events(window), told)).toEqual([2, "410 Gone", "closed after the window"])
  expect(Array.from(reader.events({ ...window, kinds: [POD] }), told)).toEqual([2, "410 Gone"])
  expect(Array.from(reader.events({ ...window, cut: 3 }), told)).toEqual([2])
  expect(reader.gaps({ kinds: [NODE] }).map(({ detail }) => detail)).toEqual([
    "before the window",
    "closed after the window",
  ])
  expect(reader.gaps(window)[0]).toEqual({
    type: "gap",
    sequence: 4,
    time: START + 2_000_000,
    gvk: POD,
    ...gapAt(START + 2_000_000),
  })
})

test("vanished objects are looked up in their last state, also before a checkpoint", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory, 500)
  const watched = change(1, 5, { object: '{"labels":{"app":"web"}}' })
  writer.append("watcher", 1, 1, encodeFrame({ gvk: POD, newObjects: [1, 2, 3], events: [watched] }))
  for (let step = 1; step <= 40; step++) {
    writer.append(
      "watcher",
      1,
      1 + step,
      encodeFrame({ gvk: POD, events: [change(2, 10 * step), change(2, 10 * step + 1)] }),
    )
    writer.commit()
  }
  const vanished = [1, 2, 3].map((number) => change(number, 5000, { action: "vanished", object: "" }))
  writer.append("watcher", 1, 50, encodeFrame({ gvk: POD, events: vanished }))
  writer.commit()
  const reader = openReader(directory)
  const last = Array.from(reader.events({ fromTime: START + 5000 }), (event) => {
    expect(event.type === "object" && event.action).toBe("vanished")
    const state = event.type === "object" ? reader.lastStateBefore(event) : undefined
    return state === undefined ? undefined : plain(state)
  })
  expect(last[0]).toMatchObject({
    name: "object-1",
    action: "applied",
    object: '{"labels":{"app":"web"}}',
    time: START + 5,
  })
  expect(last[1]).toMatchObject({ name: "object-2", action: "applied", time: START + 401 })
  expect(last[2]).toBeUndefined()
})

test("a recording reports what it covers", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory)
  const reader = openReader(directory)
  expect(reader.summary()).toEqual({ events: 0, gaps: 0, minTime: 0, maxTime: 0 })
  expect([...reader.blocks()]).toEqual([])
  expect(reader.cut()).toBe(0)
  for (let step = 0; step < 20; step++) writeStep(writer, step)
  writer.recordGap(POD, gapAt(START + 500))
  writer.metadata.set("clusterUid", "c-1")
  writer.commit()
  expect(reader.summary()).toEqual({ events: 200, gaps: 1, minTime: START, maxTime: START + 199 })
  expect(reader.cut()).toBe(201)
  expect(reader.kinds().map(({ gvk, nextObjectNumber }) => [gvk, nextObjectNumber])).toEqual([
    [POD, 11],
    [NODE, 11],
  ])
  expect(reader.metadata().get("clusterUid")).toBe("c-1")
  const blocks = [...reader.blocks()]
  expect(blocks.filter(({ isSealed }) => isSealed).length).toBeGreaterThan(3)
  expect(blocks.flatMap(({ firstSequence, lastSequence }) => [firstSequence, lastSequence + 1]).slice(1, -1)).toEqual(
    blocks.slice(1).flatMap(({ firstSequence }) => [firstSequence, firstSequence]),
  )
  const [, second] = blocks
  expect([
    ...reader.blocks({ fromSequence: second?.lastSequence ?? 0, throughSequence: second?.lastSequence ?? 0 }),
  ]).toEqual([second])
})

test("a finished recording is read from a directory that no one has open", () => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  writeStep(writer, 0)
  writer.close()
  expect([...openReader(directory).events()]).toHaveLength(10)
})
