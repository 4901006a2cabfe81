/** `--shard` and `--split`: one of several recorders that share the kinds of a huge cluster. */
import { existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { readStorePlace } from "../../blob/index.ts"
import { MOST_SHARDS } from "../../fleet/index.ts"
import { messageOf } from "../../message-of.ts"
import type { RecorderShard } from "../../recorder/index.ts"
import { list, type OptionValues, optional, type Reading, refused, value } from "../command-line/arguments.ts"
import { CommandFailed } from "../command-line/exit-codes.ts"
import { readKind } from "../command-line/kind-option.ts"

/** `K/N`. */
const parseShard = (given: string): Reading<Pick<RecorderShard, "index" | "count">> => {
  const [, index, count] = /^(\d{1,4})\/(\d{1,4})$/.exec(given) ?? []
  return index !== undefined && Number(index) < Number(count) && Number(count) <= MOST_SHARDS
    ? value({ index: Number(index), count: Number(count) })
    : refused(`must be K/N with K from 0 to N-1 and N of at most ${MOST_SHARDS}, such as 0/4`)
}

/** `pods` or `pods=namespace`. */
const parseSplit = (given: string): Reading<RecorderShard["split"][number]> => {
  const [kind = "", by = "uid", ...more] = given.split("=")
  if (more.length > 0 || (by !== "uid" && by !== "namespace")) return refused("after the = must be uid or namespace")
  const reading = readKind(kind)
  return reading.tag === "kind" ? value({ kind: reading.gvk, by }) : refused(reading.problem)
}

export const shardOptions = {
  shard: optional(
    "K/N",
    "of N recorders that share the kinds of a cluster, be number K, from 0: a kind is recorded by one of them, or by all if it is split; with --archive-to ADDRESS, its stream is at ADDRESS/shard-K. N stays as it is for as long as the recordings are continued",
    parseShard,
  ),
  split: list(
    "KIND",
    "for --shard: a kind whose objects are divided among all recorders, such as pods, by a hash of their UID, or of their namespace: pods=namespace. The same for all recorders; separate several with commas",
    parseSplit,
  ),
}

type Given = OptionValues<typeof shardOptions>

/** The problem with the combination of options. */
export const shardProblem = ({ shard, split }: Given): string | undefined =>
  shard === undefined && split.length > 0 ? "--split is for --shard" : undefined

export const shardOf = ({ shard, split }: Given): RecorderShard | undefined => shard && { ...shard, split }

/** Where the stream of a shard is, of an archive that all shards are given. */
export const addressOfShard = (address: string, { shard }: Pick<Given, "shard">): string =>
  shard === undefined ? address : `${address.replace(/\/+$/, "")}/shard-${shard.index}`

/** In a directory, the stream of a shard has a folder in that of all shards. Only the latter has to exist: it may be a volume that is not mounted yet. @throws CommandFailed */
export const makeFolderOfShard = (address: string): void => {
  const reading = readStorePlace(address)
  if (reading.tag === "refused" || reading.place.provider !== "file") return
  const { bucket: folder } = reading.place
  try {
    if (existsSync(dirname(folder))) mkdirSync(folder, { recursive: true })
  } catch (cause) {
    throw new CommandFailed(`cannot make ${folder}: ${messageOf(cause)}`)
  }
}
