/** What is still to be copied elsewhere stays, as long as there is room. */

import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const pod = "v1.Pod"

/** 300 versions of one object, one each µs, in many blocks, of which all but the last 100 µs are to be removed. */
const recording = () => {
  const directory = temporaryDirectory()
  let version = 0
  const writer = ArchiveWriter.open(directory, {
    now: () => START + version,
    limits: { blockBytes: 4000, retention: { stride: { blocks: 100, events: 10_000, rows: 1000 } } },
  })
  onTestFinished(() => writer.close())
  const incarnation = writer.nextIncarnation("watcher")
  while (version < 300) {
    version++
    const object = `{"version":${version},"filler":"${"x".repeat(300)}"}`
    const event = { action: "applied", number: 1, time: START + version, version, object } as const
    const newObjects = version === 1 ? [1] : []
    const frame = encodeFrame({ gvk: pod, events: [event], newObjects, completeThrough: String(version) })
    writer.append("watcher", incarnation, version, frame)
    writer.commit()
  }
  writer.retention.setPolicy({ forMicros: 100, kinds: new Map() })
  const work = (): void => {
    while (writer.retention.step(() => true));
  }
  const read = () => {
    const reader = ArchiveReader.open(directory)
    try {
      const window = { cut: reader.cut(), fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER, kinds: [pod] }
      return { gaps: [...reader.gaps(window)], removed: writer.retention.statistics.events }
    } finally {
      reader.close()
    }
  }
  const blocks = (): ReadonlyArray<unknown> => {
    const database = new DatabaseSync(join(directory, "recording.db"), { readOnly: true })
    try {
      return database.prepare("SELECT first_sequence, last_sequence, sealed FROM block").all()
    } finally {
      database.close()
    }
  }
  return { retention: writer.retention, work, read, blocks }
}

test("blocks that are held are neither removed nor merged, and those before them are", () => {
  const { retention, work, read, blocks } = recording()
  const before = blocks()
  retention.hold(0)
  work()
  expect(read()).toEqual({ gaps: [], removed: 0 })
  expect(blocks()).toEqual(before)
  retention.hold(100)
  work()
  const { removed } = read()
  expect(removed).toBeGreaterThan(50)
  expect(removed).toBeLessThanOrEqual(100)
  retention.hold(Number.POSITIVE_INFINITY)
  work()
  expect(read().removed).toBeGreaterThan(150)
  expect(retention.statistics.unsentEvents).toBe(0)
})

test("when commits find no room, what is held is removed too, and is a gap", () => {
  const { retention, work, read } = recording()
  retention.hold(100)
  retention.press()
  work()
  const { gaps, removed } = read()
  expect(removed).toBeGreaterThan(150)
  expect(retention.statistics.unsentEvents).toBeGreaterThan(50)
  expect(gaps).toMatchObject([{ gvk: pod, reason: "dropped-before-upload" }])
  const [gap] = gaps
  expect(gap?.fromTime).toBeGreaterThan(START + 50)
  expect(gap?.fromTime).toBeLessThanOrEqual(START + 101)
  expect(gap?.toTime).toBeGreaterThan(START + 150)
})
