/**
 * An object in a store as a stream of bytes, read in ranges: a reader may be as slow as it likes, because no connection waits for it, and a
 * range whose connection broke is requested again.
 *
 * Guaranteed: all bytes are of the version that existed when the object was opened, or reading fails. Memory: two ranges of
 * {@link defaultRangeBytes}, one of them being fetched ahead.
 */
import { systemClock } from "../../clock.ts"
import type { StoreAddress } from "../addresses/target-address.ts"
import type { Surroundings } from "../providers/provider.ts"
import { responseMs, within } from "../requests/requests.ts"
import { targetError, targetErrorOf } from "../requests/target-error.ts"
import { openStore } from "../stores/open-store.ts"

export interface StoredObject {
  /** In bytes. */
  readonly size: number
  /** From the beginning, again for each call. Throws TargetError. */
  read(): AsyncGenerator<Uint8Array, void>
  /** Ends reading. May be called again. */
  close(): void
}

interface OpenSourceOptions extends Surroundings {
  /** Ends opening. */
  readonly signal: AbortSignal
  /** Default {@link defaultRangeBytes}. */
  readonly rangeBytes?: number
}

/** Large enough that the time of a request does not count. */
const defaultRangeBytes = 4 * 1024 * 1024

/** ms for which a request is repeated: who reads a trace waits for it, and wants to know soon that an address is wrong. */
const patienceMs = 5000

/** Rejects with a TargetError: the object does not exist, or may not be read, or the store does not respond in time. */
export const openSource = async (address: StoreAddress, options: OpenSourceOptions): Promise<StoredObject> => {
  const { signal, rangeBytes = defaultRangeBytes, ...surroundings } = options
  const { clock = systemClock } = surroundings
  const opening = openStore({ ...address, key: "" }, { ...surroundings, patienceMs })
  try {
    // Unlike that of a HEAD request, the response to a missing first byte says what is missing.
    const found = await within(clock, "the store's response", responseMs, signal, async (stop) =>
      (await opening).read(address.key, { from: 0, until: 1 }, stop),
    )
    if (found === undefined) throw targetError(address, "no-object", "there is no such object", "read")
    const { size, version } = found
    const store = await opening
    /** Nothing beyond the last range. */
    const fetchFrom = async (from: number): Promise<Uint8Array> => {
      if (from >= size) return new Uint8Array(0)
      const part = await store.read(address.key, { from, until: from + rangeBytes })
      if (part?.version === version) return part.bytes
      throw targetError(address, "failed", "the object was replaced or removed while it was read", "read")
    }
    const read = async function* (): AsyncGenerator<Uint8Array, void> {
      let ahead = fetchFrom(0)
      for (let from = 0; from < size; from += rangeBytes) {
        const bytes = await ahead
        ahead = fetchFrom(from + rangeBytes)
        // It is awaited in the next round, or no longer wanted.
        ahead.catch(() => undefined)
        yield bytes
      }
    }
    return { size, read, close: () => store.close() }
  } catch (cause) {
    // It may still open after the caller has gone, and is then closed.
    void opening.then(
      (store) => store.close(),
      () => undefined,
    )
    throw targetErrorOf(address, cause, "read")
  }
}
