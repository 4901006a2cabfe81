/** The worker that reads from the store for a thread: it may die, or not even begin. */
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Worker } from "node:worker_threads"
import { expect, test } from "vitest"
import { BlobFetcher } from "../../../src/fleet/mirror/blob-fetcher.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const entryOf = (source: string): URL => {
  const path = join(temporaryDirectory(), "worker.mjs")
  writeFileSync(path, source)
  return pathToFileURL(path)
}

const blob = { key: "segments/000000000001.segment", at: 0, bytes: 1 }

test("after a worker has ended, another one answers", async () => {
  const fetcher = new BlobFetcher(
    entryOf(`
      import { workerData } from "node:worker_threads"
      const { port, answered } = workerData
      const tell = () => { Atomics.add(answered, 0, 1); Atomics.notify(answered, 0) }
      port.on("message", () => { port.postMessage({ bytes: new Uint8Array([7]) }); tell(); setImmediate(() => process.exit(1)) })
      tell()`),
  )
  for (const _ of [1, 2]) {
    const started: Promise<Worker[]> = once(process, "worker")
    expect(fetcher.read("directory", blob)).toEqual(new Uint8Array([7]))
    const [worker] = await started
    if (worker !== undefined) await once(worker, "exit")
  }
})

test("a worker that dies while it is asked is noticed at once", () => {
  const entry = new URL("../../../src/fleet/entries/fetcher.ts", import.meta.url).href
  const fetcher = new BlobFetcher(
    entryOf(`import { workerData } from "node:worker_threads"
      workerData.port.on("message", () => { throw new Error("a bug") })
      await import(${JSON.stringify(entry)})`),
  )
  expect(() => fetcher.read(temporaryDirectory(), blob)).toThrow("the worker that asks has ended. Ask again")
})

test("a worker that cannot be started is not waited for as long as a store is", () => {
  const fetcher = new BlobFetcher(entryOf("throw new Error('broken')"), 50)
  expect(() => fetcher.read("directory", blob)).toThrow("the worker that asks did not begin within 0.05 s")
})
