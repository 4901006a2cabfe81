/**
 * Reads the BLOBs of mirrors for a thread that cannot wait for promises, because readers of recordings are synchronous: a worker thread asks the store, and
 * the reading thread sleeps until it has answered. The worker begins with the first BLOB, and keeps no process alive.
 */
import { existsSync } from "node:fs"
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import { type BlobSource, type FarBlob, StoreUnreadableError } from "../../archive/index.ts"

/** What the worker is asked for. Without `isAwaited` nobody waits for it. */
export interface FetchRequest {
  readonly directory: string
  readonly blobs: ReadonlyArray<FarBlob>
  readonly isAwaited: boolean
}

/** The bytes, or why they cannot be read. */
export type FetchAnswer = { readonly bytes: Uint8Array } | { readonly location: string; readonly reason: string }

/** What the worker begins with: requests come and answers go through `port`; after each answer the number in `answered` is one more. */
export interface FetcherData {
  readonly port: MessagePort
  readonly answered: Int32Array<SharedArrayBuffer>
}

/** ms to wait for an answer. The worker gives up earlier: it has answered then, or has died. */
const deadlineMs = 120_000

let fetcher: BlobFetcher | undefined

/** That of this thread. */
export const threadsFetcher = (): BlobSource => {
  fetcher ??= new BlobFetcher(fetcherEntry())
  return fetcher
}

/** A bundle, where there are any (scripts/build.ts); else Node runs the source. */
const fetcherEntry = (): URL => {
  const bundles = ["./fetcher.js", "./workers/fetcher.js", "../workers/fetcher.js", "../../../dist/workers/fetcher.js"]
  const found = bundles.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  return found ?? new URL("../entries/fetcher.ts", import.meta.url)
}

class BlobFetcher implements BlobSource {
  readonly #entry: URL
  readonly #answered = new Int32Array(new SharedArrayBuffer(4))
  #port: MessagePort | undefined

  constructor(entry: URL) {
    this.#entry = entry
  }

  read(directory: string, blob: FarBlob): Uint8Array {
    const port = this.#open()
    const before = Atomics.load(this.#answered, 0)
    port.postMessage({ directory, blobs: [blob], isAwaited: true } satisfies FetchRequest)
    Atomics.wait(this.#answered, 0, before, deadlineMs)
    const answer: FetchAnswer | undefined = receiveMessageOnPort(port)?.message
    if (answer !== undefined && "bytes" in answer) return answer.bytes
    if (answer !== undefined) throw new StoreUnreadableError({ directory, ...answer })
    // Another worker answers the next.
    port.close()
    this.#port = undefined
    const reason = `there was no answer for ${deadlineMs / 1000} s`
    throw new StoreUnreadableError({ directory, location: blob.key, reason })
  }

  expect(directory: string, blobs: ReadonlyArray<FarBlob>): void {
    this.#open().postMessage({ directory, blobs, isAwaited: false } satisfies FetchRequest)
  }

  #open(): MessagePort {
    if (this.#port !== undefined) return this.#port
    const { port1, port2 } = new MessageChannel()
    const data: FetcherData = { port: port2, answered: this.#answered }
    const worker = new Worker(this.#entry, { workerData: data, transferList: [port2] })
    // Whoever waits learns it by the deadline.
    worker.on("error", () => port1.close())
    worker.unref()
    port1.unref()
    this.#port = port1
    return port1
  }
}
