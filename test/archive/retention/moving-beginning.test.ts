/** A reader says since when there is something, and the beginning moves before it reads: it is told, and gets nothing that begins later. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { beforeEach, describe, expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { RetentionOutranError } from "../../../src/archive/directory/archive-errors.ts"
import { QueriedRecording } from "../../../src/archive/queries/queried-recording.ts"
import { addChecksumFunction } from "../../../src/archive/tables/sound-rows.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { changes } from "../queries/whole-answers.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const pod = "v1.Pod"
const node = "v1.Node"

/** What is recorded, one version of one object each µs, and how many of them are kept. */
const recording = () => {
  const directory = temporaryDirectory()
  let version = 0
  const writer = ArchiveWriter.open(directory, {
    now: () => START + version,
    limits: { blockBytes: 4000, retention: { stride: { blocks: 100, events: 10_000, rows: 1000 } } },
  })
  onTestFinished(() => writer.close())
  const incarnation = writer.nextIncarnation("watcher")
  const record = (count: number, gvk = pod): void => {
    for (let left = count; left > 0; left--) {
      version++
      const object = `{"version":${version},"filler":"${"x".repeat(300)}"}`
      const event = { action: "applied", number: 1, time: START + version, version, object } as const
      const newObjects = version === 1 || gvk === node ? [1] : []
      writer.append(
        "watcher",
        incarnation,
        version,
        encodeFrame({ gvk, events: [event], newObjects, completeThrough: String(version) }),
      )
    }
    writer.commit()
  }
  const keepLast = (micros: number): void => {
    writer.retention.setPolicy({ forMicros: micros, kinds: new Map() })
    while (writer.retention.step(() => true));
  }
  return { directory, writer, record, keepLast }
}

describe("the beginning of a recording moves after its kinds were read", () => {
  let directory = ""
  let keepLast: (micros: number) => void
  beforeEach(() => {
    const { record, ...recorded } = recording()
    ;({ directory, keepLast } = recorded)
    record(300)
    keepLast(200)
  })

  test("events from the beginning that was named are not those from a later one", () => {
    const reader = ArchiveReader.open(directory)
    onTestFinished(() => reader.close())
    const [kind] = reader.kinds()
    const fromTime = (kind?.removedThrough ?? 0) + 1
    expect(fromTime).toBeGreaterThan(START + 50)
    keepLast(50)
    expect(() => [...reader.events({ fromTime })]).toThrow(RetentionOutranError)
    expect(() => [...reader.snapshotAt({ time: fromTime })]).toThrow(RetentionOutranError)
    // What begins after the new beginning is as it was.
    const [moved] = reader.kinds()
    const later = (moved?.removedThrough ?? 0) + 1
    expect(later).toBeGreaterThan(fromTime)
    const versions = Array.from(reader.events({ fromTime: later }), (event) =>
      event.type === "object" ? Number(event.resourceVersion) : Number.NaN,
    )
    expect(versions).toEqual(Array.from(versions, (_, index) => later - START + index))
    expect(versions.at(-1)).toBe(300)
  })

  test("an answer about the past does not begin later than it says", () => {
    const past = QueriedRecording.open(directory)
    onTestFinished(() => past.close())
    const from = past.kindOf(pod)?.recordedSince ?? 0
    expect(from).toBeGreaterThan(START + 50)
    const question = { kinds: [pod], from, to: START + 300 }
    keepLast(100)
    expect(() => [...changes(past, question)]).toThrow(RetentionOutranError)
    past.refresh()
    keepLast(20)
    expect(() => [...changes(past, { ...question, from: past.kindOf(pod)?.recordedSince ?? 0 })]).toThrow(
      RetentionOutranError,
    )
  })
})

test("a damaged block that is removed is a gap of the kinds in it, also if no commit follows", () => {
  const { directory, writer, record, keepLast } = recording()
  record(30)
  record(1, node)
  record(300)
  const database = new DatabaseSync(join(directory, "recording.db"))
  addChecksumFunction(database)
  database.exec(
    "UPDATE block SET toc = zeroblob(length(toc)) WHERE last_sequence = (SELECT min(last_sequence) FROM block)",
  )
  database.close()
  keepLast(250)
  keepLast(200)
  writer.abandon()
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  const gaps = Array.from(reader.events({})).filter(({ type }) => type === "gap")
  expect(gaps).toMatchObject([{ gvk: pod, reason: "damaged" }])
})
