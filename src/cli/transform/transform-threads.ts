/**
 * Threads that run a program on batches of a trace, beside the one that reads and writes it.
 *
 * They start with the second batch: a small trace is done before they would be up. A batch that finds them starting, or all of them busy, is run by the thread
 * that brings it, so that nothing waits.
 */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Piscina } from "piscina"
import { type ObjectBatch, runBatch, type TransformedBatch } from "../../trace/transform/object-batch.ts"

/** MiB: a batch is half a MiB of JSON; an object of 1.5 MiB, the largest that etcd accepts, takes some 20 as values. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 }

/** The bundle beside the command, or of the checkout, else the source. */
const entry = (): string => {
  for (const place of ["./workers/transform.js", "../../../dist/workers/transform.js"]) {
    const url = new URL(place, import.meta.url)
    if (existsSync(url)) return fileURLToPath(url)
  }
  return fileURLToPath(new URL("../../trace/transform/entries/transform.ts", import.meta.url))
}

export class TransformThreads implements AsyncDisposable {
  readonly #threads: number
  #batches = 0
  #inFlight = 0
  #starting: Promise<Piscina<ObjectBatch, TransformedBatch>> | undefined
  #ready: Piscina<ObjectBatch, TransformedBatch> | undefined

  /** `threads`: beside this one. With none, all batches are run by the caller. */
  constructor(threads: number) {
    this.#threads = threads
  }

  /** Batches that may be run at once. */
  get lanes(): number {
    return this.#threads + 1
  }

  /** Runs a batch here or there. Rejects if a thread ends. */
  readonly run = (batch: ObjectBatch): TransformedBatch | Promise<TransformedBatch> => {
    this.#batches++
    if (this.#threads > 0 && this.#batches > 1 && this.#starting === undefined) this.#start()
    const pool = this.#ready
    if (pool === undefined || this.#inFlight >= this.#threads) return runBatch(batch)
    this.#inFlight++
    // Piscina derives the type of the list from another overload of `postMessage` than the one it calls.
    const options = { transferList: [batch.objects.buffer] } as unknown as Parameters<typeof pool.run>[1]
    return pool.run(batch, options).finally(() => this.#inFlight--)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pool = await this.#starting?.catch(() => undefined)
    await pool?.destroy()
  }

  #start(): void {
    this.#starting = startThreads(this.#threads)
    // Without threads the work is done all the same, by this one.
    this.#starting.then(
      (pool) => {
        this.#ready = pool
      },
      () => undefined,
    )
  }
}

const startThreads = async (threads: number): Promise<Piscina<ObjectBatch, TransformedBatch>> => {
  const { Piscina } = await import("piscina")
  return new Piscina<ObjectBatch, TransformedBatch>({
    ...{ filename: entry(), minThreads: threads, maxThreads: threads, resourceLimits },
    // Workers must not inherit flags of the main thread, such as a test runner's loader.
    execArgv: [],
    recordTiming: false,
  })
}
