/** Worker entry point: reads ranges of streams for the readers of mirrors (mirror/blob-fetcher.ts), through the cache of ranges that all processes of a user share. */
import { workerData } from "node:worker_threads"
import type { FetcherData, FetchRequest } from "../mirror/blob-fetcher.ts"
import { RangeFetcher } from "../mirror/range-fetcher.ts"

const { port, answered }: FetcherData = workerData
const fetcher = new RangeFetcher()

const tell = (): void => {
  Atomics.add(answered, 0, 1)
  Atomics.notify(answered, 0)
}

port.on("message", async ({ directory, blobs, isAwaited }: FetchRequest) => {
  if (!isAwaited) return void fetcher.expect(directory, blobs)
  for (const blob of blobs) {
    port.postMessage(await fetcher.read(directory, blob))
    tell()
  }
})
// A reader that waits for an answer sleeps in Atomics.wait, so no event can tell it that this worker has ended.
process.on("exit", tell)
tell()
