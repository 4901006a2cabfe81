/** The files with facts that a question needs, as files on this machine: those of its clusters and days, and no others. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type BlobStore, inParallel, openRangeCache } from "../blob/index.ts"
import { FactsError } from "./facts-errors.ts"
import { clusterFolder, dayFolder } from "./facts-writer.ts"

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

/** Lists and files that are read at once. */
const atOnce = 16

/** Their keys. Rejects with a TargetError, or a FactsError. */
export const factsIn = async (
  store: Pick<BlobStore, "location" | "list">,
  { from, to, clusters }: FactsRange,
): Promise<ReadonlyArray<string>> => {
  const found = new Map<string, string[]>()
  for await (const { key } of store.list("facts/", { delimiter: "/" })) {
    const cluster = /^facts\/cluster=([^/]+)\/$/.exec(key)?.[1] ?? ""
    if (cluster !== "") found.set(cluster, [])
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

const absent = (location: string): FactsError => new FactsError({ fault: "absent", reason: `${location} has no facts` })

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
    if (left < 0) throw new FactsError({ fault: "large", reason: `the facts have more than ${maximumBytes} bytes` })
    mkdirSync(dirname(join(directory, key)), { recursive: true })
    writeFileSync(join(directory, key), bytes)
  })
  return keys.map((key) => join(directory, key))
}
