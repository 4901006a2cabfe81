/** What is old, or was replaced, goes in steps that a disk has room for, also beside what fails, and by no clock that is ahead of the store's. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { fromTheBeginning } from "../../../src/archive/index.ts"
import { FORMAT_VERSION } from "../../../src/archive/tables/schema.ts"
import { compactStream } from "../../../src/fleet/index.ts"
import { manifestKey, readManifest } from "../../../src/fleet/stream/manifest.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { MadeStream } from "../made-stream.ts"
import { StepsStore } from "./steps-store.ts"

const dayMs = 24 * 3_600_000
let ids = 0

type Options = Partial<Parameters<typeof compactStream>[1]>

const compact = (store: StepsStore, options: Options = {}) =>
  compactStream(store, {
    ...{ temporaryDirectory: temporaryDirectory(), graceMs: dayMs, nowMicros: () => store.nowMs * 1000 },
    ...{ randomId: () => `id${++ids}`, rangeBytes: 1, ...options },
  })

/** A stream of a segment a day, without rows, that is compacted into a range for each of them. */
const days = async (count: number) => {
  const stream = new MadeStream()
  const store = new StepsStore(stream.store)
  const add = (more: Parameters<MadeStream["add"]>[0] = {}): void => {
    store.nowMs += dayMs
    stream.add({ recordingFormat: FORMAT_VERSION, ...more })
  }
  for (let day = 0; day < count; day++) add()
  await compact(store)
  // Segments without rows have no times, so the manifest is given some.
  const date = async (): Promise<void> => {
    const { number, ...manifest } = await readManifest(store)
    const compacted = manifest.compacted.map((each, index) => {
      const time = 1_000_000_000 + (index + 1) * dayMs * 1000
      return { ...each, fromTime: time, toTime: time }
    })
    await store.create(manifestKey(number + 1), [Buffer.from(JSON.stringify({ ...manifest, compacted }))])
  }
  await date()
  return { store, stream, add }
}

const keepMicros = 10 * dayMs * 1000

test("what is old is dropped in steps of few ranges, and the stream is kept from a time on once all of them are done", async () => {
  const { store } = await days(25)
  const ranges = (await readManifest(store)).compacted.length
  expect(ranges).toBe(23)
  const before = store.calls.length
  const keptFrom: Array<number | undefined> = []
  store.beforeCall = async (call) => {
    if (call.startsWith("create compacted/")) keptFrom.push((await readManifest(store.copy())).keptFrom)
  }
  await compact(store, { keepMicros })
  const created = store.calls.slice(before).filter((call) => call.startsWith("create manifest/"))
  // A step for each day that is older, with what is left of those before.
  expect(created.length).toBeGreaterThan(10)
  expect(keptFrom).toEqual(created.map(() => undefined))
  const { compacted, keptFrom: kept } = await readManifest(store)
  expect(kept).toBe(store.nowMs * 1000 - keepMicros)
  expect(compacted.length).toBeLessThan(ranges - 10)
})

test("what is old is dropped although parts of a moment wait for its whole segment", async () => {
  const { store, add } = await days(25)
  for (const sequence of [26, 27, 28]) add({ isWhole: false, position: { ...fromTheBeginning, sequence } })
  await compact(store, { keepMicros })
  expect((await readManifest(store)).keptFrom).toBeGreaterThan(0)
})

test("what was replaced is removed although there is no room for the next copy", async () => {
  const { store, add } = await days(9)
  store.nowMs += 2 * dayMs
  for (let day = 0; day < 3; day++) add()
  expect(store.memory.objects.has("segments/000000000001.segment")).toBe(true)
  const absent = join(temporaryDirectory(), "absent")
  await expect(compact(store, { temporaryDirectory: absent })).rejects.toThrow("ENOENT")
  expect(store.memory.objects.has("segments/000000000001.segment")).toBe(false)
})

test("a clock that is years ahead drops nothing, and removes nothing that readers may be reading", async () => {
  const { store } = await days(9)
  for (const key of store.memory.objects.keys()) if (!store.times.has(key)) store.times.set(key, store.nowMs)
  const before = new Map(store.memory.objects)
  const nowMicros = () => (store.nowMs + 1000 * dayMs) * 1000
  expect(await compact(store, { keepMicros: 30 * dayMs * 1000, nowMicros })).toMatchObject({ objects: 0, removed: 0 })
  expect(store.memory.objects).toEqual(before)
  expect((await compact(store, { graceMs: 0, nowMicros })).removed).toBeGreaterThan(0)
})

test("nothing is removed while a manifest that serves readers cannot be found", async () => {
  const { store, add } = await days(9)
  add()
  add()
  await compact(store, { graceMs: 100 * dayMs })
  const { number } = await readManifest(store)
  store.nowMs += dayMs / 2
  // The one before the last, which served readers until half a day ago.
  store.memory.absent = (key) => key === manifestKey(number - 1)
  expect(await compact(store)).toMatchObject({ removed: 0 })
  store.memory.absent = () => false
  expect((await compact(store)).removed).toBeGreaterThan(0)
})
