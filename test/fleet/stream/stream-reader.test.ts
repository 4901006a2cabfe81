/** What is wrong with a stream is said of the segment that it is wrong with, and void segments do not count. */
import { expect, test } from "vitest"
import { DeltaReader } from "../../../src/archive/index.ts"
import {
  beginStream,
  encodeSegment,
  NoStreamError,
  readDescription,
  type SegmentIdentity,
  StreamBrokenError,
  StreamReader,
  segmentKey,
} from "../../../src/fleet/index.ts"
import { sample } from "../../archive/sample-recording.ts"
import { MemoryStore } from "../memory-store.ts"
import { description, firstTenure, ship, shipAll, type Tenure } from "../shipping-recorder.ts"

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
  return new StreamReader(store).read()
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
  await expect(new StreamReader(store).read()).rejects.toThrow(/broken at segment 3: segment 2 is missing/)
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
  await expect(new StreamReader(store).read()).rejects.toThrow(/it continues after event \d+, and what is before it/)
})

test("partial segments of a recorder that ended are void, and the next epoch continues after the last whole one", async () => {
  const store = new MemoryStore()
  const directory = sample()
  const reader = new DeltaReader(directory)
  const partial = await ship(store, reader, firstTenure, { maximumBytes: 10_000, most: 3 })
  reader.close()
  const before = await new StreamReader(store).read()
  expect(before).toMatchObject({ counted: [], position: firstTenure.position, last: { sha256: partial.last?.sha256 } })
  expect(before.segments).toHaveLength(3)

  const another = new DeltaReader(directory)
  const successor = { ...firstTenure, epoch: 2, owner: "owner-2", last: before.last, position: before.position }
  const taken = await ship(store, another, successor, { maximumBytes: 20_000 })
  another.close()
  const { segments, counted, position } = await new StreamReader(store).read()
  expect(counted).toEqual(segments.slice(3))
  expect(position).toEqual(taken.position)
})

test("a reader that is asked again reads what is new, and no footer twice", async () => {
  const store = new MemoryStore()
  const reader = new DeltaReader(sample())
  const streams = new StreamReader(store)
  const first = await ship(store, reader, firstTenure, { maximumBytes: 20_000 })
  const { segments } = await streams.read()
  await ship(store, reader, first)
  reader.close()
  store.reads.length = 0
  expect((await streams.read()).segments).toHaveLength(segments.length + 1)
  expect(store.reads.filter((key) => key.startsWith("segments/"))).toEqual([
    `${segmentKey(segments.length + 1)} ${256 * 1024}`,
  ])
})

test("a prefix without a stream is said to have none, and of two that begin one, both have the same", async () => {
  const store = new MemoryStore()
  await expect(new StreamReader(store).read()).rejects.toBeInstanceOf(NoStreamError)
  const [one, other] = await Promise.all([
    beginStream(store, { stream: "a", clusterUid: "c" }),
    beginStream(store, { stream: "b", clusterUid: "c" }),
  ])
  expect(one).toEqual(other)
  expect(await readDescription(store)).toEqual(one)
  store.objects.set("stream.json", Buffer.from('{"format":2}'))
  await expect(readDescription(store)).rejects.toThrow(/has format 2; this version reads only format 1\. Upgrade/)
})
