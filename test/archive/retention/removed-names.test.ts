/**
 * Retention removes the rows of objects that had ended, while someone still reads a state in which they are: the reader
 * is told that it was outrun; or while someone names them anew: they stay.
 */
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

const recording = (collectAfter = 4096) => {
  const directory = temporaryDirectory()
  let time = START
  const writer = ArchiveWriter.open(directory, {
    now: () => time,
    limits: { blockBytes: 4000, retention: { collectAfter, stride: { blocks: 100, events: 10_000, rows: 1000 } } },
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
  return { directory, writer, record, now: () => time }
}

const first = Array.from({ length: objects }, (_, index) => index + 1)

test("a name that is gone is not damage, but the sign that the reader was outrun", () => {
  const { directory, writer, record, now } = recording()
  record("applied", first, true)
  const moment = now() + 1
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
  expect(Array.from(reader.snapshotAt({ time: now() + 1 }), ({ name }) => name)).toEqual([`object-${objects + 1}`])
})

test("an owner that is named again while unnamed ones are removed stays, whenever that is", () => {
  const learnt = (name: string, owners: ReadonlyArray<string> = []) => ({
    ...{ uid: name, gvk: "example.com/v1.Owner", namespace: "shop", name, state: "learnt" as const },
    ownerReferences: JSON.stringify(
      owners.map((uid) => ({ apiVersion: "example.com/v1", kind: "Owner", name: uid, uid })),
    ),
  })
  /** Whether retention had as many steps. */
  const namedAfter = (steps: number): boolean => {
    const { directory, writer, record } = recording(1)
    const resolver = writer.nextIncarnation("resolver")
    writer.appendOwners("resolver", resolver, 1, [learnt("deployment")], 100)
    record("applied", first, true)
    record("deleted", first)
    record("applied", [objects + 1], true)
    for (let count = 0; count < 30; count++) record("applied", [objects + 1])
    writer.retention.setPolicy({ forMicros: 5, kinds: new Map() })
    let step = 0
    for (let isMore = true; isMore; step++) {
      if (step === steps) {
        writer.appendOwners("resolver", resolver, 2, [learnt("replica-set", ["deployment"])], 100)
        writer.commit()
      }
      isMore = writer.retention.step(() => true)
    }
    if (step <= steps) return false
    const database = new DatabaseSync(join(directory, "recording.db"), { readOnly: true })
    const uids = database.prepare("SELECT uid FROM owner ORDER BY uid").all()
    database.close()
    expect(uids).toContainEqual({ uid: "deployment" })
    return true
  }
  let steps = 0
  while (namedAfter(steps)) steps++
  expect(steps).toBeGreaterThan(5)
})
