/** How a recording is opened without changing its directory: with a writer, without one, with a log, without one, and without what should be there. */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../src/archive/damage/verify-recording.ts"
import { lockDirectory } from "../../src/archive/directory/directory-lock.ts"
import { readRecordingFacts } from "../../src/archive/reading/recording-facts.ts"
import { DATABASE_FILE, isBeingWritten } from "../../src/archive/tables/reading-access.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { asIfCrashed } from "./crashed-copy.ts"
import { encodeFrame, START } from "./sample-frames.ts"

const gvk = "v1.ConfigMap"

/** A recording of so many changes of one object, each in a commit of its own. */
const written = (directory: string, changes: number): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, { now: () => START + changes })
  for (let number = 1; number <= changes; number++) {
    const event = {
      action: "applied",
      number: 1,
      time: START + number,
      version: number,
      object: `{"n":${number}}`,
    } as const
    const newObjects = number === 1 ? [1] : []
    const frame = encodeFrame({ gvk, epoch: 1, newObjects, events: [event], completeThrough: String(number) })
    writer.append("watcher/0", 1, number, frame)
    writer.commit()
  }
  return writer
}

const eventsIn = (directory: string): number => {
  const reader = ArchiveReader.open(directory)
  try {
    return [...reader.events()].length
  } finally {
    reader.close()
  }
}

const content = (directory: string) =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .map((name) => [name, readFileSync(join(directory, name))] as const)

test("a directory is being written while its lock is held, and looking changes nothing", () => {
  const directory = temporaryDirectory()
  expect(isBeingWritten(directory)).toBe(false)
  expect(readdirSync(directory)).toEqual([])
  const lock = lockDirectory(directory)
  expect(isBeingWritten(directory)).toBe(true)
  lock.release()
  expect(isBeingWritten(directory)).toBe(false)
  expect(readdirSync(directory)).toEqual(["recorder.lock"])
})

test("another process sees the lock, and looking does not free it", () => {
  const directory = temporaryDirectory()
  const lock = lockDirectory(directory)
  const module = new URL("../../src/archive/tables/reading-access.ts", import.meta.url).href
  const look = (): string =>
    execFileSync(process.execPath, [
      ...["--input-type=module", "-e"],
      `import { isBeingWritten } from ${JSON.stringify(module)}; console.log(isBeingWritten(${JSON.stringify(directory)}))`,
    ]).toString()
  expect([look(), isBeingWritten(directory), look()]).toEqual(["true\n", true, "true\n"])
  lock.release()
  expect(look()).toBe("false\n")
})

test("a killed writer's log is read, with and without its index, and nothing is created or changed", () => {
  const writer = written(temporaryDirectory(), 9)
  const copies = [asIfCrashed(writer.directory), asIfCrashed(writer.directory)]
  rmSync(join(copies[1] ?? "", `${DATABASE_FILE}-shm`))
  for (const copy of copies) {
    const before = content(copy)
    expect(eventsIn(copy)).toBe(9)
    expect(readRecordingFacts(copy)).toMatchObject({ cut: 9, lastTime: START + 9, isWritten: false, lacksLog: false })
    expect(content(copy)).toEqual(before)
  }
  expect(readRecordingFacts(writer.directory)).toMatchObject({ cut: 9, isWritten: true, lacksLog: false })
  writer.close()
})

test("a log that was begun again and has no transaction yet is left to the recorder that starts while it is read", () => {
  const directory = temporaryDirectory()
  const writer = written(directory, 3)
  const log = readFileSync(join(asIfCrashed(directory), `${DATABASE_FILE}-wal`))
  writer.close()
  const unfinished = Buffer.concat([log.subarray(0, 32), Buffer.alloc(5000, 1)])
  for (const begun of [log.subarray(0, 32), unfinished]) {
    writeFileSync(join(directory, `${DATABASE_FILE}-wal`), begun)
    const before = content(directory)
    expect(eventsIn(directory)).toBe(3)
    expect(content(directory)).toEqual(before)
    truncateSync(join(directory, DATABASE_FILE), 8192)
    expect(() => eventsIn(directory)).toThrow(/recording\.db is cut off: 8192 of \d+ bytes/)
    for (const [name, bytes] of before) writeFileSync(join(directory, name), bytes)
  }
})

test("a damaged log of which nothing can be read is left as it is by whoever looks at the damage", () => {
  const directory = temporaryDirectory()
  const writer = written(directory, 3)
  const copy = asIfCrashed(directory)
  writer.close()
  const path = join(copy, `${DATABASE_FILE}-wal`)
  const log = readFileSync(path)
  const damagedAt = (offset: number): Buffer => {
    const damaged = Buffer.from(log)
    damaged[offset] = (damaged[offset] ?? 0) ^ 1
    return damaged
  }
  for (const damaged of [log.subarray(0, 20), damagedAt(0), damagedAt(100)]) {
    writeFileSync(path, damaged)
    expect(verifyRecording(copy).faults[0]).toMatch(/its log is (cut off|damaged)|beginning of its log is damaged/)
    expect(readFileSync(path)).toEqual(damaged)
  }
})

test("a closed recording is read without creating a log", () => {
  const writer = written(temporaryDirectory(), 3)
  writer.close()
  expect(eventsIn(writer.directory)).toBe(3)
  expect(readRecordingFacts(writer.directory)).toMatchObject({ isWritten: false, lacksLog: false })
  expect(readdirSync(writer.directory).sort()).toEqual(["leases", "recorder.lock", DATABASE_FILE])
})

test("a recording that was not closed and has no log shows that it lacks one", () => {
  const writer = written(temporaryDirectory(), 3)
  const copy = asIfCrashed(writer.directory)
  writer.close()
  for (const file of ["-wal", "-shm"]) rmSync(join(copy, DATABASE_FILE + file))
  expect(readRecordingFacts(copy)).toMatchObject({ cut: 0, lacksLog: true })
})

test("a reader that was opened without a writer notices one that starts, and one beside a writer is not disturbed", () => {
  const first = written(temporaryDirectory(), 3)
  const beside = ArchiveReader.open(first.directory)
  expect(() => beside.requireUndisturbed()).not.toThrow()
  first.close()
  const alone = ArchiveReader.open(first.directory)
  expect(() => alone.requireUndisturbed()).not.toThrow()
  const second = ArchiveWriter.open(first.directory)
  expect(() => alone.requireUndisturbed()).toThrow(/a recorder was started in .* while it was being read; try again/)
  expect(() => beside.requireUndisturbed()).not.toThrow()
  second.close()
  for (const reader of [alone, beside]) reader.close()
})
