/** Retention puts what it carries over in the place of a block whose table of contents a reader has: objects are read by the table of what is there now. */
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const gvk = "v1.Pod"

test("an object is not cut from a block that has been replaced since its table was read", () => {
  const directory = temporaryDirectory()
  let version = 0
  const writer = ArchiveWriter.open(directory, {
    now: () => START + version,
    limits: { blockBytes: 4000, retention: { stride: { blocks: 100, events: 10_000, rows: 1000 } } },
  })
  onTestFinished(() => writer.close())
  const incarnation = writer.nextIncarnation("watcher")
  const record = (number: number, isNew: boolean): void => {
    version++
    const object = `{"object":${number},"filler":"${"x".repeat(50 + ((number * 37) % 200))}"}`
    const event = { action: "applied", number, time: START + version, version, object } as const
    const newObjects = isNew ? [number] : []
    writer.append(
      "watcher",
      incarnation,
      version,
      encodeFrame({ gvk, events: [event], newObjects, completeThrough: String(version) }),
    )
    writer.commit()
  }
  for (let number = 1; number <= 200; number++) record(number, true)
  // The even ones live on from the blocks that expire, so that each block is replaced by a smaller one.
  for (let number = 1; number <= 200; number += 2) record(number, false)

  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  // All tables of contents are read before the first object.
  const state = reader.snapshotAt({ time: START + version + 1 })
  const objects = [state.next().value]
  writer.retention.setPolicy({ forMicros: 50, kinds: new Map() })
  while (writer.retention.step(() => true));
  expect(reader.kinds()[0]?.removedThrough).toBeGreaterThan(START + 200)
  objects.push(...state)
  const numbers = objects
    .map((event) => [event?.name, JSON.parse(String(event?.object)).object])
    .sort(([, left], [, right]) => left - right)
  expect(numbers).toEqual(Array.from({ length: 200 }, (_, index) => [`object-${index + 1}`, index + 1]))
})
