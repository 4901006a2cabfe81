/**
 * Threads that run a program on batches of a trace, beside the one that reads and writes it.
 *
 * They start with the second batch if the caller can run batches itself: a small trace is done before they would be up. Then a batch that finds them starting, or
 * all of them busy, is run by the caller, so that nothing waits.
 */
import { fileURLToPath } from "node:url"
import type { Piscina } from "piscina"
import type { ObjectBatch, TransformedBatch } from "./object-batch.ts"

/** MiB: a batch is half a MiB of JSON; an object of 1.5 MiB, the largest that etcd accepts, takes some 20 as values. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 }

type Pool = Piscina<ObjectBatch, TransformedBatch>

interface TransformThreadsOptions {
  /** The module whose default export runs a batch: `transform.js` among the workers. */
  readonly entry: URL
  /** At least 1. */
  readonly threads: number
  /** Runs a batch in this thread. Default: all are run by the threads, so that this one need not know how. */
  readonly alone?: (batch: ObjectBatch) => TransformedBatch
}

export class TransformThreads implements AsyncDisposable {
  readonly #options: TransformThreadsOptions
  #batches = 0
  #inFlight = 0
  #starting: Promise<Pool> | undefined
  #ready: Pool | undefined

  constructor(options: TransformThreadsOptions) {
    this.#options = options
  }

  /** Batches that may be run at once. */
  get lanes(): number {
    return this.#options.threads + 1
  }

  /** Runs a batch here or there. Rejects if the threads cannot start, or one ends. */
  readonly run = (batch: ObjectBatch): TransformedBatch | Promise<TransformedBatch> => {
    const { alone, threads } = this.#options
    this.#batches++
    if (alone === undefined) return this.#started().then((pool) => this.#sent(pool, batch))
    if (this.#batches > 1) this.#started().catch(() => undefined)
    return this.#ready === undefined || this.#inFlight >= threads ? alone(batch) : this.#sent(this.#ready, batch)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pool = await this.#starting?.catch(() => undefined)
    await pool?.destroy()
  }

  #sent(pool: Pool, batch: ObjectBatch): Promise<TransformedBatch> {
    this.#inFlight++
    return pool.run(batch).finally(() => this.#inFlight--)
  }

  #started(): Promise<Pool> {
    this.#starting ??= startThreads(this.#options).then((pool) => {
      this.#ready = pool
      return pool
    })
    return this.#starting
  }
}

const startThreads = async ({ entry, threads }: TransformThreadsOptions): Promise<Pool> => {
  const { Piscina } = await import("piscina")
  return new Piscina<ObjectBatch, TransformedBatch>({
    ...{ filename: fileURLToPath(entry), minThreads: threads, maxThreads: threads, resourceLimits },
    // Workers must not inherit flags of the main thread, such as a test runner's loader.
    execArgv: [],
    recordTiming: false,
  })
}
