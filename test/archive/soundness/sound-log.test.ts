/** Which logs are damaged, and which only have left-overs behind their end. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { faultOfLog } from "../../../src/archive/tables/reading-access.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { asIfCrashed } from "../crashed-copy.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const frameBytes = 24 + 4096

/** A recording with a log, as a killed recorder leaves it. */
const crashed = (commits = 20): string => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  append(writer, 1, commits)
  const copy = asIfCrashed(directory)
  writer.close()
  return copy
}

const append = (writer: ArchiveWriter, from: number, commits: number, bytes = 100): void => {
  const incarnation = writer.nextIncarnation("watcher")
  for (let number = from; number < from + commits; number++) {
    const object = JSON.stringify({ number, filler: "x".repeat(bytes) })
    const events = [{ action: "applied" as const, number, time: START + number, version: number, object }]
    writer.append("watcher", incarnation, number, encodeFrame({ gvk: "v1.Pod", newObjects: [number], events }))
    writer.commit()
  }
}

const logOf = (directory: string): string => join(directory, "recording.db-wal")

test("every changed byte is noticed", () => {
  const directory = crashed()
  const whole = readFileSync(logOf(directory))
  expect(faultOfLog(logOf(directory))).toBeUndefined()
  for (let at = 0; at < whole.length; at += 1013) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] as number) ^ 1
    writeFileSync(logOf(directory), changed)
    expect(faultOfLog(logOf(directory)), `byte ${at}`).toMatch(/log is damaged|beginning of its log is damaged/)
  }
})

test("what a killed writer left unfinished, and its successor wrote over in part, is no damage", () => {
  const directory = crashed()
  // Frames of a transaction that was never finished: as a real one, without a frame that ends it, and with the salts of the log.
  const log = readFileSync(logOf(directory))
  const unfinished = Buffer.concat(Array.from({ length: 60 }, () => Buffer.from(log.subarray(32, 32 + frameBytes))))
  for (let frame = 0; frame < 60; frame++) unfinished.writeUInt32BE(0, frame * frameBytes + 4)
  writeFileSync(logOf(directory), Buffer.concat([log, unfinished]))
  expect(faultOfLog(logOf(directory))).toBeUndefined()
  const writer = ArchiveWriter.open(directory)
  append(writer, 21, 2)
  const again = asIfCrashed(directory)
  writer.close()
  expect(faultOfLog(logOf(again))).toBeUndefined()
  const reader = ArchiveReader.open(again)
  expect(reader.cut()).toBe(22)
  reader.close()
})

test("frames from before the log was begun again are no damage", () => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  append(writer, 1, 300, 8000)
  expect(readFileSync(logOf(directory)).length).toBeGreaterThan(4_000_000)
  const copy = asIfCrashed(directory)
  writer.close()
  expect(faultOfLog(logOf(copy))).toBeUndefined()
})

test("a recording whose log is damaged is not read as if it ended there", () => {
  const directory = crashed()
  const log = readFileSync(logOf(directory))
  log[32 + 24 + 5000] = (log[32 + 24 + 5000] as number) ^ 4
  writeFileSync(logOf(directory), log)
  expect(() => ArchiveReader.open(directory)).toThrow(
    "its log is damaged at frame 2; what follows there cannot be read",
  )
})
