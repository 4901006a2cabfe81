/**
 * Threads that encode batches for exports, beside the exporter's own.
 *
 * They exist while somebody has a lease and for {@link idleMs} longer, so that a recorder nobody exports from pays nothing:
 * not even piscina is loaded before the first lease. At most one batch more than there are threads is on its way,
 * counting all exports; whoever finds no room encodes the batch itself. So the exporter's thread works too, whose own share of
 * an export, reading and writing, is most of it.
 *
 * A pool that cannot start, or a thread that ends with a batch, fails the exports that use it with the reason; the next
 * lease starts anew.
 */
import { fileURLToPath } from "node:url"
import type { Piscina } from "piscina"
import type { Clock, Timer } from "../../clock.ts"
import type { EncodedSimkubeBatch, SimkubeBatch } from "../../trace/formats/simkube/simkube-batch.ts"

/** Where exports get help from. */
export interface Encoding {
  /** For one export; released when it ends, however it ends. */
  lease(): EncodingLease
}

export interface EncodingLease extends Disposable {
  /**
   * The encoded batch, or `undefined` while there is no room: the batch is then untouched and the caller's to encode. With an
   * answer the batch's memory is gone. Rejects, or throws, when the threads cannot be used.
   */
  tryEncode(batch: SimkubeBatch): Promise<EncodedSimkubeBatch> | undefined
}

/** No threads: everything is encoded by whoever exports. */
export const ownThreadOnly: Encoding = {
  lease: () => ({ tryEncode: () => undefined, [Symbol.dispose]: () => undefined }),
}

/** ms after the last lease at which the threads end: exports in a row, as tests and dashboards make them, share them. */
export const idleMs = 10_000

/**
 * Limits of each thread, MiB. What an event leaves behind is dead at once, so the young generation is small; the old one
 * bounds leaks, and an object of 1.5 MiB, the largest that etcd takes, needs some 20 MiB; it counts against the container.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 }

export interface EncodingPoolOptions {
  /** The module whose default export encodes a batch: `encode.js` among the workers. */
  readonly entry: URL
  readonly threads: number
  readonly clock: Clock
}

/** One per exporter. */
export class EncodingPool implements Encoding {
  readonly #entry: string
  readonly #threads: number
  readonly #clock: Clock
  #leases = 0
  #inFlight = 0
  #idle: Timer | undefined
  #starting: Promise<Piscina<SimkubeBatch, EncodedSimkubeBatch>> | undefined
  /** Once a thread has answered: what is sent earlier would wait for its start. */
  #ready: Piscina<SimkubeBatch, EncodedSimkubeBatch> | undefined
  #failure: Error | undefined

  constructor(options: EncodingPoolOptions) {
    this.#entry = fileURLToPath(options.entry)
    this.#threads = options.threads
    this.#clock = options.clock
  }

  /** Whether threads exist or are being started. */
  get isRunning(): boolean {
    return this.#starting !== undefined
  }

  lease(): EncodingLease {
    this.#idle?.cancel()
    this.#leases++
    if (this.#failure !== undefined) void this.stop()
    if (this.#starting === undefined) this.#start()
    let isHeld = true
    return {
      tryEncode: (batch) => this.#tryEncode(batch),
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        if (--this.#leases === 0) this.#idle = this.#clock.after(idleMs, () => void this.stop())
      },
    }
  }

  /** Ends the threads at once; what is on its way rejects. A later lease starts others. */
  async stop(): Promise<void> {
    this.#idle?.cancel()
    const starting = this.#starting
    this.#starting = undefined
    this.#ready = undefined
    this.#failure = undefined
    const pool = await starting?.catch(() => undefined)
    await pool?.destroy()
  }

  #start(): void {
    const starting = startThreads(this.#entry, this.#threads, (cause) => this.#fail(starting, cause))
    this.#starting = starting
    starting
      .then(async (pool) => {
        await pool.run(nothing)
        if (this.#starting === starting) this.#ready = pool
      })
      .catch((cause: unknown) => this.#fail(starting, cause))
  }

  #fail(starting: Promise<unknown>, cause: unknown): void {
    if (this.#starting === starting) this.#failure ??= cause instanceof Error ? cause : new Error(String(cause))
  }

  #tryEncode(batch: SimkubeBatch): Promise<EncodedSimkubeBatch> | undefined {
    if (this.#failure !== undefined) throw this.#failure
    const pool = this.#ready
    if (pool === undefined || this.#inFlight > this.#threads) return undefined
    this.#inFlight++
    // Piscina derives the type of the list from another overload of `postMessage` than the one it calls.
    const options = { transferList: [batch.objects.buffer] } as unknown as Parameters<typeof pool.run>[1]
    return pool.run(batch, options).finally(() => this.#inFlight--)
  }
}

const startThreads = async (
  filename: string,
  threads: number,
  onError: (cause: unknown) => void,
): Promise<Piscina<SimkubeBatch, EncodedSimkubeBatch>> => {
  const { Piscina } = await import("piscina")
  const pool = new Piscina<SimkubeBatch, EncodedSimkubeBatch>({
    filename,
    minThreads: threads,
    maxThreads: threads,
    // When they end is decided here, by leases.
    idleTimeout: Number.POSITIVE_INFINITY,
    resourceLimits,
    // Workers must not inherit flags meant for the main thread, such as a test runner's loader.
    execArgv: [],
    recordTiming: false,
  })
  // What reaches nobody's batch, such as a thread that ends while it starts. Without a listener it would end the exporter.
  pool.on("error", onError)
  return pool
}

const nothing: SimkubeBatch = {
  types: [],
  typeOf: new Uint16Array(0),
  lengths: new Uint32Array(0),
  keptOwners: new Map(),
  objects: new Uint8Array(0),
}
