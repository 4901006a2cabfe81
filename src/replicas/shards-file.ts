/** `ADDRESS/shards.json`: into how many shards a cluster was divided when its address was first used, and which kinds are in each of them. Created once. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { BlobStore } from "../blob/index.ts"
import { enumerated } from "../text/index.ts"

const KEY = "shards.json"

const Shards = Schema.Struct({
  version: Schema.Literal(1),
  shards: Schema.Number,
  /** As `--split` takes them, in order. */
  split: Schema.Array(Schema.String),
})
type Shards = typeof Shards.Type

/** The replica's options do not fit what is at the address. Nothing was changed. */
export class ShardsFileError extends Schema.TaggedError<ShardsFileError>()("ShardsFileError", {
  location: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `${this.location}/${KEY}: ${this.reason}`
  }
}

/** What a replica was told; `shards` `undefined`: those that are there. */
interface GivenShards {
  readonly shards: number | undefined
  readonly split: ReadonlyArray<string>
}

/**
 * The number of shards at this address, which is fixed now if it was not. Rejects with ShardsFileError, or an error of the store: objects would otherwise be in two
 * shards from the change on, and in the one that they left without an end.
 */
export const fixShards = async (
  store: Pick<BlobStore, "location" | "read" | "create">,
  { shards, split }: GivenShards,
): Promise<number> => {
  const own = shards === undefined ? undefined : { version: 1 as const, shards, split: [...new Set(split)].sort() }
  let found = await store.read(KEY)
  if (found === undefined && own !== undefined) {
    await store.create(KEY, [Buffer.from(`${JSON.stringify(own satisfies Shards)}\n`)])
    // Another may have created it in that moment, or this one with an answer that was lost.
    found = await store.read(KEY)
  }
  const refused = (reason: string) => new ShardsFileError({ location: store.location, reason })
  if (found === undefined)
    throw refused("it is not there yet: say with --shards into how many the cluster is to be divided, once and for all")
  const read = Schema.decodeUnknownResult(Schema.fromJsonString(Shards))(Buffer.from(found.bytes).toString("utf8"))
  if (Result.isFailure(read))
    throw refused("it is not what this version writes; upgrade kubereel, or give another prefix")
  const fixed = read.success
  const texts = ({ shards: number, split: kinds }: Omit<Shards, "version">): string =>
    `${number} shards, with ${kinds.length === 0 ? "no kind split" : `${enumerated(kinds, "and")} split`}`
  const wanted = { shards: shards ?? fixed.shards, split: [...new Set(split)].sort() }
  if (texts(wanted) !== texts(fixed))
    throw refused(
      `the history here has ${texts(fixed)}, and this replica is to record ${texts(wanted)}. That never changes at one address: give the same options, or another prefix`,
    )
  return fixed.shards
}
