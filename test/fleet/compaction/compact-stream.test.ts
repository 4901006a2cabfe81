/** A stream that is compacted has the recording that it had, wherever a compaction ends, and whoever writes meanwhile. */
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import {
  ArchiveReader,
  type ArchiveWriter,
  DeltaReader,
  lockDirectory,
  verifyRecording,
} from "../../../src/archive/index.ts"
import { TargetError } from "../../../src/blob/index.ts"
import { compactStream, restoreStream, StreamReader, segmentKey } from "../../../src/fleet/index.ts"
import { manifestKey, keysIn as namedIn, readManifest } from "../../../src/fleet/stream/manifest.ts"
import { encodeFrame, plain, START } from "../../archive/sample-frames.ts"
import { recordSample, sample } from "../../archive/sample-recording.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { expectSameRecording } from "../same-recording.ts"
import { firstTenure, ship, shipAll, type Tenure } from "../shipping-recorder.ts"
import { StepsStore } from "./steps-store.ts"

const hourMs = 3_600_000

let ids = 0

type Options = Partial<Parameters<typeof compactStream>[1]>

const compact = (store: StepsStore, options: Options = {}) =>
  compactStream(store, {
    temporaryDirectory: temporaryDirectory(),
    graceMs: hourMs,
    nowMicros: () => store.nowMs * 1000,
    randomId: () => `id${++ids}`,
    rangeBytes: 6000,
    partBytes: 2500,
    ...options,
  })

const restored = async (store: StepsStore): Promise<string> => {
  const directory = temporaryDirectory()
  await restoreStream(store.memory, directory)
  return directory
}

/** A recorder of which each step is a segment. */
class GrowingRecorder {
  readonly directory = temporaryDirectory()
  readonly writer: ArchiveWriter = recordSample(this.directory, 20)
  readonly #reader = new DeltaReader(this.directory)
  #tenure: Tenure = firstTenure
  #frame = 1000
  #version = 1000

  async step(store: StepsStore, events = 3): Promise<void> {
    for (let event = 0; event < events; event++) {
      const version = ++this.#version
      const time = START + version * 1_000_000
      const change = { action: "applied", number: 1 + (version % 9), time, version, object: "x".repeat(700) } as const
      const frame = { gvk: "v1.ConfigMap", events: [change], completeThrough: String(version) }
      this.writer.append("watcher/1", 1, ++this.#frame, encodeFrame(frame))
    }
    this.writer.commit()
    this.#tenure = await ship(store.memory, this.#reader, this.#tenure, { maximumBytes: 8000 })
  }

  close(): void {
    this.#reader.close()
    this.writer.close()
  }
}

/** A stream of many small segments, and what it is of. */
const streamed = async (steps = 14) => {
  const recorder = new GrowingRecorder()
  const store = new StepsStore()
  for (let step = 0; step < steps; step++) await recorder.step(store)
  recorder.close()
  return { store, original: await restored(store) }
}

const keysIn = (store: StepsStore, prefix: string): ReadonlyArray<string> =>
  [...store.memory.objects.keys()].filter((key) => key.startsWith(prefix))

test("few objects are in the place of many, and the recording is what it was, row for row", async () => {
  const { store, original } = await streamed()
  const before = keysIn(store, "segments/")
  const done = await compact(store, { partBytes: 1e6, rangeBytes: 1e6 })
  expect(done).toMatchObject({ segments: before.length - 1, objects: 1, removed: 0, refused: undefined })
  expect(done.writtenBytes).toBeLessThan(done.readBytes * 0.8)
  expectSameRecording(await restored(store), original)
  // Nothing new: nothing is done.
  expect(await compact(store)).toMatchObject({ segments: 0, objects: 0, removed: 0 })
})

test("killed at any call, before or after it took effect, a compaction changes nothing, and the next one goes on", {
  timeout: patient(240_000),
}, async () => {
  const { store: stream, original } = await streamed(3)
  const whole = stream.copy()
  await compact(whole)
  whole.nowMs += 2 * hourMs
  await compact(whole)
  expect(keysIn(whole, "compacted/").length).toBeGreaterThan(1)
  for (const isDone of [false, true])
    for (const [index, name] of whole.calls.entries()) {
      if (isDone && !/^(create|remove)/.test(name)) continue
      const call = index + 1
      const store = stream.copy()
      store.failing = { call, isDone }
      const run = async () => {
        await compact(store)
        store.nowMs += 2 * hourMs
        await compact(store)
      }
      // What is read ahead and not needed may fail.
      await run().catch((error: unknown) => expect(String(error)).toContain("killed"))
      store.failing = { call: 0, isDone }
      expectSameRecording(await restored(store), original)
      await run()
      store.nowMs += 2 * hourMs
      await compact(store)
      expectSameRecording(await restored(store), original)
      expect(keysIn(store, "segments/").length).toBeLessThanOrEqual(2)
    }
})

test("while a recorder goes on between any two steps, nothing that it archives is lost", async () => {
  const recorder = new GrowingRecorder()
  const store = new StepsStore()
  for (let step = 0; step < 6; step++) await recorder.step(store)
  let left = 40
  let last = Promise.resolve()
  store.beforeCall = () => {
    if (left-- > 0) last = last.then(() => recorder.step(store))
    return last
  }
  for (let run = 0; run < 3; run++) {
    await compact(store)
    store.nowMs += 2 * hourMs
    expectSameRecording(await restored(store), recorder.directory)
  }
  store.beforeCall = () => Promise.resolve()
  expect(left).toBeLessThan(0)
  expect(keysIn(store, "segments/").length).toBeLessThan(10)
  recorder.close()
})

test("of two compactions at the same time one is refused, and what it wrote is removed by the other", async () => {
  const recorder = new GrowingRecorder()
  const store = new StepsStore()
  for (let step = 0; step < 14; step++) await recorder.step(store)
  let isFirst = true
  store.beforeCall = async (call) => {
    if (!call.startsWith("create manifest/") || !isFirst) return
    isFirst = false
    await compact(store)
  }
  await expect(compact(store)).rejects.toThrow("was compacted while it was read. Try again.")
  expectSameRecording(await restored(store), recorder.directory)
  const named = namedIn(await readManifest(store))
  const left = keysIn(store, "compacted/").filter((each) => !named.includes(each))
  expect(left).toEqual([])
  expect(store.calls.filter((call) => call.startsWith("create compacted/")).length).toBeGreaterThan(named.length)
  recorder.close()
})

test("what was replaced stays until nobody reads it any more, and a late segment of a fenced recorder counts nowhere", async () => {
  const { store, original } = await streamed()
  const before = keysIn(store, "segments/")
  const late = store.memory.objects.get(segmentKey(2)) ?? Buffer.alloc(0)
  const reader = await StreamReader.open(store.memory)
  const read = reader.segments()
  await read.next()
  await compact(store)
  store.nowMs += hourMs - 1
  expect(await compact(store)).toMatchObject({ removed: 0 })
  let count = 1
  while (!(await read.next()).done) count++
  expect(count).toBe(before.length)
  store.nowMs += 1
  const manifests = keysIn(store, "manifest/").length
  expect((await compact(store)).removed).toBeGreaterThanOrEqual(before.length - 2)
  expect(keysIn(store, "segments/")).toContain(before.at(-1))
  expect(keysIn(store, "segments/").length).toBeLessThanOrEqual(2)
  expect(keysIn(store, "manifest/").length).toBeLessThanOrEqual(manifests)
  store.memory.objects.set(segmentKey(2), late)
  expectSameRecording(await restored(store), original)
  expect(await compact(store)).toMatchObject({ removed: 1 })
})

test("a reader whose objects were replaced and removed is told to begin anew", async () => {
  const { store } = await streamed(4)
  await compact(store)
  const { number, ...manifest } = await readManifest(store)
  store.beforeCall = (call) => {
    if (call.startsWith("read compacted/") && !store.memory.objects.has(manifestKey(number + 1))) {
      store.memory.objects.set(manifestKey(number + 1), Buffer.from(JSON.stringify(manifest)))
      for (const { key } of manifest.compacted) store.memory.objects.delete(key)
    }
    return Promise.resolve()
  }
  const reader = await StreamReader.open(store)
  await expect(reader.segments().next()).rejects.toThrow("was compacted while it was read. Try again.")
})

test("a store that locks objects keeps them, and says so", async () => {
  const { store, original } = await streamed()
  await compact(store)
  store.nowMs += 2 * hourMs
  store.beforeCall = async (call) => {
    if (!call.startsWith("remove")) return
    const place = { provider: "s3", bucket: "b", key: "k", location: "s3://b/k" } as const
    throw new TargetError({ ...place, code: "denied", access: "remove", reason: "object is WORM protected" })
  }
  const { refused, removed } = await compact(store)
  expect(removed).toBe(0)
  expect(refused).toContain("object is WORM protected")
  expectSameRecording(await restored(store), original)
})

test("parts of a moment that was not archived yet are left, and temporary files are removed", async () => {
  const store = new StepsStore()
  const directory = sample()
  await shipAll(store.memory, directory, 9000)
  const scratch = temporaryDirectory()
  expect(keysIn(store, "segments/").length).toBeGreaterThan(4)
  expect(await compact(store, { temporaryDirectory: scratch })).toMatchObject({ segments: 0, objects: 0 })
  expect(readdirSync(scratch)).toEqual([])
})

const all = { fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER }

/** Changes from a time on, and the state before it. */
const from = (directory: string, fromTime: number) => {
  const reader = ArchiveReader.open(directory)
  try {
    const kinds = reader.kinds().map(({ gvk }) => gvk)
    const cut = reader.cut()
    return {
      events: Array.from(reader.events({ ...all, cut, fromTime, kinds }), plain),
      state: Array.from(reader.snapshotAt({ cut, time: fromTime, kinds }), plain),
      now: Array.from(reader.snapshotAt({ cut, time: Number.MAX_SAFE_INTEGER, kinds }), plain),
    }
  } finally {
    reader.close()
  }
}

test("what is older than it is kept is dropped, and what lives on is not", { timeout: patient(60_000) }, async () => {
  const store = new StepsStore()
  const recorder = new GrowingRecorder()
  for (let step = 0; step < 30; step++) await recorder.step(store)
  const sizes: number[] = []
  for (const second of [1050, 1060, 1090, 1150]) {
    store.nowMs = START / 1000 + second * 1000
    const keepMicros = 30_000_000
    await compact(store, { keepMicros, graceMs: 0, rangeBytes: 20_000 })
    await compact(store, { keepMicros, graceMs: 0, rangeBytes: 20_000 })
    const directory = await restored(store)
    expect(verifyRecording(directory).isSound).toBe(true)
    const since = START + (second - 30) * 1_000_000
    expect(from(directory, since)).toEqual(from(recorder.directory, since))
    sizes.push(from(directory, 0).events.length)
    for (let step = 0; step < 4; step++) await recorder.step(store)
  }
  expect(from(recorder.directory, 0).events.length).toBeGreaterThan(100)
  expect(sizes.at(-1)).toBeLessThan(60)
  expect(sizes).toEqual([...sizes].sort((one, other) => other - one))
  recorder.close()
})

test("what a killed compaction has left is removed by the next one, and what belongs to one that runs is not", async () => {
  const { store } = await streamed(3)
  const scratch = temporaryDirectory()
  const named = (name: string): string => join(scratch, `reel-compact-${name}`)
  const [dead, running, young] = [named("dead"), named("running"), named("young")]
  for (const path of [dead, running, young]) mkdirSync(join(path, "copy"), { recursive: true })
  writeFileSync(join(dead, "copy", "recording.db"), "rows")
  const lock = lockDirectory(running)
  for (const path of [dead, running]) utimesSync(path, 1, 1)
  utimesSync(young, store.nowMs / 1000, store.nowMs / 1000)
  await compact(store, { temporaryDirectory: scratch })
  lock.release()
  expect(readdirSync(scratch).toSorted()).toEqual(["reel-compact-running", "reel-compact-young"])
})
