/**
 * An object in a store as a stream of bytes, read in ranges: a reader may be as slow as it likes, because no connection waits for it, and a
 * range whose connection broke is requested again.
 *
 * Guaranteed: all bytes are of the version that existed when the object was opened, or reading fails. Memory: two ranges of
 * {@link rangeBytes}, one of them being fetched ahead.
 */
import { type Clock, systemClock } from "../clock.ts"
import { openAzureSource } from "./azure-source.ts"
import { within } from "./deadline.ts"
import { openGcsSource } from "./gcs-source.ts"
import { type ImportPackage, importPackage } from "./optional-package.ts"
import { targetDeadlines } from "./part-writer.ts"
import { openS3Source } from "./s3-source.ts"
import type { StoreAddress } from "./target-address.ts"
import { targetError, targetErrorOf } from "./target-error.ts"

/** A store's operations on one version of one object. Rejections are the SDK's own errors. */
export interface RangeSource {
  /** Bytes of the object. */
  readonly size: number
  /** Exactly `length` bytes, all of them within the object. Rejects if the object was replaced. */
  read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array>
  /** Closes connections; the last call. */
  close(): void
}

export interface StoredObject {
  /** In bytes. */
  readonly size: number
  /** From the beginning, again for each call. Throws TargetError. */
  read(): AsyncGenerator<Uint8Array, void>
  /** Ends reading. May be called again. */
  close(): void
}

export interface OpenSourceOptions {
  /** Ends opening. */
  readonly signal: AbortSignal
  readonly clock?: Clock
  /** Read by this module; the SDKs read the environment of the process. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv
  readonly importing?: ImportPackage
  /** Default {@link rangeBytes}. */
  readonly rangeBytes?: number
}

/** Large enough that the time of a request does not count. */
const rangeBytes = 4 * 1024 * 1024

/** How often a range is requested whose connection breaks, and ms of half of the first pause; the pauses double. */
const attempts = 5
const pauseMs = 50

const openers = { s3: openS3Source, gs: openGcsSource, azure: openAzureSource }

/** Rejects with a TargetError: the object does not exist, or may not be read, or the store does not respond in time. */
export const openSource = async (address: StoreAddress, options: OpenSourceOptions): Promise<StoredObject> => {
  const { signal, clock = systemClock, environment = process.env, importing = importPackage } = options
  const opening = openers[address.provider](address, environment, importing)
  try {
    const source = await within(clock, "the store's response", targetDeadlines.openMs, signal, () => opening)
    return new RangeReader(address, source, clock, options.rangeBytes ?? rangeBytes)
  } catch (cause) {
    // It may still be opened, for no one.
    void opening.then(
      (source) => source.close(),
      () => undefined,
    )
    throw targetErrorOf(address, cause, "read")
  }
}

class RangeReader implements StoredObject {
  readonly #address: StoreAddress
  readonly #source: RangeSource
  readonly #clock: Clock
  readonly #rangeBytes: number
  readonly #stop = new AbortController()

  constructor(address: StoreAddress, source: RangeSource, clock: Clock, bytes: number) {
    this.#address = address
    this.#source = source
    this.#clock = clock
    this.#rangeBytes = bytes
  }

  get size(): number {
    return this.#source.size
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    const ranges = Math.ceil(this.size / this.#rangeBytes)
    let ahead = this.#fetch(0)
    for (let range = 0; range < ranges; range++) {
      const bytes = await ahead
      ahead = this.#fetch(range + 1)
      // It is awaited in the next round, or no longer wanted.
      ahead.catch(() => undefined)
      yield bytes
    }
  }

  close(): void {
    if (this.#stop.signal.aborted) return
    this.#stop.abort(targetError(this.#address, "aborted", "the reader was closed", "read"))
    this.#source.close()
  }

  /** Nothing beyond the last range. */
  async #fetch(range: number): Promise<Uint8Array> {
    const offset = range * this.#rangeBytes
    const length = Math.min(this.#rangeBytes, this.size - offset)
    if (length <= 0) return new Uint8Array(0)
    for (let attempt = 1; ; attempt++) {
      try {
        const what = `range ${range + 1}`
        const bytes = await within(this.#clock, what, targetDeadlines.partMs, this.#stop.signal, (signal) =>
          this.#source.read(offset, length, signal),
        )
        if (bytes.length === length) return bytes
        throw new Error(`${bytes.length} bytes arrived instead of ${length}`)
      } catch (cause) {
        const error = targetErrorOf(this.#address, cause, "read")
        // The SDKs repeat requests without a response, but not those whose response broke off.
        if (error.code !== "unreachable" || attempt === attempts || this.#stop.signal.aborted) throw error
      }
      await new Promise<void>((resolve) => this.#clock.after(pauseMs * 2 ** attempt, resolve))
    }
  }
}
