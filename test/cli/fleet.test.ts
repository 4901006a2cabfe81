/** `reel fleet` on directories with streams: what it says, and what it refuses. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ArchiveWriter, DeltaReader } from "../../src/archive/index.ts"
import { openStore } from "../../src/blob/index.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { fleetCommand } from "../../src/cli/fleet.ts"
import { restoreStream } from "../../src/fleet/index.ts"
import { sample } from "../archive/sample-recording.ts"
import { expectSameRecording } from "../fleet/same-recording.ts"
import { firstTenure, ship } from "../fleet/shipping-recorder.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { ran } from "./commands-in.ts"

const run = (...words: ReadonlyArray<string>) => ran(fleetCommand(), words)

const storeIn = (bucket: string) => openStore({ provider: "file", host: undefined, region: undefined, bucket, key: "" })

/** Segments of several moments of a recording. */
const shipped = async (directory: string, bucket: string): Promise<void> => {
  mkdirSync(bucket, { recursive: true })
  const store = await storeIn(bucket)
  const reader = new DeltaReader(directory)
  const writer = ArchiveWriter.open(directory)
  let tenure = firstTenure
  for (let moment = 0; moment < 4; moment++) {
    writer.metadata.set("clusterUid", "cluster-1")
    writer.commit()
    tenure = await ship(store, reader, tenure, { maximumBytes: 30_000 })
  }
  writer.close()
  reader.close()
  store.close()
}

test("a stream is compacted, and is what it was", async () => {
  const [original, bucket] = [sample(), join(temporaryDirectory(), "stream")]
  await shipped(original, bucket)
  const first = await run("compact", bucket, "--keep", "100y")
  expect(first).toMatchObject({ code: exitCodes.ok, error: "" })
  expect(first.output).toMatch(
    /^compacted \d+ segments, \d+ kB into \d+ kB; removed 0 objects that had been replaced\n$/,
  )
  expect((await run("compact", bucket, "--grace", "0s")).output).toMatch(/^nothing to compact; removed \d+ objects/)
  const restored = temporaryDirectory()
  const store = await storeIn(bucket)
  await restoreStream(store, restored)
  store.close()
  expectSameRecording(restored, original)
})

test("all streams below an address are shown, and one that is damaged does not hide the others", async () => {
  const fleet = temporaryDirectory()
  for (const name of ["eu/one", "us"]) await shipped(sample(40), join(fleet, name))
  await run("compact", join(fleet, "us"))
  const shown = await run("status", fleet)
  expect(shown).toMatchObject({ code: exitCodes.ok, error: "" })
  const [head = "", ...lines] = shown.output.trim().split("\n")
  expect(head).toMatch(/^STREAM +CLUSTER +UNTIL +LAG +GAPS +OBJECTS +BYTES +A DAY +COST OF A DAY$/)
  expect(lines).toHaveLength(2)
  expect(lines[0]).toMatch(/eu\/one +cluster- .* +- +\d+\+0 +\d+ kB +- +0\.0000$/)
  expect(lines[1]).toMatch(/us +cluster- .* +0 +\d+\+1 /)

  writeFileSync(join(fleet, "us", "stream.json"), "{}")
  const json = await run("status", join(fleet, "eu"), join(fleet, "us"), "-o", "json", "--price", "30")
  expect(json.code).toBe(exitCodes.incomplete)
  const { items } = JSON.parse(json.output)
  expect(items[0]).toMatchObject({ clusterUid: "cluster-1", stream: "s1", compacted: 0, gaps: null, bytesPerDay: null })
  expect(items[0].costPerDay).toBeCloseTo(items[0].bytes / 1e9)
  expect(items[0].lagSeconds).toBeLessThan(600)
  expect(items[1].trouble).toMatch(/stream\.json is damaged/)
})

test("a place without streams is said to have none", async () => {
  expect(await run("status", temporaryDirectory())).toMatchObject({
    ...{ code: exitCodes.incomplete, error: expect.stringContaining("no streams found") },
  })
  expect((await run("compact", temporaryDirectory())).error).toMatch(/contains no stream/)
})

test("an index of a directory without facts is not made", async () => {
  const catalog = join(temporaryDirectory(), "facts.ducklake")
  expect(await run("index", temporaryDirectory(), "--catalog", catalog)).toMatchObject({
    ...{ code: exitCodes.failed, error: expect.stringContaining("has no facts. Make facts with reel fleet facts") },
  })
  expect(existsSync(catalog)).toBe(false)
})

test.each([
  ["another action", ["grow", "./x"], '"grow" is none of compact, status'],
  ["two addresses to compact", ["compact", "./x", "./y"], "compact takes one address"],
  ["an address that is none", ["status", "ftp://somewhere"], "is not supported"],
  ["a time that is none", ["compact", "./x", "--keep", "soon"], "12h, 30d or 8w, or 1y"],
  ["an index without a file", ["index", "./x"], "say where the catalogue is to be, with --catalog"],
  ["an index of an object store", ["index", "s3://recordings/y", "--catalog", "c"], "index reads facts in a directory"],
  ["a price that is none", ["status", "./x", "--price", "free"], "must be a number such as 0.023"],
  ["a grace that is none", ["compact", "./x", "--grace", "long"], "must be a duration such as 1h or 1d"],
])("%s is refused", async (_, words, error) => {
  expect(await run(...words)).toMatchObject({ code: exitCodes.usage, error: expect.stringContaining(error) })
})
