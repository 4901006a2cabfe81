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

/** What the worker begins with: requests come and answers go through `port`; after each answer, when it has begun and when it ends, the number in `answered` is one more. */
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

/** A worker, as the thread that asks knows it. */
interface Opened {
  readonly port: MessagePort
  /** Its own: one that was given up may still answer. */
  readonly answered: FetcherData["answered"]
}

/** Reads through one worker at a time. A {@link read} takes two minutes at most. */
export class BlobFetcher implements BlobSource {
  readonly #entry: URL
  readonly #startMs: number
  #opened: Opened | undefined

  /** `startMs`: how long to wait for a worker to begin; one that cannot be started says so to nobody while this thread sleeps. */
  constructor(entry: URL, startMs = 20_000) {
    this.#entry = entry
    this.#startMs = startMs
  }

  read(directory: string, blob: FarBlob): Uint8Array {
    const { port, answered } = this.#open()
    Atomics.wait(answered, 0, 0, this.#startMs)
    const before = Atomics.load(answered, 0)
    port.postMessage({ directory, blobs: [blob], isAwaited: true } satisfies FetchRequest)
    const waited = before > 0 && Atomics.wait(answered, 0, before, deadlineMs)
    const answer: FetchAnswer | undefined = receiveMessageOnPort(port)?.message
    if (answer !== undefined && "bytes" in answer) return answer.bytes
    if (answer !== undefined) throw new StoreUnreadableError({ directory, ...answer })
    // Another worker answers the next.
    port.close()
    this.#opened = undefined
    const reason =
      waited === false
        ? `the worker that asks did not begin within ${this.#startMs / 1000} s`
        : waited === "timed-out"
          ? `there was no answer for ${deadlineMs / 1000} s`
          : "the worker that asks has ended. Ask again"
    throw new StoreUnreadableError({ directory, location: blob.key, reason })
  }

  expect(directory: string, blobs: ReadonlyArray<FarBlob>): void {
    this.#open().port.postMessage({ directory, blobs, isAwaited: false } satisfies FetchRequest)
  }

  #open(): Opened {
    if (this.#opened !== undefined) return this.#opened
    const { port1, port2 } = new MessageChannel()
    const opened: Opened = { port: port1, answered: new Int32Array(new SharedArrayBuffer(4)) }
    const data: FetcherData = { port: port2, answered: opened.answered }
    const worker = new Worker(this.#entry, { workerData: data, transferList: [port2] })
    // Another worker answers the next; whoever waits for this one learns it by the deadline.
    const forget = (): void => {
      port1.close()
      if (this.#opened === opened) this.#opened = undefined
    }
    worker.on("error", forget).on("exit", forget)
    worker.unref()
    port1.unref()
    this.#opened = opened
    return opened
  }
}
