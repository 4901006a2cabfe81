/** How many requests a question costs: of one object's history in a stream of a few hundred segments, without a cache and with one. */
import { expect, test } from "vitest"
import { DeltaReader, provideBlobSource, QueriedRecording } from "../../../src/archive/index.ts"
import { Mirror } from "../../../src/fleet/index.ts"
import { readOrigin, writeOrigin } from "../../../src/fleet/mirror/mirror-places.ts"
import { RangeFetcher } from "../../../src/fleet/mirror/range-fetcher.ts"
import { changes } from "../../archive/queries/whole-answers.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { MemoryStore } from "../memory-store.ts"
import { firstTenure, ship } from "../shipping-recorder.ts"
import { rareObject, recordLarge } from "./large-recording.ts"
import { memorySource } from "./memory-source.ts"

/** 250 segments. */
const record = async (store: MemoryStore): Promise<string> => {
  const directory = temporaryDirectory()
  let reader: DeltaReader | undefined
  let tenure = firstTenure
  await recordLarge(directory, 250, async () => {
    reader ??= new DeltaReader(directory)
    tenure = await ship(store, reader, tenure)
  })
  reader?.close()
  return directory
}

test.each([
  ["that came with the rows", 4096, 6],
  ["that are fetched once", 0, 100],
])(
  "a history costs the tables of contents %s, and the objects of blocks that have a change",
  { timeout: patient(120_000) },
  async (_, keptBytes, most) => {
    const store = new MemoryStore()
    const original = await record(store)
    const cache = { directory: temporaryDirectory(), maximumBytes: 1e9 }
    const mirror = new Mirror(store, { cache, everyMs: -1, keptBytes })
    store.reads.length = 0
    await mirror.update()
    const all = [...store.objects.values()].reduce((sum, { length }) => sum + length, 0)
    expect(store.reads.length).toBe(251)
    const source = memorySource(store)
    provideBlobSource(source)
    const history = (directory: string) => {
      const recording = QueriedRecording.open(directory)
      try {
        return Array.from(changes(recording, { from: 0, uid: rareObject }), ({ event }) => event.time)
      } finally {
        recording.database.close()
      }
    }
    expect(history(mirror.directory)).toEqual(history(original))
    expect(history(original)).toHaveLength(5)

    const ask = async () => {
      store.reads.length = 0
      store.readBytes = 0
      const fetcher = new RangeFetcher(async () => store)
      for (const blobs of source.expected) fetcher.expect(mirror.directory, blobs)
      for (const blob of source.reads) expect(await fetcher.read(mirror.directory, blob)).toHaveProperty("bytes")
      return { requests: store.reads.length, bytes: store.readBytes }
    }
    const cold = await ask()
    expect(cold.requests).toBeLessThanOrEqual(most)
    expect(cold.bytes).toBeLessThan(all / 2)
    expect(await ask()).toEqual({ requests: 0, bytes: 0 })
    // Nothing of it is another stream's that takes its place at the address.
    const origin = readOrigin(mirror.directory)
    if (origin !== undefined) writeOrigin(mirror.directory, { ...origin, stream: "another" })
    expect((await ask()).requests).toBe(cold.requests)
  },
)

test("what is not there is said with its address, and makes the mirror stale", async () => {
  const store = new MemoryStore()
  await record(store)
  const cache = { directory: temporaryDirectory(), maximumBytes: 1e9 }
  const mirror = new Mirror(store, { cache, everyMs: -1 })
  await mirror.update()
  const fetcher = new RangeFetcher(async () => store)
  const gone = { key: "segments/000000000999.segment", at: 8, bytes: 100 }
  expect(await fetcher.read(mirror.directory, gone)).toEqual({
    location: "memory:/segments/000000000999.segment",
    reason: "it is not there any more: segments were compacted or removed meanwhile. Ask again",
  })
  store.reads.length = 0
  await mirror.update()
  expect(store.reads.filter((key) => key.includes("segment"))).toHaveLength(250)
})
