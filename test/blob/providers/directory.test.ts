/** A directory as a store: the contract, and what only a directory can do wrong. */
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, test } from "vitest"
import { openStore, readStorePlace } from "../../../src/blob/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { all, describeBlobStore } from "../stores/blob-store-contract.ts"

describeBlobStore("a directory", async () => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-store-"))
  return {
    // Each test has a directory of its own, as a prefix is one of a bucket.
    url: async (prefix) => {
      await mkdir(join(directory, prefix), { recursive: true })
      return pathToFileURL(join(directory, prefix)).href
    },
    missing: join(directory, "missing"),
    stop: () => rm(directory, { recursive: true }),
  }
})

const open = (path: string) => {
  const reading = readStorePlace(path)
  if (reading.tag === "refused") throw new Error(reading.message)
  return openStore(reading.place)
}

test("a draft of a process that was killed is removed when the directory is opened an hour later, one under way is not", async () => {
  const directory = temporaryDirectory()
  const drafts = join(directory, ".kubereel-drafts")
  await mkdir(drafts)
  for (const [name, minutes] of [
    ["killed.draft", 61],
    ["under-way.draft", 59],
  ] as const) {
    await writeFile(join(drafts, name), "half")
    const then = Date.now() / 1000 - 60 * minutes
    await utimes(join(drafts, name), then, then)
  }
  const store = await open(directory)
  expect(await readdir(drafts)).toEqual(["under-way.draft"])
  expect(await all(store.list(""))).toEqual([])
  await expect(store.create(".kubereel-drafts/a", [])).rejects.toMatchObject({ code: "bad-key" })
})

test("nothing is left beside an object, whether it was created or existed", async () => {
  const directory = temporaryDirectory()
  const store = await open(directory)
  for (const expected of ["created", "exists"]) expect(await store.create("a/b", [Buffer.from("c")])).toBe(expected)
  expect(await readdir(join(directory, ".kubereel-drafts"))).toEqual([])
  expect(await readdir(join(directory, "a"))).toEqual(["b"])
})

test("keys are listed in the order of their bytes, which is not that of JavaScript's strings", async () => {
  const store = await open(temporaryDirectory())
  for (const key of ["𝄞", "\uff5e", "a"]) await store.create(key, [])
  expect(await all(store.list(""))).toEqual(["a", "\uff5e", "𝄞"])
  expect(await all(store.list("", { after: "\uff5e" }))).toEqual(["𝄞"])
})

test("what is no file is no object", async () => {
  const directory = temporaryDirectory()
  const store = await open(directory)
  await mkdir(join(directory, "folder"))
  await symlink(directory, join(directory, "link"))
  expect(await all(store.list(""))).toEqual([])
  expect(await store.read("folder")).toBeUndefined()
  expect(await store.read("folder/a/b")).toBeUndefined()
})

test.each(["http://example.com/a", "memory:x", "https://example.com/a", "file://host/a", "s3://b/a//c", "az://c/k"])(
  "%s is no store",
  (path) => {
    expect(readStorePlace(path)).toMatchObject({ tag: "refused", message: expect.stringContaining(path.slice(0, 8)) })
  },
)

test.each([
  ["s3://bucket", "s3", "bucket", ""],
  ["s3://bucket/", "s3", "bucket", ""],
  ["gs://bucket/a%20b/c/", "gs", "bucket", "a b/c"],
  ["azure://container/x", "azure", "container", "x"],
  ["file:///data/a%20b", "file", "/data/a b", ""],
  ["/data/../other", "file", "/other", ""],
])("%s is %s, %s and the prefix %j", (path, provider, bucket, key) => {
  expect(readStorePlace(path)).toMatchObject({ tag: "place", place: { provider, bucket, key } })
})

test("a folder without a file is no prefix of a key", async () => {
  const directory = temporaryDirectory()
  const store = await open(directory)
  await store.create("facts/day/a", [])
  await mkdir(join(directory, "facts", "empty", "too"), { recursive: true })
  expect(await all(store.list("facts/", { delimiter: "/" }))).toEqual(["facts/day/"])
})

test("what the file system says while a folder is listed is an error of the store", async () => {
  const store = await open(temporaryDirectory())
  await expect(all(store.list(`${"long".repeat(200)}/`))).rejects.toMatchObject({ _tag: "TargetError", access: "list" })
})
