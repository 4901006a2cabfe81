/** Where facts are: names of their folders, and the files that a question needs, which are those of its clusters and days, and no others. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Schema from "effect/Schema"
import { type BlobStore, inParallel, type ListedObject, openRangeCache } from "../blob/index.ts"

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

/** An object with facts. */
type FactsObject = Pick<ListedObject, "key" | "bytes">

/** Rejects with a TargetError, or a FactsError. */
export const factsIn = async (
  store: Pick<BlobStore, "location" | "list">,
  { from, to, clusters }: FactsRange,
): Promise<ReadonlyArray<FactsObject>> => {
  const found = new Map<string, FactsObject[]>()
  for await (const { key } of store.list("facts/", { delimiter: "/" })) {
    const [, cluster] = /^facts\/cluster=([^/]+)\/$/.exec(key) ?? []
    if (cluster !== undefined) found.set(cluster, [])
  }
  if (found.size === 0) throw absent(store.location)
  const wanted = [...found].filter(([cluster]) => clusters.length === 0 || clusters.includes(cluster))
  await inParallel(wanted, atOnce, async ([cluster, objects]) => {
    for await (const object of store.list(clusterFolder(cluster), { after: dayFolder(cluster, from) })) {
      if (object.key > `${dayFolder(cluster, to)}~`) break
      if (object.key.endsWith(".parquet")) objects.push(object)
    }
  })
  return wanted.flatMap(([, objects]) => objects)
}

const absent = (location: string): FactsError =>
  new FactsError({ message: `${location} has no facts. Make facts with reel fleet facts.` })

/** Copies them, from the cache or the store; returns their paths. Rejects also with an error of the file system. */
export const copyFacts = async (
  store: BlobStore,
  objects: ReadonlyArray<FactsObject>,
  { directory, cacheDirectory, maximumBytes, onTrouble, signal }: FactsCopies,
): Promise<ReadonlyArray<string>> => {
  if (objects.reduce((sum, { bytes }) => sum + bytes, 0) > maximumBytes)
    throw new FactsError({ message: `the facts have more than ${maximumBytes} bytes. ${askLess}` })
  const cache = await openRangeCache(store, { directory: cacheDirectory, maximumBytes, onTrouble })
  await inParallel(objects, atOnce, async ({ key, bytes }) => {
    signal?.throwIfAborted()
    const [copied] = (await cache.readRanges(key, [{ from: 0, until: bytes }])) ?? []
    if (copied === undefined) throw absent(`${store.location}/${key}`)
    mkdirSync(dirname(join(directory, key)), { recursive: true })
    writeFileSync(join(directory, key), copied)
  })
  return objects.map(({ key }) => join(directory, key))
}
