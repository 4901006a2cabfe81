/** Retention removes the rows of objects that had ended, while someone still reads a state in which they are: the reader is told that it was outrun. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { RetentionOutranError } from "../../../src/archive/directory/archive-errors.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const gvk = "v1.Pod"
const objects = 10

test("a name that is gone is not damage, but the sign that the reader was outrun", () => {
  const directory = temporaryDirectory()
  let time = START
  const writer = ArchiveWriter.open(directory, {
    now: () => time,
    limits: { blockBytes: 4000, retention: { stride: { blocks: 100, events: 10_000, rows: 1000 } } },
  })
  onTestFinished(() => writer.close())
  const incarnation = writer.nextIncarnation("watcher")
  let frames = 0
  const record = (action: "applied" | "deleted", numbers: ReadonlyArray<number>, isNew = false): void => {
    time++
    const version = time - START
    const object = `{"version":${version},"filler":"${"x".repeat(300)}"}`
    const events = numbers.map((number) => ({ action, number, time, version, object }))
    const newObjects = isNew ? numbers : []
    writer.append(
      "watcher",
      incarnation,
      ++frames,
      encodeFrame({ gvk, events, newObjects, completeThrough: `${version}` }),
    )
    writer.commit()
  }
  const first = Array.from({ length: objects }, (_, index) => index + 1)
  record("applied", first, true)
  const moment = time + 1
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  const state = reader.snapshotAt({ time: moment })
  expect(state.next().value?.name).toBe("object-1")

  record("deleted", first)
  record("applied", [objects + 1], true)
  for (let count = 0; count < 200; count++) record("applied", [objects + 1])
  writer.retention.setPolicy({ forMicros: 50, kinds: new Map() })
  while (writer.retention.step(() => true));
  // Rows are removed once that pays; here as soon as it may be.
  const database = new DatabaseSync(join(directory, "recording.db"))
  database.exec(`DELETE FROM object WHERE number <= ${objects}`)
  database.close()
  // Their events are in a block that was read already, so only the names are missing.
  expect(() => [...state]).toThrow(RetentionOutranError)
  expect(Array.from(reader.snapshotAt({ time: time + 1 }), ({ name }) => name)).toEqual([`object-${objects + 1}`])
})
