/** What streams there are below an address, and how each is doing: a few requests for each, as only what is not compacted yet is listed. */
import { type BlobStore, inParallel } from "../../blob/index.ts"
import { NoStreamError } from "../fleet-errors.ts"
import { segmentKey } from "../segment/segment-reader.ts"
import { readManifest } from "../stream/manifest.ts"
import { hasShards } from "../stream/shards.ts"
import { readDescription, STREAM_KEY, type StreamDescription, type StreamStore } from "../stream/stream-description.ts"

/** Times are µs since the Unix epoch, 0: not known. */
export interface StreamStatus {
  readonly description: StreamDescription
  /** When its first event happened, or the first segment was created if nothing is compacted. */
  readonly from: number
  /** When the last segment was created, by the store's clock: everything that was recorded until shortly before is there. Recorders create one each minute. */
  readonly until: number
  /** Segments that are not compacted, and objects that are in the place of others. */
  readonly segments: number
  readonly compacted: number
  /** Of both. What was replaced and is still there does not count. */
  readonly bytes: number
  /** Of all kinds, in what is compacted; `undefined`: nothing is. */
  readonly gaps: number | undefined
  /** On the average; `undefined`: it is too young, less than an hour. */
  readonly bytesPerDay: number | undefined
}

const hourMicros = 3_600_000_000

/** Rejects with a StreamError, or an error of the store. */
export const readStreamStatus = async (store: StreamStore): Promise<StreamStatus> => {
  const description = await readDescription(store)
  if (description === undefined) throw new NoStreamError({ location: store.location })
  const { number, compactedThrough, compacted } = await readManifest(store)
  let [segments, bytes, first, until] = [0, compacted.reduce((sum, object) => sum + object.bytes, 0), 0, 0]
  for await (const listed of store.list("segments/", { after: segmentKey(compactedThrough) })) {
    segments++
    bytes += listed.bytes
    until = listed.modifiedMs * 1000
    first ||= until
  }
  const from = compacted.find(({ fromTime }) => fromTime > 0)?.fromTime ?? first
  const age = until - from
  return {
    ...{ description, from, until, segments, compacted: compacted.length, bytes },
    gaps: number === 0 ? undefined : compacted.reduce((sum, object) => sum + object.gaps, 0),
    bytesPerDay: age < hourMicros ? undefined : (bytes * 24 * hourMicros) / age,
  }
}

/** Prefixes of clusters are looked for so many slashes below an address: `REGION/CLUSTER`. Those of their shards are one slash deeper. */
const DEPTH = 2

/** Streams that are looked for, or read, at once. */
export const STREAMS_AT_ONCE = 16

/** Partitions of facts: there are as many as clusters, and no stream is in one. */
const factsFolder = /(^|\/)cluster=[^/]*\/$/

const shardFolder = /(^|\/)shard-\d+\/$/

/**
 * The prefixes below which there is a stream, in their order, with a slash at the end; an empty one if the address is a stream itself. A small request for each prefix, and
 * one more for each below which there is none: nothing is listed below a stream, or deeper than shards can be. Rejects with an error of the store.
 */
export const streamsBelow = async (store: Pick<BlobStore, "list" | "read">): Promise<ReadonlyArray<string>> => {
  const found: string[] = []
  let level = [""]
  for (let depth = 0; level.length > 0; depth++) {
    const next: string[] = []
    const [isLast, isBeyond] = [depth === DEPTH, depth > DEPTH]
    await inParallel(level, STREAMS_AT_ONCE, async (prefix) => {
      if ((await store.read(`${prefix}${STREAM_KEY}`)) !== undefined) found.push(prefix)
      else if (!isBeyond && (!isLast || (await hasShards(store, prefix))))
        for await (const { key } of store.list(prefix, { delimiter: "/" }))
          if (isLast ? shardFolder.test(key) : key.endsWith("/") && !factsFolder.test(key)) next.push(key)
    })
    level = next
  }
  // They were found in the order of the answers, which is another one each time.
  return found.sort()
}

/** The part of a store below a prefix, which ends with a slash or is empty. */
export const storeBelow = (store: StreamStore, prefix: string): StreamStore => ({
  location: `${store.location.replace(/\/$/, "")}/${prefix}`.replace(/\/$/, ""),
  read: (key, range, signal) => store.read(prefix + key, range, signal),
  async *list(under, { after, ...options } = {}) {
    const whole = after === undefined ? options : { ...options, after: prefix + after }
    for await (const each of store.list(prefix + under, whole)) yield { ...each, key: each.key.slice(prefix.length) }
  },
})
