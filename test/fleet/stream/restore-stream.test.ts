/** A restored recording is one in which everything goes on: after a kill, after another recorder, and never half. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ArchiveWriter, DATABASE_FILE, DeltaReader, DirectoryNotWritableError } from "../../../src/archive/index.ts"
import { restoreStream, segmentKey } from "../../../src/fleet/index.ts"
import { encodeFrame, START } from "../../archive/sample-frames.ts"
import { recordSample, sample, sampleKinds } from "../../archive/sample-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { MemoryStore } from "../memory-store.ts"
import { expectSameRecording } from "../same-recording.ts"
import { firstTenure, ship, shipAll } from "../shipping-recorder.ts"

const shipped = async (directory: string): Promise<MemoryStore> => {
  const store = new MemoryStore()
  await shipAll(store, directory, 15_000)
  return store
}

/** Ends a restore when so many segments were applied. */
const killAfter = (segments: number) => {
  let left = segments
  const onProgress = (): void => {
    if (--left === 0) throw new Error("killed")
  }
  return { onProgress }
}

test("what was interrupted anywhere goes on where it was, and is no recording before", async () => {
  const original = sample()
  const store = await shipped(original)
  const segments = store.objects.size - 1
  expect(segments).toBeGreaterThan(4)
  const directory = temporaryDirectory()
  for (let nth = 1; nth < segments; nth++) {
    store.reads.length = 0
    await expect(restoreStream(store, directory, killAfter(1))).rejects.toThrow("killed")
    // Nothing before the last one that was applied is read again.
    expect(store.reads.filter((key) => nth > 1 && key.startsWith(segmentKey(nth - 2)))).toEqual([])
    expect(existsSync(join(directory, DATABASE_FILE))).toBe(false)
  }
  const progress: unknown[] = []
  const restored = await restoreStream(store, directory, { onProgress: (each) => progress.push(each) })
  const bytes = [...store.objects].reduce((sum, [key, { length }]) => sum + (key.endsWith(".segment") ? length : 0), 0)
  expect(progress).toEqual([{ segments, allSegments: segments, bytes }])
  expect(restored).toMatchObject({ segments, bytes })
  expectSameRecording(directory, original)
  expect(readdirSync(directory)).not.toContain("restoring")
})

test("what was begun of segments that are void since is begun anew", async () => {
  const original = sample()
  const store = await shipped(original)
  const directory = temporaryDirectory()
  await expect(restoreStream(store, directory, killAfter(2))).rejects.toThrow("killed")
  // Another stream takes the place, as if those segments had never counted.
  const other = await shipped(sample(40))
  await restoreStream(other, directory)
  const expected = temporaryDirectory()
  await restoreStream(other, expected)
  expectSameRecording(directory, expected)
})

test("a directory with a recording is left alone", async () => {
  const store = await shipped(sample(20))
  const directory = sample(20)
  const refused = await restoreStream(store, directory).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(DirectoryNotWritableError)
  expect(String(refused)).toContain("contains a recording")
  expectSameRecording(directory, sample(20))
})

test("a recorder continues in what was restored, from the state that it had, with the parts of its open block", async () => {
  const original = temporaryDirectory()
  const writer = recordSample(original, 31)
  const store = new MemoryStore()
  const reader = new DeltaReader(original)
  const first = await ship(store, reader, firstTenure, { maximumBytes: 15_000 })
  reader.close()

  const directory = temporaryDirectory()
  const { position, last } = await restoreStream(store, directory)
  expect(position).toEqual(first.position)
  const now = () => START + 40_000_000
  const next = ArchiveWriter.open(directory, { now, limits: { blockBytes: 12_000, blocksPerCheckpoint: 4 } })
  expect(next.cut()).toBe(writer.cut())
  for (const gvk of sampleKinds) {
    expect(next.kindState(gvk)).toEqual(writer.kindState(gvk))
    expect([...next.liveObjects(gvk)]).toEqual([...writer.liveObjects(gvk)])
  }
  expect([...next.livingPods()]).toEqual([...writer.livingPods()])
  writer.close()

  const gvk = "v1.ConfigMap"
  for (let at = 1; at <= 30; at++) {
    const event = {
      action: "applied",
      number: 1,
      time: now() + at,
      version: 500 + at,
      object: "x".repeat(900),
    } as const
    next.append("watcher/1", 1, at, encodeFrame({ gvk, events: [event], completeThrough: String(500 + at) }))
    if (at % 4 === 0) next.commit()
  }
  next.commit()
  const own = new DeltaReader(directory)
  const tenure = { epoch: 2, owner: "owner-2", last, position }
  const second = await ship(store, own, tenure)
  own.close()
  expect(second.last?.facts).toMatchObject({
    after: first.position.sequence,
    through: next.cut(),
    kinds: [{ gvk, events: 30 }],
  })
  const third = temporaryDirectory()
  await restoreStream(store, third)
  expectSameRecording(third, directory)
  next.close()
})
