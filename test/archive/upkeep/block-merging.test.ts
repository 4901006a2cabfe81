/** Sealed blocks become one while others read the recording, and nothing reads differently before and after. */

import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { LiveChanges } from "../../../src/archive/queries/live-changes.ts"
import { QueriedRecording } from "../../../src/archive/queries/queried-recording.ts"
import { type MergingBounds, mergingBounds } from "../../../src/archive/retention/block-merging.ts"
import { DATABASE_FILE } from "../../../src/archive/tables/schema.ts"
import { addChecksumFunction } from "../../../src/archive/tables/sound-rows.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, nameOf, plain, START } from "../sample-frames.ts"

const gvk = "v1.Pod"
const objects = 10

/** A writer with blocks of some ten events, one event a ms. */
const writerOf = (directory: string, bounds: Partial<MergingBounds> = {}) => {
  let time = START
  let version = 0
  const writer = ArchiveWriter.open(directory, {
    now: () => time,
    limits: {
      ...{ blockBytes: 4000, blocksPerCheckpoint: 5 },
      retention: { merging: { ...mergingBounds, objectBytes: 20_000, ...bounds } },
    },
  })
  onTestFinished(() => writer.close())
  const incarnation = writer.nextIncarnation("watcher")
  let frames = 0
  return {
    writer,
    record: (events: number): void => {
      for (let more = 0; more < events; more++) {
        time += 1000
        version++
        const number = 1 + (version % objects)
        const { uid, name } = nameOf(gvk, number)
        const object = JSON.stringify({ uid, name, resourceVersion: String(version), text: "x".repeat(300) })
        const event = { action: "applied", number, time, version, object } as const
        const newObjects = version <= objects ? [number] : []
        const frame = encodeFrame({ gvk, events: [event], newObjects, completeThrough: String(version) })
        writer.append("watcher", incarnation, ++frames, frame)
        writer.commit()
      }
    },
    merge: (): void => {
      while (writer.retention.step(() => false));
    },
  }
}

const blocksOf = (directory: string): ReadonlyArray<Record<string, unknown>> => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true })
  try {
    return database
      .prepare("SELECT first_sequence, last_sequence, sealed, events FROM block ORDER BY last_sequence")
      .all()
  } finally {
    database.close()
  }
}

const mergedIn = (directory: string): number => blocksOf(directory).filter(({ sealed }) => sealed === 2).length

const everything = (reader: ArchiveReader) => ({
  events: Array.from(reader.events(), plain),
  state: Array.from(reader.snapshotAt({ time: START + 123_000 }), plain),
  gaps: reader.gaps(),
  summary: reader.summary(),
})

test("what is read is the same before and after, also by whoever has read tables of contents before", () => {
  const directory = temporaryDirectory()
  const { record, merge } = writerOf(directory)
  record(400)
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  const before = everything(reader)
  const blocks = blocksOf(directory).length
  merge()
  expect(mergedIn(directory)).toBeGreaterThan(4)
  expect(blocksOf(directory).length).toBeLessThan(blocks / 2)
  expect(everything(reader)).toEqual(before)
  const anew = ArchiveReader.open(directory)
  onTestFinished(() => anew.close())
  expect(everything(anew)).toEqual(before)
  expect(verifyRecording(directory)).toMatchObject({ isSound: true })
})

test("whoever is in the middle of reading goes on with the next event", () => {
  const directory = temporaryDirectory()
  const { record, merge } = writerOf(directory)
  record(400)
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  const versions: string[] = []
  for (const event of reader.events()) {
    if (event.type === "object") versions.push(event.resourceVersion)
    if (versions.length === 57) merge()
  }
  expect(mergedIn(directory)).toBeGreaterThan(4)
  expect(versions).toEqual(Array.from({ length: 400 }, (_, index) => String(index + 1)))
})

test("whoever follows the recording goes on from the middle of a merged block, and each object appears once", () => {
  const directory = temporaryDirectory()
  const { record, merge } = writerOf(directory)
  record(205)
  const recording = QueriedRecording.open(directory)
  onTestFinished(() => recording.close())
  const told = (live: LiveChanges) =>
    Array.from(live.toCut()).flatMap((item) =>
      item !== undefined && "event" in item ? [[item.type, item.event.sequence] as const] : [],
    )
  const live = new LiveChanges(recording, { after: 0, withBefore: false })
  expect(told(live).filter(([type]) => type === "appeared")).toHaveLength(objects)
  record(200)
  merge()
  recording.refresh()
  const sequences = (from: number) => Array.from({ length: 405 - from }, (_, index) => from + index + 1)
  expect(told(live).map(([, sequence]) => sequence)).toEqual(sequences(205))
  for (const after of [3, 61, 205]) {
    const anew = told(new LiveChanges(recording, { after, withBefore: true }))
    expect(anew.map(([, sequence]) => sequence)).toEqual(sequences(after))
    expect(anew.filter(([type]) => type === "appeared")).toHaveLength(Math.max(0, objects - after))
  }
})

test("a block is merged once, and what is left over waits for more", () => {
  const directory = temporaryDirectory()
  const { record, merge } = writerOf(directory)
  record(200)
  merge()
  const merged = blocksOf(directory).filter(({ sealed }) => sealed === 2)
  record(200)
  merge()
  const now = blocksOf(directory)
  expect(now.slice(0, merged.length)).toEqual(merged)
  expect(mergedIn(directory)).toBeGreaterThan(merged.length)
  expect(now.filter(({ sealed }) => sealed === 1).length).toBeLessThan(10)
})

test("does not span more than a thirty-second of the time for which anything is kept", () => {
  const directory = temporaryDirectory()
  const { writer, record, merge } = writerOf(directory)
  record(400)
  // 25 ms: two or three blocks of some ten events.
  writer.retention.setPolicy({ forMicros: 800_000, kinds: new Map() })
  merge()
  const spans = blocksOf(directory).flatMap(({ sealed, events }) => (sealed === 2 ? [Number(events)] : []))
  expect(spans.length).toBeGreaterThan(10)
  expect(Math.max(...spans)).toBeLessThanOrEqual(26)
})

test("a damaged block stays, is named, and does not keep others from being merged", () => {
  const directory = temporaryDirectory()
  const { writer, record, merge } = writerOf(directory)
  record(400)
  writer.shrinkLog()
  const damaged = Number(blocksOf(directory)[3]?.last_sequence)
  const database = new DatabaseSync(join(directory, DATABASE_FILE))
  addChecksumFunction(database)
  database.prepare("UPDATE block SET data = zeroblob(length(data)) WHERE last_sequence = ?").run(damaged)
  database.close()
  merge()
  expect(mergedIn(directory)).toBeGreaterThan(3)
  expect(verifyRecording(directory).damagedBlocks.map(({ lastSequence }) => lastSequence)).toEqual([damaged])
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  expect(reader.gaps().map(({ detail }) => detail)).toEqual([
    expect.stringContaining(`up to event ${damaged} is damaged`),
  ])
})

test("a block whose row is damaged is not merged: its checksum would be right again", () => {
  const directory = temporaryDirectory()
  const { writer, record, merge } = writerOf(directory)
  record(400)
  writer.shrinkLog()
  const row = blocksOf(directory)[3]
  const key = Number(row?.last_sequence)
  const path = join(directory, DATABASE_FILE)
  const database = new DatabaseSync(path)
  // A checksum function that says what the row had before: as if the number had changed on the disk.
  let before = 0
  database.function("row_checksum", { deterministic: true }, (_) => before)
  before = Number(database.prepare("SELECT checksum FROM block WHERE last_sequence = ?").get(key)?.checksum)
  database.prepare("UPDATE block SET first_sequence = first_sequence + 1 WHERE last_sequence = ?").run(key)
  database.close()
  merge()
  expect(mergedIn(directory)).toBeGreaterThan(3)
  expect(verifyRecording(directory).damagedBlocks.map(({ lastSequence }) => lastSequence)).toEqual([key])
})
