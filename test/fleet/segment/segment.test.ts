/** The bytes of a segment: how it is cut, what is read of it, and that no changed byte passes. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { DeltaReader, fromTheBeginning } from "../../../src/archive/index.ts"
import {
  encodeSegment,
  NewerStreamError,
  readSegmentEnd,
  SegmentDamagedError,
  segmentKey,
} from "../../../src/fleet/index.ts"
import { recordSample, sample, sampleKinds } from "../../archive/sample-recording.ts"
import { rounds } from "../../harness/effort.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { MemoryStore } from "../memory-store.ts"
import { description, firstTenure, ship, shipAll } from "../shipping-recorder.ts"

test("the end of a small segment is one read, and says what is in it", async () => {
  const store = new MemoryStore()
  await shipAll(store, sample())
  store.reads.length = 0
  const end = await readSegmentEnd(store, 1)
  expect(store.reads).toEqual([`${segmentKey(1)} ${256 * 1024}`])
  expect(end?.facts).toMatchObject({ ...description, number: 1, epoch: 1, owner: "owner-1", previous: "", after: 0 })
  const kinds = end?.facts.kinds.filter(({ events }) => events > 0) ?? []
  expect(
    kinds
      .map(({ gvk, events, gaps, firstVersion, lastVersion }) => [gvk, events, gaps, firstVersion, lastVersion])
      .sort(),
  ).toEqual(sampleKinds.map((gvk) => [gvk, 120, 1, "100", "219"]))
  expect([end?.facts.fromTime, end?.facts.toTime]).toEqual([kinds[0]?.fromTime, kinds[0]?.toTime])
  expect(await readSegmentEnd(store, 2)).toBeUndefined()
})

test("events are counted once, although parts and the block that they become are both sent", async () => {
  const directory = temporaryDirectory()
  const writer = recordSample(directory, 31)
  const store = new MemoryStore()
  const reader = new DeltaReader(directory)
  let tenure = await ship(store, reader, firstTenure)
  expect(tenure.position.sealedThrough).toBeLessThan(tenure.position.sequence)
  writer.close()
  tenure = await ship(store, reader, tenure)
  reader.close()
  expect(tenure.position.sealedThrough).toBe(tenure.position.sequence)
  const facts = await Promise.all(
    [1, 2].map(async (number) => (await readSegmentEnd(store, number))?.facts.kinds ?? []),
  )
  const events = facts.map((kinds) => kinds.reduce((sum, kind) => sum + kind.events, 0))
  expect(events).toEqual([93, 0])
})

test("a large footer takes a second read", async () => {
  const store = new MemoryStore()
  await shipAll(store, sample())
  const whole = store.objects.get(segmentKey(1)) ?? Buffer.alloc(0)
  const read = store.read.bind(store)
  store.reads.length = 0
  // As if the first read were of 64 bytes.
  store.read = (key, range) => read(key, range && "last" in range && range.last === 256 * 1024 ? { last: 64 } : range)
  expect((await readSegmentEnd(store, 1))?.bytes).toBe(whole.length)
  expect(store.reads).toHaveLength(2)
})

test("rows of a small segment come with its end, those of a large one are read when they are asked for", async () => {
  const store = new MemoryStore()
  await shipAll(store, sample())
  const read = store.read.bind(store)
  const rows = [...((await (await readSegmentEnd(store, 1))?.rows()) ?? [])]
  expect(store.reads.filter((key) => key.endsWith(".segment"))).toEqual([])
  // As if the first read were of less than the segment.
  store.read = (key, range) => read(key, range && { last: 20_000 })
  const end = await readSegmentEnd(store, 1)
  expect([...((await end?.rows()) ?? [])]).toEqual(rows)
  expect(store.reads.at(-1)).toBe(segmentKey(1))
  store.objects.delete(segmentKey(1))
  expect(await end?.rows()).toBeUndefined()
})

test("parts have 8 MiB at most, and together the segment, which ends soon after its limit", async () => {
  const directory = temporaryDirectory()
  recordSample(directory, 400).close()
  const reader = new DeltaReader(directory)
  const identity = { ...description, number: 1, epoch: 1, owner: "o", previous: "" }
  const { parts, bytes, facts } = encodeSegment(reader, fromTheBeginning, identity, 100_000)
  reader.close()
  expect(parts.reduce((sum, part) => sum + part.length, 0)).toBe(bytes)
  expect(parts.every((part) => part.length <= 8 * 1024 * 1024)).toBe(true)
  expect(facts.isWhole).toBe(false)
  expect(bytes).toBeGreaterThan(100_000)
  expect(bytes).toBeLessThan(140_000)
})

test("no changed, missing or added byte passes", async () => {
  const store = new MemoryStore()
  await shipAll(store, sample(20))
  const whole = store.objects.get(segmentKey(1)) ?? Buffer.alloc(0)
  const rowsOf = async () => [...((await (await readSegmentEnd(store, 1))?.rows()) ?? [])]
  expect((await rowsOf()).length).toBeGreaterThan(50)
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.constantFrom("changed", "cut", "longer"),
      async (at, bits, how) => {
        const damaged =
          how === "longer"
            ? Buffer.concat([whole, Buffer.of(bits)])
            : Buffer.from(how === "cut" ? whole.subarray(0, at) : whole)
        if (how === "changed") damaged[at] = (damaged[at] ?? 0) ^ bits
        store.objects.set(segmentKey(1), damaged)
        await expect(rowsOf()).rejects.toBeInstanceOf(SegmentDamagedError)
      },
    ),
    { numRuns: rounds(300) },
  )
})

test("a segment of a newer version is refused as that", async () => {
  const store = new MemoryStore()
  await shipAll(store, sample(20))
  const { zstdCompressSync, crc32 } = await import("node:zlib")
  const footer = zstdCompressSync(JSON.stringify({ facts: { format: 7 } }))
  const tail = Buffer.alloc(16)
  tail.writeUInt32LE(footer.length, 0)
  tail.writeUInt32LE(crc32(footer), 4)
  tail.write("reelseg1", 8)
  store.objects.set(segmentKey(1), Buffer.concat([footer, tail]))
  const refused = await readSegmentEnd(store, 1).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(NewerStreamError)
  expect(String(refused)).toMatch(/segments\/000000000001\.segment has format 7; .* Upgrade kubereel/)
})

test("of a segment that is removed while it is read there are no rows, which is no damage", async () => {
  const store = new MemoryStore()
  await shipAll(store, sample())
  /** As large segments are read: the end has the footer, and not all rows. */
  const read: MemoryStore["read"] = (key, range) =>
    store.read(key, range !== undefined && "last" in range ? { last: Math.min(range.last, 3000) } : range)
  const end = await readSegmentEnd({ location: store.location, read }, 1)
  expect(end?.footer.pages.some(({ at }) => at < (end?.bytes ?? 0) - 3000)).toBe(true)
  store.objects.clear()
  expect(await end?.rowsAlone(0)).toBeUndefined()
})
