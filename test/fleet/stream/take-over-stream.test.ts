/** Taking a stream over from a recorder that is alive: it wins however fast that one ships, loses nothing of it, and fences it only if it can go on. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import {
  type ArchiveWriter,
  DATABASE_FILE,
  DeltaReader,
  openOrBegin,
  readKeptText,
  setAsideReplaced,
  TENURE_KEY,
} from "../../../src/archive/index.ts"
import { decodeTenure, restoreStream, takeOverStream } from "../../../src/fleet/index.ts"
import { readSegmentEnd } from "../../../src/fleet/segment/segment-reader.ts"
import { encodeFrame, START } from "../../archive/sample-frames.ts"
import { damage, recordSample, sample } from "../../archive/sample-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { MemoryStore } from "../memory-store.ts"
import { expectSameRecording } from "../same-recording.ts"
import { firstTenure, ship, shipAll, type Tenure } from "../shipping-recorder.ts"

/** A store in which something happens before, or instead of the answer to, what the one who takes over creates. */
class WatchedStore extends MemoryStore {
  beforeOpening: () => Promise<void> = async () => undefined
  afterOpening: () => void = () => undefined

  override async create(key: string, parts: ReadonlyArray<Uint8Array>): Promise<"created" | "exists"> {
    await this.beforeOpening()
    const answer = await super.create(key, parts)
    this.afterOpening()
    return answer
  }
}

/** A recorder that records one more event each time that it ships. */
class LivingRecorder {
  readonly directory = temporaryDirectory()
  readonly #store = new MemoryStore()
  readonly #writer: ArchiveWriter
  readonly #reader: DeltaReader
  #tenure: Tenure = firstTenure
  #events = 0

  constructor(store: MemoryStore) {
    this.#writer = recordSample(this.directory, 31)
    this.#reader = new DeltaReader(this.directory)
    // The same objects, without what happens when another one creates them.
    Object.assign(this.#store, { objects: store.objects })
    onTestFinished(() => {
      this.#reader.close()
      this.#writer.close()
    })
  }

  get last(): number {
    return this.#tenure.last?.facts.number ?? 0
  }

  async ship(): Promise<void> {
    const at = ++this.#events
    const event = {
      action: "applied",
      number: 1,
      time: START + 40_000_000 + at,
      version: 500 + at,
      object: "{}",
    } as const
    this.#writer.append(
      ...(["watcher/1", 1, 100 + at] as const),
      encodeFrame({ gvk: "v1.ConfigMap", events: [event], completeThrough: String(500 + at) }),
    )
    this.#writer.commit()
    this.#tenure = await ship(this.#store, this.#reader, this.#tenure)
  }
}

test("a recorder that ships whenever its next number is to be taken is overtaken, and all that it shipped is restored", async () => {
  const store = new WatchedStore()
  const before = new LivingRecorder(store)
  await before.ship()
  let left = 5
  store.beforeOpening = async () => {
    if (left-- > 0) await before.ship()
  }
  const directory = temporaryDirectory()
  const { tenure } = await takeOverStream(store, directory)
  expect(before.last).toBe(6)
  expect(tenure).toMatchObject({ epoch: 2, shipped: { number: 7, epoch: 2, isWhole: false }, intents: [] })
  expect(decodeTenure(readKeptText(directory, TENURE_KEY))).toEqual(tenure)
  expectSameRecording(directory, before.directory)
  await expect(before.ship()).rejects.toThrow("segment 7 exists")
})

test("what is shipped behind the opening segment belongs to the stream, and without it that segment is nothing", async () => {
  const original = sample(40)
  const store = new MemoryStore()
  const { last } = await shipAll(store, original)
  const directory = temporaryDirectory()
  const { shipped } = (await takeOverStream(store, directory)).tenure
  const restored = await restoreStream(store, temporaryDirectory())
  expect(restored).toMatchObject({ segments: last?.facts.number, last: { sha256: shipped?.sha256 } })
  const reader = new DeltaReader(directory)
  const opening = await readSegmentEnd(store, shipped?.number ?? 0)
  if (opening === undefined || shipped === undefined) throw new Error("there is no opening segment")
  const { epoch, owner, position } = shipped
  await ship(store, reader, { epoch, owner, last: opening, position })
  reader.close()
  const copy = temporaryDirectory()
  expect(await restoreStream(store, copy)).toMatchObject({ segments: (last?.facts.number ?? 0) + 2 })
  expectSameRecording(copy, original)
})

test("an answer that is lost costs an epoch, and neither the copy nor the stream", async () => {
  const original = sample(40)
  const store = new WatchedStore()
  await shipAll(store, original)
  store.afterOpening = () => {
    throw new Error("the answer is lost")
  }
  const directory = temporaryDirectory()
  for (const _ of [1, 2]) await expect(takeOverStream(store, directory)).rejects.toThrow("the answer is lost")
  expect(existsSync(join(directory, DATABASE_FILE))).toBe(false)
  store.afterOpening = () => undefined
  expect(await takeOverStream(store, directory)).toMatchObject({ tenure: { epoch: 4 } })
  expectSameRecording(directory, original)
})

test("a recorder is not fenced by one whose copy of the stream is damaged", async () => {
  const store = new MemoryStore()
  const { last } = await shipAll(store, sample(40))
  const directory = temporaryDirectory()
  const onProgress = () => damage(join(directory, "restoring"), "UPDATE object SET name = 'other' WHERE number = 3")
  await expect(takeOverStream(store, directory, { onProgress })).rejects.toThrow("table object")
  expect(await readSegmentEnd(store, (last?.facts.number ?? 0) + 1)).toBeUndefined()
})

test("what was set aside in the directory before is no gap in what is restored", async () => {
  const store = new MemoryStore()
  const original = sample(20)
  await shipAll(store, original)
  const directory = sample(10)
  damage(directory, "UPDATE gap SET detail = 'another'")
  const now = () => START + 100_000_000
  openOrBegin(directory, { now }).writer.close()
  expect(setAsideReplaced(directory, now())).toContain("replaced-")
  await takeOverStream(store, directory)
  openOrBegin(directory, { now }).writer.close()
  expectSameRecording(directory, original)
})

test("nor by one whose copy was sound at its first try, and is damaged by what came since", async () => {
  const store = new WatchedStore()
  const before = new LivingRecorder(store)
  await before.ship()
  let left = 1
  store.beforeOpening = async () => {
    if (left-- > 0) await before.ship()
  }
  const directory = temporaryDirectory()
  const onProgress = ({ segments }: { readonly segments: number }): void => {
    if (segments === 2) damage(join(directory, "restoring"), "UPDATE object SET name = 'other' WHERE number = 3")
  }
  await expect(takeOverStream(store, directory, { onProgress })).rejects.toThrow("table object")
  expect(await readSegmentEnd(store, 3)).toBeUndefined()
})
