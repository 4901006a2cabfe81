/** The end of a stream, for the one who writes it: found without reading what is before. */
import { StreamBrokenError } from "../fleet-errors.ts"
import type { StoredSegment } from "../segment/segment-facts.ts"
import { readSegmentEnd, segmentKey } from "../segment/segment-reader.ts"
import { type CreatingStore, STREAM_KEY, type StreamStore } from "./stream-description.ts"

/** The segment with the greatest number; `undefined`: there is none. Rejects with a StreamError, or an error of the store. */
export const lastSegment = async (store: StreamStore): Promise<StoredSegment | undefined> => {
  const number = await lastSegmentNumber(store)
  return number === 0 ? undefined : await readSegmentEnd(store, number)
}

/** Number of the last segment; 0: there is none. Rejects with an error of the store. */
export const lastSegmentNumber = (store: StreamStore): Promise<number> => lastNumber(store, segmentKey)

/** Keys that stores list in one request. */
const PAGE_KEYS = 1000

/** The greatest number of a key; 0: there is none. One request while there are few, then some twenty: a stream of a year has 1.5 million segments. */
export const lastNumber = async (store: StreamStore, keyOf: (number: number) => string): Promise<number> => {
  const prefix = keyOf(0).replace(/[^/]*$/, "")
  /** Of up to so many keys after that of a number. */
  const lastOf = async (most: number, number: number): Promise<number> => {
    let [last, keys] = [0, 0]
    for await (const { key } of store.list(prefix, { after: keyOf(number) })) {
      const found = Number(/\d{12}(?=\.\w+$)/.exec(key)?.[0])
      // Somebody else's object.
      if (key !== keyOf(found)) continue
      last = found
      if (++keys === most) break
    }
    return last
  }
  let [last, step] = [await lastOf(PAGE_KEYS, 0), PAGE_KEYS]
  if (last < PAGE_KEYS) return last
  for (let found = last; found > 0; found = await lastOf(1, last + step)) {
    if (found !== last) step *= 2
    last = found
  }
  for (; step >= PAGE_KEYS; step /= 2) last = Math.max(last, await lastOf(1, last + step))
  return Math.max(last, await lastOf(Number.POSITIVE_INFINITY, last))
}

/**
 * There are servers that take a creation as a replacement, with which recorders overwrite each other's segments: `stream.json`, which exists, is to be created
 * once more, with the same bytes. Rejects with a StreamBrokenError if the store does it.
 */
export const requireConditions = async (store: CreatingStore): Promise<void> => {
  const found = await store.read(STREAM_KEY)
  if (found === undefined || (await store.create(STREAM_KEY, [found.bytes])) === "exists") return
  const reason =
    "the store created an object that existed, although If-None-Match forbade it: use a store that supports it"
  throw new StreamBrokenError({ location: store.location, number: 0, reason })
}
