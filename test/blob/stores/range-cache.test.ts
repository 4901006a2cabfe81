import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as fc from "fast-check"
import { beforeEach, expect, test } from "vitest"
import { type BlobStore, openRangeCache, openStore, readStorePlace } from "../../../src/blob/index.ts"
import type { RangeCacheOptions } from "../../../src/blob/stores/range-cache.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const page = 64 * 1024
const object = Buffer.from(Array.from({ length: 20 * page + 100 }, (_, index) => (index * 7919) % 251))

let store: BlobStore
let directory = ""
let troubles: string[]
const open = (options: Partial<RangeCacheOptions> = {}) =>
  openRangeCache(store, { directory, pageBytes: page, onTrouble: (message) => troubles.push(message), ...options })

beforeEach(async () => {
  const root = temporaryDirectory()
  directory = join(root, "cache")
  await mkdir(join(root, "store"))
  const reading = readStorePlace(join(root, "store"))
  if (reading.tag === "refused") throw new Error(reading.message)
  store = await openStore(reading.place)
  await store.create("object", [object])
  troubles = []
})

const requests = (): number => store.usage().read.requests
const read = async (cache: Awaited<ReturnType<typeof open>>, from: number, until: number) =>
  Buffer.from((await cache.readRanges("object", [{ from, until }]))?.[0] ?? "none")

test("ranges are the object's bytes, whatever is cached", async () => {
  const at = fc.integer({ min: 0, max: object.length + page })
  const range = fc
    .tuple(at, fc.integer({ min: 0, max: 3 * page }))
    .map(([from, length]) => ({ from, until: from + length }))
  let cache = await open({ maximumBytes: 8 * page })
  await fc.assert(
    fc.asyncProperty(fc.array(range, { maxLength: 4 }), fc.boolean(), async (ranges, again) => {
      if (again) cache = await open({ maximumBytes: 8 * page })
      const found = await cache.readRanges("object", ranges)
      for (const [index, each] of ranges.entries())
        expect(Buffer.compare(found?.[index] ?? Buffer.from("none"), object.subarray(each.from, each.until))).toBe(0)
      expect(found).toHaveLength(ranges.length)
    }),
    { numRuns: 100 },
  )
  expect(troubles).toEqual([])
})

test("pages that are missing and adjacent are one request, and none the next time, of any process", async () => {
  const cache = await open()
  await read(cache, 2 * page, 3 * page)
  expect(requests()).toBe(1)
  const ranges = [
    { from: 10, until: 20 },
    { from: page + 5, until: page + 6 },
    { from: 4 * page, until: 4 * page + 1 },
    { from: 2 * page - 1, until: 3 * page + 1 },
  ]
  const expected = ranges.map(({ from, until }) => object.subarray(from, until))
  // Pages 0 and 1 are one request, 3 and 4 another; page 2 is here.
  expect((await cache.readRanges("object", ranges))?.map((bytes) => Buffer.from(bytes))).toEqual(expected)
  expect(requests()).toBe(3)
  expect(store.usage().read.bytes).toBe(5 * page)
  const other = await open()
  expect((await other.readRanges("object", ranges))?.map((bytes) => Buffer.from(bytes))).toEqual(expected)
  expect(requests()).toBe(3)
  expect(await cache.readRanges("object", [])).toEqual([])
})

test("two questions at once request a page once", async () => {
  const cache = await open()
  const [one, other] = await Promise.all([read(cache, 5, 10), read(cache, 50, 60)])
  expect([one, other]).toEqual([object.subarray(5, 10), object.subarray(50, 60)])
  expect(requests()).toBe(1)
})

test("an object that does not exist is undefined, and asked for again", async () => {
  const cache = await open()
  const whole = [{ from: 0, until: 9 }]
  expect(await cache.readRanges("none", whole)).toBeUndefined()
  await store.create("none", [Buffer.from("now")])
  expect(Buffer.from((await cache.readRanges("none", whole))?.[0] ?? "").toString()).toBe("now")
})

test.each([
  ["damaged", (file: Buffer) => file.fill(file[500] === 1 ? 2 : 1, 500, 501)],
  ["torn", (file: Buffer) => file.subarray(0, 1000)],
  ["empty", () => Buffer.alloc(0)],
])("a file that is %s is noticed, reported, and its page requested again", async (_, spoil) => {
  const cache = await open()
  await read(cache, 0, 10)
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    if (name.endsWith("-0")) await writeFile(path, spoil(await readFile(path)))
  }
  expect(await read(cache, 0, page)).toEqual(object.subarray(0, page))
  expect(requests()).toBe(2)
  expect(troubles).toEqual([expect.stringMatching(/-0 is damaged; its page is requested again$/)])
  expect(await read(cache, 0, page)).toEqual(object.subarray(0, page))
  expect(requests()).toBe(2)
})

test("the directory is private and bounded, and what was used least recently goes first", async () => {
  /** Beyond the times that new files have. */
  class Ahead extends ManualClock {
    override wallMicros = (): number => (Date.now() + this.monotonicMs()) * 1000
  }
  const clock = new Ahead()
  const maximumBytes = 8 * page
  const cache = await open({ maximumBytes, clock })
  expect((await stat(directory)).mode & 0o777).toBe(0o700)
  await read(cache, 0, 1)
  for (let index = 1; index < 20; index++) {
    clock.advance(120_000)
    await read(cache, 0, 1)
    await read(cache, index * page, index * page + 1)
    let bytes = 0
    for (const name of await readdir(directory)) bytes += (await stat(join(directory, name))).size
    expect(bytes).toBeLessThanOrEqual(maximumBytes)
  }
  const names = await readdir(directory)
  expect(names.filter((name) => /-(0|19)$/.test(name))).toHaveLength(2)
  expect(names.filter((name) => /-[1-9]$/.test(name))).toEqual([])
})

test("a disk that cannot be used costs requests and is reported, and the answers are right", async () => {
  await writeFile(directory, "a file")
  const cache = await open()
  for (let turn = 1; turn <= 2; turn++) {
    expect(await read(cache, 0, 10)).toEqual(object.subarray(0, 10))
    expect(requests()).toBe(turn)
  }
  expect(troubles[0]).toMatch(/^the cache .*: cannot trim it: EEXIST/)
})
