/** The files of a question: those of its clusters and days, read once from an object store. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { copyFacts, factsIn, openFacts } from "../../src/facts/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { core, event, header } from "../trace/views/items.ts"
import { allRows, always, directoryStore, makeFacts, recordingOf, streamOf } from "./made-facts.ts"

const day = 86_400

/** A cluster with a change on each of three days, under two names. */
const threeDays = async (): Promise<string> => {
  const object = core("ConfigMap", { name: "a", uid: "a", resourceVersion: "1" })
  const directory = await recordingOf([
    header(0, 3 * day, { kinds: ["v1.ConfigMap"], clusterUid: "cluster-1" }),
    ...[1, day + 1, 2 * day + 1].map((seconds) => event("applied", seconds, object)),
  ])
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory, { cluster: "a" })
  await makeFacts(bucket, directory, { cluster: "b.c" })
  return bucket
}

const moment = (text: string): number => Date.parse(text) * 1000

test("only files of the clusters and days in question are listed", async () => {
  const store = await directoryStore(await threeDays())
  const keys = async (range: Partial<typeof always>) =>
    (await factsIn(store, { ...always, ...range })).map(({ key }) =>
      key.replace(/^facts\/cluster=(.*)\/day=2025-11-(\d\d)\/.*$/, "$1 $2"),
    )
  expect(await keys({})).toEqual(["a 21", "a 22", "a 23", "b.c 21", "b.c 22", "b.c 23"])
  const second = { from: moment("2025-11-22T00:00:00Z"), to: moment("2025-11-22T23:59:59Z") }
  expect(await keys(second)).toEqual(["a 22", "b.c 22"])
  expect(await keys({ ...second, clusters: ["b.c"] })).toEqual(["b.c 22"])
  store.close()
})

test("files of an object store are read once, and no more of them than is permitted", async () => {
  const bucket = await threeDays()
  const store = await directoryStore(bucket)
  const objects = await factsIn(store, always)
  const copies = { cacheDirectory: temporaryDirectory(), maximumBytes: 1024 ** 2, onTrouble: expect.unreachable }
  await copyFacts(store, objects, { ...copies, directory: temporaryDirectory() })
  await expect(
    copyFacts(store, objects, {
      ...copies,
      cacheDirectory: temporaryDirectory(),
      maximumBytes: 1000,
      directory: temporaryDirectory(),
    }),
  ).rejects.toThrow("the facts have more than 1000 bytes. Ask about less with --since, --until or --clusters")
  rmSync(join(bucket, "facts"), { recursive: true })
  const files = await copyFacts(store, objects, { ...copies, directory: temporaryDirectory() })
  const database = await openFacts(files, always)
  const { rows } = await database.ask("SELECT cluster, count(*) FROM changes GROUP BY ALL ORDER BY ALL")
  expect(await allRows(rows)).toEqual([
    ["a", 3],
    ["b.c", 3],
  ])
  database.close()
  await expect(
    copyFacts(store, objects, { ...copies, cacheDirectory: temporaryDirectory(), directory: temporaryDirectory() }),
  ).rejects.toThrow("was there a moment ago. If reel fleet compact has joined it with others, ask again.")
  store.close()
})
