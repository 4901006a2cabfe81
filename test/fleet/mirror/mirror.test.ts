/** A mirror of a stream: what it fetches, what it says when the store does not answer, and what it does when the stream is another one. */

import { randomBytes } from "node:crypto"
import { existsSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import {
  ArchiveReader,
  type ArchiveWriter,
  CorruptArchiveError,
  DATABASE_FILE,
  DeltaReader,
  MIRROR_FILE,
  provideBlobSource,
  QueriedRecording,
  StoreUnreadableError,
} from "../../../src/archive/index.ts"
import { readStorePlace } from "../../../src/blob/index.ts"
import {
  compactStream,
  isStream,
  Mirror,
  NoStreamError,
  openMirror,
  restoreStream,
  segmentKey,
} from "../../../src/fleet/index.ts"
import { markStale } from "../../../src/fleet/mirror/mirror-places.ts"
import { readManifest } from "../../../src/fleet/stream/manifest.ts"
import { changes } from "../../archive/queries/whole-answers.ts"
import { encodeFrame, plain, START } from "../../archive/sample-frames.ts"
import { recordSample, sample } from "../../archive/sample-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { StepsStore } from "../compaction/steps-store.ts"
import { MemoryStore } from "../memory-store.ts"
import { firstTenure, ship, shipAll } from "../shipping-recorder.ts"
import { answersOf } from "./answers.ts"
import { memorySource } from "./memory-source.ts"

const always = { everyMs: -1 }

const shipped = async (directory: string, maximumBytes = 15_000): Promise<MemoryStore> => {
  const store = new MemoryStore()
  await shipAll(store, directory, maximumBytes)
  return store
}

const cacheIn = (maximumBytes = 1e9) => ({ directory: temporaryDirectory(), maximumBytes })

const mirrorOf = (store: MemoryStore, more: ConstructorParameters<typeof Mirror>[1] = {}) => {
  const mirror = new Mirror(store, { cache: cacheIn(), ...always, ...more })
  const source = memorySource(store)
  provideBlobSource(source)
  return { mirror, source }
}

test("a mirror is made with reads of the ends of segments, and asks for nothing that it has", async () => {
  const store = await shipped(sample())
  const { mirror, source } = mirrorOf(store, { everyMs: 20_000 })
  store.reads.length = 0
  await mirror.update()
  const segments = store.objects.size - 1
  expect(segments).toBeGreaterThan(4)
  const ends = Array.from({ length: segments }, (_, at) => `${segmentKey(at + 1)} 262144`)
  expect(new Set(store.reads.filter((key) => key.includes("segment")))).toEqual(new Set(ends))
  expect(source.reads).toEqual([])
  store.reads.length = 0
  await mirror.update()
  expect(store.reads).toEqual([])
})

test("what is in the directory is for its user only", async () => {
  const { mirror } = mirrorOf(await shipped(sample(20)))
  await mirror.update()
  for (const [path, mode] of [
    [mirror.directory, 0o700],
    [join(mirror.directory, DATABASE_FILE), 0o600],
    [join(mirror.directory, MIRROR_FILE), 0o600],
  ] as const)
    expect(statSync(path).mode & 0o777).toBe(mode)
})

/** Appends changes of one object of a sample that is being written. */
const recordMore = (writer: ArchiveWriter, from: number, count: number): void => {
  for (let at = from; at < from + count; at++) {
    const event = {
      action: "applied",
      number: 1,
      time: START + 1e9 + at,
      version: 5000 + at,
      object: randomBytes(900).toString("base64"),
    } as const
    const frame = { gvk: "v1.ConfigMap", events: [event], completeThrough: String(5000 + at) }
    writer.append("watcher/more", 1, at + 1, encodeFrame(frame))
    if (at % 4 === 0) writer.commit()
  }
  writer.commit()
}

test("readers see what was added since, up to the last whole segment", async () => {
  const original = temporaryDirectory()
  const writer = recordSample(original, 31)
  const store = new MemoryStore()
  const sender = new DeltaReader(original)
  const tenure = await ship(store, sender, firstTenure, { maximumBytes: 15_000 })
  const { mirror } = mirrorOf(store)
  await mirror.update()
  const reader = ArchiveReader.open(mirror.directory)
  const before = [...reader.events()].length
  recordMore(writer, 0, 40)
  const partial = await ship(store, sender, tenure, { maximumBytes: 1000, most: 2 })
  expect(partial.last?.facts.isWhole).toBe(false)
  await mirror.update()
  expect([...reader.events()].length).toBe(before)
  await ship(store, sender, partial, { maximumBytes: 1000 })
  await mirror.update()
  expect([...reader.events()].length).toBe(before + 40)
  reader.close()
  expect(await answersOf(mirror.directory, [START])).toEqual(await answersOf(original, [START]))
  sender.close()
  writer.close()
})

test("what a recorder did not finish before another took the stream over does not count", async () => {
  const original = temporaryDirectory()
  const writer = recordSample(original, 31)
  const store = new MemoryStore()
  const sender = new DeltaReader(original)
  const tenure = await ship(store, sender, firstTenure)
  recordMore(writer, 0, 40)
  const partial = await ship(store, sender, tenure, { maximumBytes: 1000, most: 2 })
  const { mirror } = mirrorOf(store)
  await mirror.update()
  const again = new DeltaReader(original)
  await ship(store, again, { epoch: 2, owner: "owner-2", last: partial.last, position: tenure.position })
  await mirror.update()
  expect(await answersOf(mirror.directory, [START])).toEqual(await answersOf(original, [START]))
  for (const each of [sender, again, writer]) each.close()
})

const historyOf = (directory: string, uid: string): ReadonlyArray<unknown> => {
  const recording = QueriedRecording.open(directory)
  try {
    return Array.from(changes(recording, { from: 0, uid }), ({ event }) => event.time)
  } finally {
    recording.database.close()
  }
}

test("a part of the store that is not there, or that is damaged, is named by what asks for it", async () => {
  const store = await shipped(sample())
  const { mirror, source } = mirrorOf(store, { keptBytes: 0 })
  await mirror.update()
  const uid = "uid-v1.ConfigMap-3"
  const whole = historyOf(mirror.directory, uid)
  expect(whole.length).toBeGreaterThan(5)
  // The objects of a block are larger than anything else.
  const { key, at, bytes } = source.reads.reduce((one, other) => (other.bytes > one.bytes ? other : one))
  const object = store.objects.get(key) ?? Buffer.alloc(0)
  const read = (): unknown => {
    const reader = ArchiveReader.open(mirror.directory)
    try {
      return Array.from(reader.events(), plain)
    } finally {
      reader.close()
    }
  }
  store.objects.delete(key)
  expect(read).toThrow(StoreUnreadableError)
  expect(read).toThrow(`${key} cannot be read: it is gone`)
  expect(() => historyOf(mirror.directory, uid)).toThrow(StoreUnreadableError)
  store.objects.set(key, object.subarray(0, at + bytes - 1))
  expect(read).toThrow(CorruptArchiveError)
  expect(read).toThrow(`the ${bytes} bytes at ${at} of ${key} are only ${bytes - 1} in the store`)
  const flipped = Buffer.from(object)
  flipped[at + 20] = (flipped[at + 20] ?? 0) ^ 1
  store.objects.set(key, flipped)
  expect(read).toThrow(`the ${bytes} bytes at ${at} of ${key} have another checksum than was recorded`)
  expect(read).toThrow("Restore that object from a copy or an earlier version of it.")
  store.objects.set(key, object)
  expect(historyOf(mirror.directory, uid)).toEqual(whole)
})

test("while the store cannot be read, the mirror answers, and says how old it is; without one, nothing does", async () => {
  const clock = new ManualClock()
  const said: string[] = []
  const store = await shipped(sample(20))
  const cache = cacheIn()
  const options = { cache, clock, say: (line: string) => said.push(line), everyMs: 20_000 }
  const { mirror } = mirrorOf(store, options)
  store.beforeRead = () => {
    throw new Error("no route to host")
  }
  await expect(mirror.update()).rejects.toThrow("no route to host")
  expect(existsSync(join(mirror.directory, DATABASE_FILE))).toBe(false)
  store.beforeRead = () => undefined
  await mirror.update()
  const answers = await answersOf(mirror.directory, [START])
  store.beforeRead = () => {
    throw new Error("no route to host")
  }
  clock.advance(90_000)
  await mirrorOf(store, options).mirror.update()
  expect(said).toEqual(["answers are from a copy of the stream's rows that is 90 s old: no route to host"])
  expect(await answersOf(mirror.directory, [START])).toEqual(answers)
})

test("a stream that is another one than before is read anew, and so is one of which a segment is gone", async () => {
  const store = await shipped(sample(20))
  const { mirror } = mirrorOf(store, { keptBytes: 0 })
  await mirror.update()
  const reader = ArchiveReader.open(mirror.directory)
  store.objects.clear()
  const original = sample(60)
  await shipAll(store, original, 15_000)
  await mirror.update()
  expect([...reader.events()]).toHaveLength(180)
  reader.close()
  expect(await answersOf(mirror.directory, [START])).toEqual(await answersOf(original, [START]))
  markStale(mirror.directory)
  store.reads.length = 0
  await mirror.update()
  expect(new Set(store.reads.filter((key) => key.includes("segment"))).size).toBe(store.objects.size - 1)
})

/** A stream of a sample and what was recorded later, each a whole segment. */
const shippedInThree = async (store: MemoryStore): Promise<string> => {
  const original = temporaryDirectory()
  const writer = recordSample(original, 31)
  const sender = new DeltaReader(original)
  let tenure = await ship(store, sender, firstTenure)
  for (const from of [0, 40]) {
    recordMore(writer, from, 40)
    tenure = await ship(store, sender, tenure)
  }
  sender.close()
  writer.close()
  return original
}

test("a mirror that is made anew is not seen before it is whole: while the store cannot be read, what was there before answers", async () => {
  const clock = new ManualClock()
  const said: string[] = []
  const store = await shipped(sample(20), 1e9)
  const { mirror } = mirrorOf(store, { clock, everyMs: 20_000, say: (line) => said.push(line) })
  await mirror.update()
  const answers = await answersOf(mirror.directory, [START])
  store.objects.clear()
  const original = await shippedInThree(store)
  const last = [...store.objects.keys()].sort().findLast((key) => key.startsWith("segments/"))
  store.beforeRead = (key) => {
    if (key === last) throw new Error("no route to host")
  }
  clock.advance(90_000)
  await mirror.update()
  expect(said).toEqual(["answers are from a copy of the stream's rows that is 90 s old: no route to host"])
  expect(await answersOf(mirror.directory, [START])).toEqual(answers)
  store.beforeRead = () => undefined
  clock.advance(20_000)
  await mirror.update()
  expect(await answersOf(mirror.directory, [START])).toEqual(await answersOf(original, [START]))
})

test("of a mirror that cannot be read, the beginning of a new one does not answer", async () => {
  const store = new MemoryStore()
  const original = await shippedInThree(store)
  const { mirror } = mirrorOf(store)
  await mirror.update()
  writeFileSync(join(mirror.directory, DATABASE_FILE), "not a database, but long enough to be taken for one".repeat(9))
  const last = [...store.objects.keys()].sort().findLast((key) => key.startsWith("segments/"))
  store.beforeRead = (key) => {
    if (key === last) throw new Error("no route to host")
  }
  await expect(mirror.update()).rejects.toThrow("no route to host")
  store.beforeRead = () => undefined
  store.reads.length = 0
  await mirror.update()
  // What was read before the error is kept: the segment before is only looked at.
  expect(store.reads.filter((key) => key.includes("segment"))).toHaveLength(2)
  expect(await answersOf(mirror.directory, [START])).toEqual(await answersOf(original, [START]))
})

test("two that find a mirror stale read the stream once", async () => {
  const store = new MemoryStore()
  await shippedInThree(store)
  const options = { cache: cacheIn() }
  const [one, other] = [mirrorOf(store, options).mirror, mirrorOf(store, options).mirror]
  await one.update()
  markStale(one.directory)
  store.reads.length = 0
  await Promise.all([one.update(), other.update()])
  // The second only looks whether the last segment is still there.
  expect(store.reads.filter((key) => key.includes("segment"))).toHaveLength(3 + 1)
})

test("a mirror that is damaged, or was cut off, is made anew", async () => {
  const original = sample(40)
  const store = await shipped(original)
  const { mirror } = mirrorOf(store)
  await mirror.update()
  writeFileSync(join(mirror.directory, DATABASE_FILE), "not a database, but long enough to be taken for one".repeat(9))
  await mirror.update()
  expect(await answersOf(mirror.directory, [START])).toEqual(await answersOf(original, [START]))
})

test("two that make one mirror at once make it once", async () => {
  const original = sample(40)
  const store = await shipped(original, 1e9)
  const options = { cache: cacheIn(), everyMs: 20_000 }
  const [one, other] = [mirrorOf(store, options).mirror, mirrorOf(store, options).mirror]
  store.reads.length = 0
  await Promise.all([one.update(), other.update()])
  // The second only looks whether what it has is still there.
  expect(store.reads.filter((key) => key.includes("segment"))).toHaveLength(2)
  expect(await answersOf(other.directory, [START])).toEqual(await answersOf(original, [START]))
})

test("mirrors that were not used for long make room for others", async () => {
  const cache = cacheIn(1)
  const stores = [await shipped(sample(20)), await shipped(sample(21)), await shipped(sample(22))]
  const mirrors = stores.map((store, at) => {
    const located = Object.assign(store, { location: `memory:${at}` })
    return new Mirror(located, { cache, ...always })
  })
  for (const [at, mirror] of mirrors.entries()) {
    await mirror.update()
    const longAgo = Date.now() / 1000 - 10_000 + at
    utimesSync(join(mirror.directory, MIRROR_FILE), longAgo, longAgo)
  }
  expect(mirrors.map(({ directory }) => existsSync(directory))).toEqual([false, false, true])
  await mirrors[0]?.update()
  expect(mirrors.map(({ directory }) => existsSync(directory))).toEqual([true, false, false])
})

test("a place without a stream has none", async () => {
  await expect(mirrorOf(new MemoryStore()).mirror.update()).rejects.toThrow(NoStreamError)
})

test("an address at which there was no stream is still none after it was asked for", async () => {
  const reading = readStorePlace(temporaryDirectory())
  if (reading.tag === "refused") throw new Error(reading.message)
  const cache = cacheIn()
  await expect(openMirror(reading.place, { cache })).rejects.toThrow(NoStreamError)
  expect(await isStream(reading.place, cache)).toBe(false)
})

test("after an object was found to be gone, the store is asked at once", async () => {
  const store = await shipped(sample(20))
  const { mirror } = mirrorOf(store, { everyMs: 20_000 })
  await mirror.update()
  markStale(mirror.directory)
  expect(await mirror.update()).toBe(true)
  expect(await mirror.update()).toBe(false)
})

/** A stream of which all but the last segment are a range of several objects, and the recording that it has. */
const compacted = async () => {
  const store = new MemoryStore()
  const writer = recordSample(temporaryDirectory())
  const reader = new DeltaReader(writer.directory)
  const first = await ship(store, reader, firstTenure, { maximumBytes: 9000 })
  const change = { action: "applied", number: 1, time: START + 200_000_000, version: 999, object: "{}" } as const
  writer.append("watcher/1", 1, 999, encodeFrame({ gvk: "v1.ConfigMap", events: [change], completeThrough: "999" }))
  writer.commit()
  await ship(store, reader, first)
  reader.close()
  writer.close()
  const whole = temporaryDirectory()
  await restoreStream(store, whole)
  await compactStream(new StepsStore(store), {
    ...{ temporaryDirectory: temporaryDirectory(), graceMs: 0, nowMicros: () => START, randomId: () => "id" },
    partBytes: 9000,
  })
  const { compacted: objects } = await readManifest(store)
  return { store, whole, objects, rows: objects.at(-1)?.rows?.key ?? "" }
}

const moments = [START, START + 60_000_000]

test("the rows of a compacted range are read from one object", async () => {
  const { store, whole, objects, rows } = await compacted()
  expect(objects.length).toBeGreaterThan(4)
  const { mirror } = mirrorOf(store)
  store.reads.length = 0
  await mirror.update()
  expect([
    ...new Set(store.reads.filter((key) => key.startsWith("compacted/")).map((key) => key.split(" ")[0])),
  ]).toEqual([rows])
  expect(await answersOf(mirror.directory, moments)).toEqual(await answersOf(whole, moments))
})

test.each(["missing", "damaged", "another object"])(
  "where the rows are %s, those of the range are read",
  async (what) => {
    const { store, whole, rows } = await compacted()
    const bytes = Buffer.from(store.objects.get(rows) ?? [])
    expect(bytes.length).toBeGreaterThan(1000)
    bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100)
    if (what === "missing") store.objects.delete(rows)
    else store.objects.set(rows, (what === "damaged" ? bytes : store.objects.get(segmentKey(99))) ?? Buffer.alloc(5))
    const { mirror } = mirrorOf(store)
    await mirror.update()
    expect(await answersOf(mirror.directory, moments)).toEqual(await answersOf(whole, moments))
  },
)
