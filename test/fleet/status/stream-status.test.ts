/** Where streams are below an address, and how they are, with few requests. */
import { expect, test } from "vitest"
import { readStreamStatus, storeBelow, streamsBelow } from "../../../src/fleet/index.ts"
import { sample } from "../../archive/sample-recording.ts"
import { StepsStore } from "../compaction/steps-store.ts"
import { MadeStream } from "../made-stream.ts"
import { shipAll } from "../shipping-recorder.ts"

const hourMs = 3_600_000

test("a stream has what its segments have", async () => {
  const store = new StepsStore()
  await shipAll(store, sample(40))
  const bytes = [...store.memory.objects].reduce(
    (sum, [key, { length }]) => sum + (key === "stream.json" ? 0 : length),
    0,
  )
  expect(await readStreamStatus(store)).toMatchObject({
    ...{ from: store.nowMs * 1000, until: store.nowMs * 1000, segments: 1, compacted: 0, bytes },
    ...{ gaps: undefined, bytesPerDay: undefined },
  })
})

test("a compacted stream is read with a few requests, and says how many gaps it has and how it grows", async () => {
  const stream = new MadeStream()
  for (let number = 1; number <= 1200; number++) stream.add()
  stream.compact(1, 1190)
  const store = new StepsStore(stream.store)
  store.nowMs = 20 * 24 * hourMs
  for (const key of stream.store.objects.keys()) store.times.set(key, store.nowMs)
  const { from, until, segments, compacted, gaps, bytes, bytesPerDay } = await readStreamStatus(store)
  expect({ from, until, segments, compacted, gaps }).toEqual({
    ...{ from: 1, until: store.nowMs * 1000, segments: 10, compacted: 1, gaps: 0 },
  })
  expect(bytesPerDay).toBeCloseTo(bytes / 20, 0)
  expect(store.calls).toEqual([
    "read stream.json",
    "list manifest/",
    "read manifest/000000000001.json",
    "list segments/",
  ])
})

/** Objects without content, in a store that writes down what it is asked. */
const namedObjects = (keys: ReadonlyArray<string>) => {
  const [asked, listed]: [string[], string[]] = [[], []]
  const store = {
    location: "memory:",
    async read(key: string) {
      asked.push(key)
      return keys.includes(key) ? { bytes: Buffer.from("{}"), size: 2, version: "1" } : undefined
    },
    async *list(prefix: string) {
      listed.push(prefix)
      const below = new Set<string>()
      for (const key of keys.filter((each) => each.startsWith(prefix)))
        below.add(prefix + (/^[^/]*\/?/.exec(key.slice(prefix.length))?.[0] ?? ""))
      for (const key of below) yield { key, bytes: 0, modifiedMs: 0 }
    },
  }
  return { store, asked, listed }
}

test("streams are found at an address and below it, and not among facts", async () => {
  const streams = ["us", "eu/a", "eu/b", "x/y/z"].map((prefix) => `${prefix}/stream.json`)
  const { store, asked } = namedObjects([
    ...[...streams, "eu/a/segments/1", "eu/other", "facts/cluster=a/1", "facts/cluster=b/1"],
  ])
  expect(await streamsBelow(store)).toEqual(["eu/a/", "eu/b/", "us/"])
  const prefixes = ["", "eu/", "eu/a/", "eu/b/", "facts/", "us/", "x/", "x/y/"]
  expect(asked.toSorted()).toEqual([...prefixes.map((prefix) => `${prefix}stream.json`), "x/y/shards.json"].toSorted())
  expect(await streamsBelow(storeBelow(store, "us/"))).toEqual([""])
})

test("streams of shards are found below each prefix below which a stream is, and nothing else is listed there", async () => {
  const shards = ["huge", "eu/huge", "eu/west/huge"].flatMap((prefix) =>
    [0, 1].map((number) => `${prefix}/shard-${number}/stream.json`),
  )
  const { store, listed } = namedObjects([
    ...shards,
    ...["huge/shards.json", "eu/huge/shards.json", "eu/west/huge/shards.json"],
    ...["eu/huge/old/stream.json", "eu/huge/shard-2/segments/1", "eu/none/shard-0/stream.json"],
  ])
  expect((await streamsBelow(store)).toSorted()).toEqual([
    ...["eu/huge/shard-0/", "eu/huge/shard-1/", "huge/shard-0/", "huge/shard-1/"],
  ])
  expect(listed.toSorted()).toEqual(["", "eu/", "eu/huge/", "huge/"])
})

test("the part of a store below a prefix is a store", async () => {
  const store = new StepsStore()
  for (const key of ["eu/a/segments/1", "eu/a/segments/2", "eu/b/x"]) await store.create(key, [Buffer.from(key)])
  const below = storeBelow(store, "eu/a/")
  expect(below.location).toBe("memory:/eu/a")
  expect((await below.read("segments/1"))?.bytes).toEqual(Buffer.from("eu/a/segments/1"))
  const listed: string[] = []
  for await (const { key } of below.list("segments/", { after: "segments/1" })) listed.push(key)
  expect(listed).toEqual(["segments/2"])
})
