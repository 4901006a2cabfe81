/** The clusters below an address: the streams there, by their paths. Streams of the shards of one cluster are one. */
import { matchesGlob } from "node:path/posix"
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
  /** The names of its shards that have a stream; empty: it is one stream. */
  readonly shards: ReadonlyArray<string>
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

/** In the order of their names. Rejects with Misasked or an error of the store. */
export const clustersBelow = async (address: string): Promise<ReadonlyArray<Cluster>> => {
  using store = await opened(address)
  const places = new Map<string, ReadonlyArray<string>>()
  for (const stream of await streamsBelow(store)) {
    const [, parent = "", shard] = /^(.*\/)?(shard-\d+)\/$/s.exec(stream) ?? []
    const known = places.get(parent)
    if (shard !== undefined && (known !== undefined || (await hasShards(store, parent))))
      places.set(parent, [...(known ?? []), shard])
    else places.set(stream, [])
  }
  return [...places].map(([place, shards]) => {
    const { location } = storeBelow(store, place.split("/").map(encodeURIComponent).join("/"))
    const name = place === "" ? decodeURIComponent(location.slice(location.lastIndexOf("/") + 1)) : place.slice(0, -1)
    return { name: visible(name), address: location, shards }
  })
}

/** Those whose names a glob matches. Rejects as {@link clustersBelow} does, and with Misasked if there is none. */
export const clustersAt = async (address: string, globs: ReadonlyArray<string>): Promise<ReadonlyArray<Cluster>> =>
  chosenOf(await clustersBelow(address), address, globs)

/** @throws Misasked if there is none */
export const chosenOf = (
  clusters: ReadonlyArray<Cluster>,
  address: string,
  globs: ReadonlyArray<string>,
): ReadonlyArray<Cluster> => {
  if (clusters.length === 0) throw new Misasked(`there are no streams below ${quoted(address)}`)
  const chosen = clusters.filter(({ name }) => isChosen(name, globs))
  if (chosen.length > 0) return chosen
  throw new Misasked(`--clusters ${globs.join(",")} matches none of ${namesText(clusters.map(({ name }) => name))}`)
}
