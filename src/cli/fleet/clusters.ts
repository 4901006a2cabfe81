/** The clusters below an address: the streams there, by their paths. Streams of the shards of one cluster are one. */
import { matchesGlob } from "node:path/posix"
import type { BlobStore } from "../../blob/index.ts"
import { hasShards, storeBelow, streamsBelow } from "../../fleet/index.ts"
import { enumerated, quoted, visible } from "../../text/index.ts"
import { list } from "../command-line/arguments.ts"
import { Misasked } from "../command-line/exit-codes.ts"
import { opened } from "./opened-store.ts"

export const clustersOption = list(
  "GLOB",
  "only clusters of these names, which are their paths below ADDRESS: prod-*, eu/*, **/prod-*; default: all",
)

export interface Cluster {
  /** Its path below the address; of an address that is one itself, the last part of that. */
  readonly name: string
  readonly address: string
  /** The prefixes of its streams, below the address that was asked: of a cluster in shards, of those shards that have one. */
  readonly streams: ReadonlyArray<string>
  readonly isInShards: boolean
}

/** Names in a line; others are counted. */
const mostNamed = 3

/** `a, b, c and 5 more`. */
export const namesText = (names: ReadonlyArray<string>): string =>
  names.length <= mostNamed + 1
    ? enumerated(names, "and")
    : `${names.slice(0, mostNamed).join(", ")} and ${names.length - mostNamed} more`

/** `*` is anything up to the next slash, and `**` any path; no globs choose all. */
export const isChosen = (name: string, globs: ReadonlyArray<string>): boolean =>
  globs.length === 0 || globs.some((glob) => matchesGlob(name, glob))

/** The clusters in a store, in the order of their names. Rejects with an error of the store. */
export const clustersIn = async (store: BlobStore): Promise<ReadonlyArray<Cluster>> => {
  const places = new Map<string, { readonly streams: string[]; readonly isInShards: boolean }>()
  for (const stream of await streamsBelow(store)) {
    const parent = /^(.*\/)?shard-\d+\/$/s.test(stream) ? stream.replace(/shard-\d+\/$/, "") : undefined
    const isInShards = parent !== undefined && (places.has(parent) || (await hasShards(store, parent)))
    const place = isInShards ? parent : stream
    const { streams } = places.get(place) ?? { streams: [] }
    places.set(place, { streams: [...streams, stream], isInShards })
  }
  const clusters = [...places].map(([place, { streams, isInShards }]) => {
    const { location } = storeBelow(store, place.split("/").map(encodeURIComponent).join("/"))
    const name = place === "" ? decodeURIComponent(location.slice(location.lastIndexOf("/") + 1)) : place.slice(0, -1)
    return { name: visible(name), address: location, streams, isInShards }
  })
  return clusters.sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Those whose names a glob matches. @throws Misasked if there is none */
export const chosenOf = (clusters: ReadonlyArray<Cluster>, globs: ReadonlyArray<string>): ReadonlyArray<Cluster> => {
  const chosen = clusters.filter(({ name }) => isChosen(name, globs))
  if (chosen.length > 0) return chosen
  throw new Misasked(`--clusters ${globs.join(",")} matches none of ${namesText(clusters.map(({ name }) => name))}`)
}

/** Those whose names a glob matches. Rejects with Misasked if there is none, or with an error of the store. */
export const clustersAt = async (address: string, globs: ReadonlyArray<string>): Promise<ReadonlyArray<Cluster>> => {
  const store = await opened(address)
  try {
    const clusters = await clustersIn(store)
    if (clusters.length === 0) throw new Misasked(`there are no streams below ${quoted(address)}`)
    return chosenOf(clusters, globs)
  } finally {
    store.close()
  }
}
