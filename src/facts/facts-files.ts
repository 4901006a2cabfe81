/** Where facts are: names of their folders, and the files that a question needs, which are those of its clusters and days, and no others. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Schema from "effect/Schema"
import { type BlobStore, inParallel, openRangeCache } from "../blob/index.ts"

/** What can go wrong with facts. Errors of stores, streams and recordings are theirs. */
export class FactsError extends Schema.TaggedError<FactsError>()("FactsError", {
  /** What, and what to do. */
  message: Schema.String,
}) {}

/** Folders of files, as engines read partitions. */
export const clusterFolder = (cluster: string): string => `facts/cluster=${cluster}/`

/** Of the day of a moment in UTC, µs since the Unix epoch. */
export const dayFolder = (cluster: string, micros: number): string =>
  `${clusterFolder(cluster)}day=${new Date(micros / 1000).toISOString().slice(0, 10)}/`

/** What is asked about. */
export interface FactsRange {
  /** µs since the Unix epoch, both inclusive. */
  readonly from: number
  readonly to: number
  /** Empty: all. */
  readonly clusters: ReadonlyArray<string>
}

interface FactsCopies {
  /** For the files of this question. */
  readonly directory: string
  /** Keeps what was read, for further questions. */
  readonly cacheDirectory: string
  /** Of the cache, and of the files of a question. */
  readonly maximumBytes: number
  readonly onTrouble: (message: string) => void
  readonly signal?: AbortSignal
}

const askLess = "Ask about less with --since, --until or --clusters, or give the cache more with --cache-bytes."

/** Lists and files that are read at once. */
const atOnce = 16

/** Their keys. Rejects with a TargetError, or a FactsError. */
export const factsIn = async (
  store: Pick<BlobStore, "location" | "list">,
  { from, to, clusters }: FactsRange,
): Promise<ReadonlyArray<string>> => {
  const found = new Map<string, string[]>()
  for await (const { key } of store.list("facts/", { delimiter: "/" })) {
    const [, cluster] = /^facts\/cluster=([^/]+)\/$/.exec(key) ?? []
    if (cluster !== undefined) found.set(cluster, [])
  }
  if (found.size === 0) throw absent(store.location)
  const wanted = [...found].filter(([cluster]) => clusters.length === 0 || clusters.includes(cluster))
  await inParallel(wanted, atOnce, async ([cluster, keys]) => {
    for await (const { key } of store.list(clusterFolder(cluster), { after: dayFolder(cluster, from) })) {
      if (key > `${dayFolder(cluster, to)}~`) break
      if (key.endsWith(".parquet")) keys.push(key)
    }
  })
  return wanted.flatMap(([, keys]) => keys)
}

const absent = (location: string): FactsError =>
  new FactsError({ message: `${location} has no facts. Make facts with reel fleet facts.` })

/** Copies them, from the cache or the store; returns their paths. Rejects also with an error of the file system. */
export const copyFacts = async (
  store: BlobStore,
  keys: ReadonlyArray<string>,
  { directory, cacheDirectory, maximumBytes, onTrouble, signal }: FactsCopies,
): Promise<ReadonlyArray<string>> => {
  const cache = await openRangeCache(store, { directory: cacheDirectory, maximumBytes, onTrouble })
  let left = maximumBytes
  await inParallel(keys, atOnce, async (key) => {
    signal?.throwIfAborted()
    const [bytes] = (await cache.readRanges(key, [{ from: 0 }])) ?? []
    if (bytes === undefined) throw absent(`${store.location}/${key}`)
    left -= bytes.length
    if (left < 0) throw new FactsError({ message: `the facts have more than ${maximumBytes} bytes. ${askLess}` })
    mkdirSync(dirname(join(directory, key)), { recursive: true })
    writeFileSync(join(directory, key), bytes)
  })
  return keys.map((key) => join(directory, key))
}
