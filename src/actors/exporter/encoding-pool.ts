/**
 * Threads that encode batches for exports, in addition to the exporter's own.
 *
 * They exist while there is a lease and for {@link idleMs} longer, so that a recorder without exports pays nothing: not even piscina is
 * loaded before the first lease. At most one batch more than there are threads is in flight, over all exports; if there is no room, the
 * caller encodes the batch itself. So the exporter's thread works too; its own share of an export, reading and writing, is the larger one.
 *
 * A pool that cannot start, or a thread that ends with a batch, fails the exports that use it with the reason; the next lease starts again.
 */
import { fileURLToPath } from "node:url"
import type { Piscina } from "piscina"
import type { Clock, Timer } from "../../clock.ts"
import type { EncodedSimkubeBatch, SimkubeBatch } from "../../trace/formats/simkube/simkube-batch.ts"

/** A source of encoding threads for exports. */
export interface Encoding {
  /** A lease for one export, to be released when it ends, in any way. */
  lease(): EncodingLease
}

export interface EncodingLease extends Disposable {
  /**
   * The encoded batch, or `undefined` if there is no room: then the batch is untouched and the caller must encode it. If a promise is
   * returned, the batch's memory has been transferred. Rejects, or throws, when the threads cannot be used.
   */
  tryEncode(batch: SimkubeBatch): Promise<EncodedSimkubeBatch> | undefined
}

/** No threads: every export encodes in its own thread. */
export const ownThreadOnly: Encoding = {
  lease: () => ({ tryEncode: () => undefined, [Symbol.dispose]: () => undefined }),
}

/**
 * ms from the end of the last lease to the end of the threads, so that consecutive exports, as tests and dashboards make them, share the
 * threads.
 */
export const idleMs = 10_000

/**
 * Limits of each thread, MiB. The garbage of an event is dead at once, so the young generation is small. The old one bounds leaks and
 * counts against the container; an object of 1.5 MiB, the largest that etcd accepts, needs some 20 MiB.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 }

interface EncodingPoolOptions {
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
  /** Set once a thread has replied: a batch that is sent earlier would wait for its start. */
  #ready: Piscina<SimkubeBatch, EncodedSimkubeBatch> | undefined
  #failure: Error | undefined

  constructor(options: EncodingPoolOptions) {
    this.#entry = fileURLToPath(options.entry)
    this.#threads = options.threads
    this.#clock = options.clock
  }

  /** Whether threads exist or are starting. */
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

  /** Ends the threads at once; batches in flight reject. A later lease starts new threads. */
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
    // The leases decide when the threads end.
    idleTimeout: Number.POSITIVE_INFINITY,
    resourceLimits,
    // Workers must not inherit flags of the main thread, such as a test runner's loader.
    execArgv: [],
    recordTiming: false,
  })
  // Errors that belong to no batch, such as a thread that ends while it starts. Without a listener they would end the exporter.
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
