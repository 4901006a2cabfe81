/** Where facts are: names of their folders, and the files that a question needs, which are those of its clusters and days, and no others. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Schema from "effect/Schema"
import { type BlobStore, inParallel, type ListedObject, openRangeCache } from "../blob/index.ts"
import { columnCount } from "./facts-file.ts"

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

/** A segment, and a change in it up to which there are facts. */
export type FileEnd = Readonly<Record<"number" | "through", number>>

/**
 * `isJoined`: it takes the place of all files of its folder that are up to this change. Its name is behind theirs, so who lists them while they are being replaced
 * finds all of them, or finds it.
 */
export const fileName = ({ number, through }: FileEnd, isJoined = false): string => {
  const [segment, change] = [number, through].map((each) => String(each).padStart(12, "0"))
  return `${segment}-${change}${isJoined ? "_joined" : ""}.c${columnCount}.parquet`
}

/** `columns`: 0 in names of earlier versions. `undefined`: it is no file of facts. */
export const fileEndOf = (key: string): (FileEnd & { isJoined: boolean; columns: number }) | undefined => {
  const [, number, through, joined, columns = 0] = /(\d+)-(\d+)(_joined)?(?:\.c(\d+))?\.parquet$/.exec(key) ?? []
  if (through === undefined) return undefined
  return { number: Number(number), through: Number(through), isJoined: joined !== undefined, columns: Number(columns) }
}

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
export const atOnce = 16

/** An object with facts. */
type FactsObject = Pick<ListedObject, "key" | "bytes">

type Listing = Pick<BlobStore, "list">

/** The files of a cluster and day: those that count, and those in the place of which there is a joined one. */
export interface FactsFolder {
  readonly folder: string
  readonly files: FactsObject[]
  readonly replaced: FactsObject[]
}

/** Names of the clusters that have facts. Rejects with a TargetError. */
export const clustersIn = async (store: Listing, signal?: AbortSignal): Promise<ReadonlyArray<string>> => {
  const found: string[] = []
  for await (const { key } of store.list("facts/", { delimiter: "/", ...(signal && { signal }) })) {
    const [, cluster] = /^facts\/cluster=([^/]+)\/$/.exec(key) ?? []
    if (cluster !== undefined) found.push(cluster)
  }
  return found
}

/** The days of a cluster, in order. `from`, `to`: moments of the first and the last day, µs since the Unix epoch. Rejects with a TargetError. */
export const factsFolders = async (
  store: Listing,
  cluster: string,
  { from, to }: Pick<FactsRange, "from" | "to">,
  signal?: AbortSignal,
): Promise<ReadonlyArray<FactsFolder>> => {
  const folders: FactsFolder[] = []
  const options = { after: dayFolder(cluster, from), ...(signal && { signal }) }
  for await (const object of store.list(clusterFolder(cluster), options)) {
    if (object.key > `${dayFolder(cluster, to)}~`) break
    const end = fileEndOf(object.key)
    if (end === undefined) continue
    const folder = dirname(object.key)
    if (folders.at(-1)?.folder !== folder) folders.push({ folder, files: [], replaced: [] })
    const { files = [], replaced = [] } = folders.at(-1) ?? {}
    if (end.isJoined) replaced.push(...files.splice(0))
    files.push(object)
  }
  return folders
}

/** Rejects with a TargetError, or a FactsError. */
export const factsIn = async (
  store: Pick<BlobStore, "location" | "list">,
  { from, to, clusters }: FactsRange,
): Promise<ReadonlyArray<FactsObject>> => {
  const found = await clustersIn(store)
  if (found.length === 0) throw absent(store.location)
  const wanted = found.filter((cluster) => clusters.length === 0 || clusters.includes(cluster))
  const objects: FactsObject[] = []
  await inParallel(wanted, atOnce, async (cluster) => {
    const folders = await factsFolders(store, cluster, { from, to })
    objects.push(...folders.flatMap(({ files }) => files))
  })
  return objects.sort((one, other) => (one.key < other.key ? -1 : 1))
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
    if (copied === undefined) {
      const message = `${store.location}/${key} was there a moment ago. If reel fleet compact has joined it with others, ask again.`
      throw new FactsError({ message })
    }
    mkdirSync(dirname(join(directory, key)), { recursive: true })
    writeFileSync(join(directory, key), copied)
  })
  return objects.map(({ key }) => join(directory, key))
}
