/** Rows of objects are checked once by a reader, and those that are added afterwards. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { KnownIntact } from "../../../src/archive/damage/known-intact.ts"
import { QueriedRecording } from "../../../src/archive/queries/queried-recording.ts"
import { DATABASE_FILE } from "../../../src/archive/tables/schema.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const gvk = "v1.Pod"

/** A recording to which objects are added, and of which rows are damaged on the disk. */
const recorded = () => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory, { now: () => START })
  onTestFinished(() => writer.close())
  const incarnation = writer.nextIncarnation("watcher")
  const add = (number: number): void => {
    const event = { action: "applied", number, time: START + number, version: number, object: "{}" } as const
    writer.append("watcher", incarnation, number, encodeFrame({ gvk, events: [event], newObjects: [number] }))
    writer.commit()
  }
  const damage = (number: number): void => {
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    let before = 0
    // As if a byte had changed on the disk: the checksum stays.
    database.function("row_checksum", { deterministic: true }, (_) => before)
    before = Number(database.prepare("SELECT checksum FROM object WHERE number = ?").get(number)?.checksum)
    database.prepare("UPDATE object SET name = 'other' WHERE number = ?").run(number)
    database.close()
  }
  const reader = (intact?: KnownIntact): QueriedRecording => {
    const recording = QueriedRecording.open(directory, intact && { intact })
    onTestFinished(() => recording.close())
    return recording
  }
  return { add, damage, reader }
}

test("a damaged row is found by whoever has not checked it, and its object is never read with another name", () => {
  const { add, damage, reader } = recorded()
  const intact = new KnownIntact()
  for (const number of [1, 2, 3]) add(number)
  expect(reader(intact).hasSoundObjects()).toBe(true)
  damage(2)
  expect(reader(intact).hasSoundObjects()).toBe(true)
  expect(reader().hasSoundObjects()).toBe(false)
  expect(() => reader().requireSoundObjects()).toThrow("table object: 1 row has a wrong checksum")
  expect(() => reader(intact).names.nameOf(1, 2)).toThrow("object 2 of kind 1 has a damaged row")
})

test("rows that are added are checked", () => {
  const { add, damage, reader } = recorded()
  const intact = new KnownIntact()
  add(1)
  expect(reader(intact).hasSoundObjects()).toBe(true)
  add(2)
  damage(2)
  expect(reader(intact).hasSoundObjects()).toBe(false)
})
