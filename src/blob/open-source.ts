/**
 * An object in a store as a stream of bytes, read in ranges: a reader may be as slow as it likes, because no connection waits for it, and a
 * range whose connection broke is requested again.
 *
 * Guaranteed: all bytes are of the version that existed when the object was opened, or reading fails. Memory: two ranges of
 * {@link defaultRangeBytes}, one of them being fetched ahead.
 */

import { type Clock, systemClock } from "../clock.ts"
import type { BlobStore } from "./blob-store.ts"
import { openStore } from "./open-store.ts"
import { targetDeadlines, within } from "./part-writer.ts"
import type { StoreAddress } from "./target-address.ts"
import { type ImportPackage, targetError, targetErrorOf } from "./target-error.ts"

export interface StoredObject {
  /** In bytes. */
  readonly size: number
  /** From the beginning, again for each call. Throws TargetError. */
  read(): AsyncGenerator<Uint8Array, void>
  /** Ends reading. May be called again. */
  close(): void
}

interface OpenSourceOptions {
  /** Ends opening. */
  readonly signal: AbortSignal
  readonly clock?: Clock
  /** Read by this module; the SDKs read the environment of the process. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv
  readonly importing?: ImportPackage
  /** Default {@link defaultRangeBytes}. */
  readonly rangeBytes?: number
}

/** Large enough that the time of a request does not count. */
const defaultRangeBytes = 4 * 1024 * 1024

/** ms for which a request is repeated: who reads a trace waits for it, and wants to know soon that an address is wrong. */
const patienceMs = 5000

/** Rejects with a TargetError: the object does not exist, or may not be read, or the store does not respond in time. */
export const openSource = async (address: StoreAddress, options: OpenSourceOptions): Promise<StoredObject> => {
  const { signal, rangeBytes = defaultRangeBytes, ...rest } = options
  const opening = openStore({ ...address, key: "" }, { ...rest, patienceMs })
  try {
    const clock = options.clock ?? systemClock
    // Unlike that of a HEAD request, the response to a missing first byte says what is missing.
    const found = await within(clock, "the store's response", targetDeadlines.openMs, signal, async (stop) =>
      (await opening).read(address.key, { from: 0, until: 1 }, stop),
    )
    if (found === undefined) throw targetError(address, "no-object", "there is no such object", "read")
    return new RangeReader(address, await opening, found, rangeBytes)
  } catch (cause) {
    // It may still open after the caller has gone, and is then closed.
    void opening.then(
      (store) => store.close(),
      () => undefined,
    )
    throw targetErrorOf(address, cause, "read")
  }
}

class RangeReader implements StoredObject {
  readonly size: number
  readonly #address: StoreAddress
  readonly #store: BlobStore
  readonly #version: string
  readonly #rangeBytes: number

  constructor(
    address: StoreAddress,
    store: BlobStore,
    { size, version }: { readonly size: number; readonly version: string },
    rangeBytes: number,
  ) {
    this.size = size
    this.#address = address
    this.#store = store
    this.#version = version
    this.#rangeBytes = rangeBytes
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
    this.#store.close()
  }

  /** Nothing beyond the last range. */
  async #fetch(range: number): Promise<Uint8Array> {
    const from = range * this.#rangeBytes
    if (from >= this.size) return new Uint8Array(0)
    const found = await this.#store.read(this.#address.key, { from, until: from + this.#rangeBytes })
    if (found?.version === this.#version) return found.bytes
    throw targetError(this.#address, "failed", "the object was replaced or removed while it was read", "read")
  }
}
