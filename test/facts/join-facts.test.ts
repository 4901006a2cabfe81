/** Files of a day that become one: each change once at every moment, for questions that are asked while files are joined. */
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { expect, test } from "vitest"
import type { BlobStore } from "../../src/blob/index.ts"
import { FactsFile, factsOf } from "../../src/facts/facts-file.ts"
import { fileName } from "../../src/facts/facts-files.ts"
import { joinFacts } from "../../src/facts/index.ts"
import { askFacts, directoryStore, filesIn, makeFacts, recordingOf, streamOf } from "./made-facts.ts"
import { hour } from "./shop-hour.ts"

const later = { nowMicros: Date.UTC(2030, 0, 1) * 1000 }

/** Facts of an hour, in files of two changes each. */
const many = async (): Promise<{ readonly bucket: string; readonly directory: string }> => {
  const directory = await recordingOf(hour)
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory)
  for (const [name, content] of filesIn(bucket)) {
    const path = join(bucket, "facts", name)
    rmSync(path)
    for await (const facts of factsOf(Buffer.from(content, "base64")))
      for (let from = 0; from < facts.length; from += 2) {
        const [some, file] = [facts.slice(from, from + 2), new FactsFile()]
        for (const each of some) file.add(each)
        writeFileSync(
          join(dirname(path), fileName({ number: 1, through: Number(some.at(-1)?.sequence) })),
          file.finish(),
        )
      }
  }
  expect(filesIn(bucket).size).toBeGreaterThan(4)
  return { bucket, directory }
}

const rowsIn = (bucket: string): ReturnType<typeof askFacts> =>
  askFacts(bucket, "FROM changes ORDER BY cluster, sequence")

type Joined = Parameters<typeof joinFacts>[0]

/** Joins what there is, by a store that does something else before each object is read, created or removed. */
const joinWith = async (
  bucket: string,
  before: (step: "read" | "create" | "remove") => unknown,
  options = later,
): ReturnType<typeof joinFacts> => {
  const store = await directoryStore(bucket)
  const stepped: Joined = {
    list: (...given: Parameters<BlobStore["list"]>) => store.list(...given),
    read: async (...given) => {
      await before("read")
      return await store.read(...given)
    },
    create: async (...given) => {
      await before("create")
      return await store.create(...given)
    },
    remove: async (keys) => {
      for (const key of keys) {
        await before("remove")
        await store.remove([key])
      }
    },
  }
  try {
    return await joinFacts(stepped, options)
  } finally {
    store.close()
  }
}

const joinAll = (bucket: string, options = later) => joinWith(bucket, () => undefined, options)

test("the files of a day become one with the same rows, of all columns", async () => {
  const { bucket } = await many()
  const [rows, before] = [await rowsIn(bucket), filesIn(bucket).size]
  expect(await joinAll(bucket)).toEqual({ isThere: true, files: before, days: 1 })
  expect([...filesIn(bucket).keys()]).toEqual([
    expect.stringMatching(/^cluster=prod\/day=2025-11-21\/\d{12}-\d{12}_joined\.c25\.parquet$/),
  ])
  expect(await rowsIn(bucket)).toEqual(rows)
  expect(await joinAll(bucket)).toEqual({ isThere: true, files: 0, days: 0 })
})

test("a day that is not over stays as it is", async () => {
  const { bucket } = await many()
  const files = filesIn(bucket)
  await joinAll(bucket, { nowMicros: Date.UTC(2025, 10, 21, 23, 59) * 1000 })
  expect(filesIn(bucket)).toEqual(files)
})

test("each change is in one file that counts, before and after every step, and where a process is killed there", async () => {
  const { bucket } = await many()
  const rows = await rowsIn(bucket)
  const steps = filesIn(bucket).size * 2 + 1
  for (let last = 0, isDone = false; !isDone; last++) {
    let left = last
    isDone = await joinWith(bucket, async () => {
      expect(await rowsIn(bucket)).toEqual(rows)
      if (left-- === 0) throw new Error("killed")
    }).then(
      () => true,
      () => false,
    )
    expect(last).toBeLessThanOrEqual(steps)
    expect(await rowsIn(bucket)).toEqual(rows)
  }
  expect(filesIn(bucket).size).toBe(1)
})

test("what comes later for a day that was joined is joined with it, and facts go on behind it", async () => {
  const { bucket, directory } = await many()
  const rows = await rowsIn(bucket)
  const [last = ""] = [...filesIn(bucket).keys()].slice(-1)
  renameSync(join(bucket, "facts", last), join(bucket, "later"))
  await joinAll(bucket)
  expect(await makeFacts(bucket, directory)).toBeGreaterThan(0)
  expect([...filesIn(bucket).keys()]).toContain(last)
  expect(await rowsIn(bucket)).toEqual(rows)
  expect(await joinAll(bucket)).toMatchObject({ files: 2, days: 1 })
  expect(filesIn(bucket).size).toBe(1)
  expect(await rowsIn(bucket)).toEqual(rows)
  expect(await makeFacts(bucket, directory)).toBe(0)
})

test("one of two that join at once creates a file that does not count, or none", async () => {
  const { bucket, directory } = await many()
  const rows = await rowsIn(bucket)
  const [last = ""] = [...filesIn(bucket).keys()].slice(-1)
  rmSync(join(bucket, "facts", last))
  let isFirst = true
  await joinWith(bucket, async (step) => {
    if (step !== "create" || !isFirst) return
    isFirst = false
    await makeFacts(bucket, directory)
    await joinAll(bucket)
    expect(filesIn(bucket).size).toBe(1)
  })
  expect(filesIn(bucket).size).toBe(2)
  expect(await rowsIn(bucket)).toEqual(rows)
  expect(await joinAll(bucket)).toMatchObject({ days: 0 })
  expect(filesIn(bucket).size).toBe(1)
  const another = await many()
  let reads = 0
  await joinWith(another.bucket, async (step) => {
    if (step === "read" && reads++ === 1) await joinAll(another.bucket)
  })
  expect(filesIn(another.bucket).size).toBe(1)
  expect(await rowsIn(another.bucket)).toEqual(rows)
})

test("files of an earlier version, which lack columns, are asked and joined with others", async () => {
  const { bucket } = await many()
  const [first = ""] = filesIn(bucket).keys()
  const path = join(bucket, "facts", first)
  const instance = await DuckDBInstance.create(":memory:")
  const connection = await instance.connect()
  const older = path.replace(".c25", "")
  await connection.run(
    `COPY (SELECT * EXCLUDE (restarts_before, cluster, day) FROM '${path}') TO '${older}' (COMPRESSION zstd)`,
  )
  connection.closeSync()
  instance.closeSync()
  const rows = (await rowsIn(bucket)).length
  rmSync(path)
  const lacking = { restarts: null, restarts_before: null }
  const asked = await rowsIn(bucket)
  expect([asked.length, asked[0]]).toEqual([rows - 2, expect.objectContaining(lacking)])
  await joinAll(bucket)
  expect(await rowsIn(bucket)).toEqual(asked)
})

test("files of a later version, of which this one does not know all columns, stay as they are", async () => {
  const { bucket } = await many()
  const [first = ""] = filesIn(bucket).keys()
  renameSync(join(bucket, "facts", first), join(bucket, "facts", first.replace(".c25", ".c26")))
  const files = filesIn(bucket)
  expect(await joinAll(bucket)).toEqual({ isThere: true, files: 0, days: 0 })
  expect(filesIn(bucket)).toEqual(files)
})
