/** What is wrong with a stream is said of the segment that it is wrong with; what counts is read once, and nothing else is yielded. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { expect, test } from "vitest"
import { DeltaReader, fromTheBeginning } from "../../../src/archive/index.ts"
import {
  beginStream,
  encodeSegment,
  NoStreamError,
  readDescription,
  readSegmentEnd,
  type SegmentIdentity,
  type StoredSegment,
  StreamBrokenError,
  StreamChangedError,
  type StreamMark,
  StreamReader,
  segmentKey,
} from "../../../src/fleet/index.ts"
import { compactedKey } from "../../../src/fleet/segment/segment-reader.ts"
import { manifestKey } from "../../../src/fleet/stream/manifest.ts"
import { sample } from "../../archive/sample-recording.ts"
import { patient } from "../../harness/patience.ts"
import { MadeStream, madeSegment } from "../made-stream.ts"
import { MemoryStore } from "../memory-store.ts"
import { description, firstTenure, ship, shipAll, type Tenure } from "../shipping-recorder.ts"

/** Numbers of the segments that count, behind a mark, and the reader that has read them. */
const read = async (store: MemoryStore, behind?: StreamMark) => {
  const reader = await StreamReader.open(store, { behind })
  return { reader, numbers: await numbersOf(reader) }
}

const numbersOf = async (reader: StreamReader): Promise<ReadonlyArray<number>> => {
  const numbers: number[] = []
  for await (const { facts } of reader.segments()) numbers.push(facts.number)
  return numbers
}

const markOf = ({ facts, sha256 }: StoredSegment): StreamMark => ({ number: facts.number, sha256 })

const upTo = (last: number, first = 1): ReadonlyArray<number> =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

/** A stream of some segments of the sample, of which the last is whole. */
const stream = async (): Promise<{
  readonly store: MemoryStore
  readonly tenure: Tenure
  readonly directory: string
}> => {
  const store = new MemoryStore()
  const directory = sample()
  return { store, tenure: await shipAll(store, directory, 30_000), directory }
}

/** A segment of nothing new, but with another identity than the next one would have. */
const odd = async (more: Partial<SegmentIdentity>, number?: number) => {
  const { store, tenure, directory } = await stream()
  const reader = new DeltaReader(directory)
  const next = (tenure.last?.facts.number ?? 0) + 1
  const identity = { ...description, epoch: 1, owner: "owner-1", previous: tenure.last?.sha256 ?? "", number: next }
  const { parts } = encodeSegment(reader, tenure.position, { ...identity, ...more })
  reader.close()
  await store.create(segmentKey(number ?? next), parts)
  return read(store)
}

test.each([
  ["a number is missing", {}, 900, "is missing"],
  ["an object was renamed", { number: 3 }, undefined, "it says that it is segment 3"],
  ["two recorders wrote one number", { previous: "ab" }, undefined, "the store let two recorders write one number"],
  ["an epoch falls", { epoch: 0 }, undefined, "its epoch 0 is lower than 1"],
  ["another recorder writes without a new epoch", { owner: "owner-2" }, undefined, "its owner owner-2 is not that"],
  ["another cluster's recorder writes", { clusterUid: "cluster-2" }, undefined, "of cluster cluster-2"],
])("a stream is broken if %s", async (_, identity, number, reason) => {
  const refused = await odd(identity, number).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StreamBrokenError)
  expect(String(refused)).toContain(reason)
})

test("a hole in the middle is found, and named", async () => {
  const { store } = await stream()
  store.objects.delete(segmentKey(2))
  await expect(read(store)).rejects.toThrow(/broken at segment 3: segment 2 is missing/)
})

test("a segment that leaves events out is found", async () => {
  const { store, tenure, directory } = await stream()
  const reader = new DeltaReader(directory)
  const position = { ...tenure.position, sequence: tenure.position.sequence - 5 }
  const last = tenure.last
  if (last === undefined) throw new Error("nothing was shipped")
  const identity = { ...description, epoch: 1, owner: "owner-1", previous: last.sha256, number: last.facts.number + 1 }
  await store.create(segmentKey(identity.number), encodeSegment(reader, position, identity).parts)
  reader.close()
  await expect(read(store)).rejects.toThrow(/it continues after event \d+, and what is before it/)
})

test("partial segments of a recorder that ended are void, and the next epoch continues after the last whole one", async () => {
  const store = new MemoryStore()
  const directory = sample()
  const reader = new DeltaReader(directory)
  const partial = await ship(store, reader, firstTenure, { maximumBytes: 10_000, most: 3 })
  reader.close()
  const before = await read(store)
  expect(before.numbers).toEqual([])
  expect(before.reader.position).toEqual(firstTenure.position)
  expect(before.reader.last).toMatchObject({ sha256: partial.last?.sha256 })

  const another = new DeltaReader(directory)
  const last = before.reader.last
  const successor = { ...firstTenure, epoch: 2, owner: "owner-2", last, position: before.reader.position }
  const taken = await ship(store, another, successor, { maximumBytes: 20_000 })
  another.close()
  const after = await read(store)
  expect(after.numbers).toEqual(upTo(taken.last?.facts.number ?? 0, 4))
  expect(after.reader.position).toEqual(taken.position)
  // The one that had read the void ones goes on, too.
  expect(await numbersOf(before.reader)).toEqual(after.numbers)
})

test("a reader that goes on reads what is new, and nothing twice", async () => {
  const store = new MemoryStore()
  const reader = new DeltaReader(sample())
  const first = await ship(store, reader, firstTenure, { maximumBytes: 20_000 })
  const { reader: streams, numbers } = await read(store)
  const second = await ship(store, reader, first)
  reader.close()
  store.reads.length = 0
  expect(await numbersOf(streams)).toEqual([numbers.length + 1])
  expect(store.reads).toEqual([`${segmentKey(numbers.length + 1)} ${256 * 1024}`])
  expect(streams.position).toEqual(second.position)
  expect(await numbersOf(streams)).toEqual([])
})

test("reading begins behind any segment that counted, and at the beginning if the stream does not have it", async () => {
  const { store, tenure } = await stream()
  const last = tenure.last?.facts.number ?? 0
  const marks: StreamMark[] = []
  for await (const segment of (await StreamReader.open(store)).segments()) marks.push(markOf(segment))
  expect(marks).toHaveLength(last)
  for (const mark of marks) {
    const { reader, numbers } = await read(store, mark)
    expect(numbers).toEqual(upTo(last, mark.number + 1))
    expect([reader.behind, reader.position]).toEqual([mark, tenure.position])
    expect(reader.last?.sha256).toBe(tenure.last?.sha256)
  }
  for (const unknown of [
    { number: 2, sha256: "ab" },
    { number: 900, sha256: marks[0]?.sha256 ?? "" },
  ]) {
    const { reader, numbers } = await read(store, unknown)
    expect(reader.behind).toBeUndefined()
    expect(numbers).toEqual(upTo(last))
  }
})

test("what is wrong behind a mark is found", async () => {
  const { store } = await stream()
  const first = await readSegmentEnd(store, 1)
  if (first === undefined) throw new Error("nothing was shipped")
  store.objects.delete(segmentKey(2))
  await expect(read(store, markOf(first))).rejects.toThrow(/broken at segment 3: segment 2 is missing/)
})

test("memory does not grow with the stream, also if all of it waits for its last segment", {
  timeout: patient(60_000),
}, async () => {
  const thread = new Worker(new URL("./long-stream-thread.ts", import.meta.url), {
    workerData: 3000,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
  })
  expect((await once(thread, "message"))[0]).toBe(3000)
  await thread.terminate()
})

/** Twelve segments, of which the first nine are three objects. */
const compacted = (): MadeStream => {
  const stream = new MadeStream()
  for (let number = 1; number <= 12; number++) stream.add()
  for (const from of [1, 4, 7]) stream.compact(from, from + 2)
  return stream
}

test("what was compacted is read in the place of its segments, and the chain goes on behind it", async () => {
  const { store, hashes } = compacted()
  const { reader, numbers } = await read(store)
  expect(numbers).toEqual([3, 6, 9, 10, 11, 12])
  expect(reader.position.sequence).toBe(12)
  expect(store.reads).not.toContain(`${segmentKey(9)} ${256 * 1024}`)
  // A mark is usable where an object ends, whoever applied which; within one it is not.
  for (const [number, expected] of [
    [3, [6, 9, 10, 11, 12]],
    [9, [10, 11, 12]],
    [11, [12]],
    [5, [3, 6, 9, 10, 11, 12]],
  ] as const) {
    const mark = { number, sha256: hashes[number] ?? "" }
    const behind = await read(store, mark)
    expect(behind.numbers).toEqual(expected)
    expect(behind.reader.behind).toEqual(number === 5 ? undefined : mark)
  }
})

test("a compacted object that is not what the manifest names, or does not continue the one before, is refused", async () => {
  const replaced = compacted()
  replaced.store.objects.set(
    compactedKey(4, 6, "made"),
    replaced.store.objects.get(compactedKey(1, 3, "made")) ?? Buffer.alloc(0),
  )
  await expect(read(replaced.store)).rejects.toThrow(/broken at segment 6: compacted.* was replaced by another object/)
  const removed = compacted()
  removed.store.objects.delete(compactedKey(7, 9, "made"))
  await expect(read(removed.store)).rejects.toThrow(/broken at segment 9: compacted.* was removed/)
  const stream = new MadeStream()
  for (let number = 1; number <= 4; number++) stream.add()
  stream.compact(2, 3)
  await expect(read(stream.store)).rejects.toThrow(/broken at segment 2: segment 1 is missing/)
})

test("a reader from under whom segments are compacted away says that the stream has changed", async () => {
  const stream = new MadeStream()
  for (let number = 1; number <= 60; number++) stream.add()
  const reader = await StreamReader.open(stream.store)
  const numbers: number[] = []
  const reading = async () => {
    for await (const { facts } of reader.segments()) {
      numbers.push(facts.number)
      if (facts.number === 10) stream.compact(1, 50)
    }
  }
  await expect(reading()).rejects.toBeInstanceOf(StreamChangedError)
  expect(numbers).toEqual(upTo(numbers.length))
  // Behind what it has read, nothing continues.
  await expect(numbersOf(reader)).rejects.toBeInstanceOf(StreamChangedError)
  expect((await read(stream.store)).numbers).toEqual([50, ...upTo(60, 51)])
})

test("a prefix without a stream is said to have none, and of two that begin one, both have the same", async () => {
  const store = new MemoryStore()
  await expect(read(store)).rejects.toBeInstanceOf(NoStreamError)
  const [one, other] = await Promise.all([
    beginStream(store, { stream: "a", clusterUid: "c" }),
    beginStream(store, { stream: "b", clusterUid: "c" }),
  ])
  expect(one).toEqual(other)
  expect(await readDescription(store)).toEqual(one)
  store.objects.set("stream.json", Buffer.from('{"format":2}'))
  await expect(readDescription(store)).rejects.toThrow(/has format 2; this version reads only format 1\. Upgrade/)
})

test("whoever has read into what was compacted to several objects is told that the stream has changed, whatever numbers they have", async () => {
  const made = new MadeStream()
  for (const _ of upTo(2)) made.add()
  const { reader } = await read(made.store)
  for (const _ of upTo(8)) made.add()
  const identity = { recordingFormat: 1, stream: "s1", clusterUid: "cluster-1", epoch: 1, owner: "owner-1" }
  const position = (sequence: number) => ({ ...fromTheBeginning, sequence })
  const last = made.hashes[9] ?? ""
  const compacted = [
    { from: 1, through: 1, previous: "", behind: "b1", isWhole: false, sequence: 0 },
    { from: 2, through: 2, previous: "b1", behind: "b2", isWhole: false, sequence: 0 },
    { from: 3, through: 9, previous: "b2", behind: last, isWhole: true, sequence: 9 },
  ].map(({ from, through, previous, behind, isWhole, sequence }) => {
    const { bytes, sha256 } = madeSegment({
      format: 1,
      ...{ ...identity, number: through, previous, after: 0, through: sequence, isWhole, position: position(sequence) },
      ...{ fromTime: 0, toTime: 0, kinds: [], replaces: { from, sha256: behind } },
    })
    const key = compactedKey(from, through, "made")
    made.store.objects.set(key, bytes)
    return { key, from, through, sha256, isWhole, bytes: bytes.length, gaps: 0, fromTime: 0, toTime: 0 }
  })
  const manifest = JSON.stringify({ compactedThrough: 9, compacted })
  made.store.objects.set(manifestKey(1), Buffer.from(manifest))
  await expect(numbersOf(reader)).rejects.toThrow(StreamChangedError)
  const whole = await read(made.store)
  expect(whole.numbers).toEqual([1, 2, 9, 10])
  // One that was interrupted between these objects goes on.
  expect((await read(made.store, { number: 2, sha256: "b2" })).numbers).toEqual([9, 10])
})
