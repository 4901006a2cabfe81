/** The end of a stream, for the one who writes it: found without reading what is before. */
import * as Schema from "effect/Schema"
import { StreamBrokenError } from "../fleet-errors.ts"
import type { StoredSegment } from "../segment/segment-facts.ts"
import { readSegmentEnd } from "../segment/segment-reader.ts"
import { type CreatingStore, STREAM_KEY, type StreamStore } from "./stream-reader.ts"

/** The segment with the greatest number; `undefined`: there is none. Rejects with a StreamError, or an error of the store. */
export const lastSegment = async (store: StreamStore): Promise<StoredSegment | undefined> => {
  const number = await lastNumber(store, "segments/")
  return number === 0 ? undefined : await readSegmentEnd(store, number)
}

const Manifest = Schema.fromJsonString(Schema.Struct({ compactedThrough: Schema.Number }))

/** Up to which number segments have been replaced by compacted ones; 0: none. Rejects with an error of the store, or a SchemaError. */
export const compactedThrough = async (store: StreamStore): Promise<number> => {
  const number = await lastNumber(store, "manifest/")
  if (number === 0) return 0
  const found = await store.read(`manifest/${String(number).padStart(12, "0")}.json`)
  return found === undefined
    ? 0
    : Schema.decodeSync(Manifest)(Buffer.from(found.bytes).toString("utf8")).compactedThrough
}

const lastNumber = async (store: StreamStore, prefix: string): Promise<number> => {
  let last = 0
  for await (const { key } of store.list(prefix)) {
    const [digits] = /\d{12}(?=\.\w+$)/.exec(key.slice(prefix.length)) ?? []
    last = Math.max(last, Number(digits ?? 0))
  }
  return last
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
