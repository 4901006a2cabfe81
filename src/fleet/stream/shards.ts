/**
 * A cluster that several recorders share: each writes a stream of its own, `shard-0/` and so on. `shards.json` beside them says into how many shards it was divided
 * when the address was first used, and which kinds are in each of them. It is created once.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { addressUrl, type BlobStore, openStore, readStorePlace } from "../../blob/index.ts"
import { enumerated } from "../../text/index.ts"
import { SegmentDamagedError } from "../fleet-errors.ts"
import { locationOf, type SegmentStore } from "../segment/segment-reader.ts"

const SHARDS_KEY = "shards.json"

/** A shard needs a process, so there are never many. */
export const MOST_SHARDS = 1000

const Shards = Schema.Struct({
  version: Schema.Literal(1),
  shards: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MOST_SHARDS })),
  /** As `--split` takes them, in order. */
  split: Schema.Array(Schema.String),
})
type Shards = typeof Shards.Type

/** Whether a prefix, which ends with a slash or is empty, is that of such a cluster, whatever `shards.json` says. Rejects with an error of the store. */
export const hasShards = async (store: Pick<SegmentStore, "read">, prefix: string): Promise<boolean> =>
  (await store.read(prefix + SHARDS_KEY)) !== undefined

/** `undefined`: the prefix is not that of such a cluster. Rejects with SegmentDamagedError, or an error of the store. */
const readShards = async (store: SegmentStore): Promise<Shards | undefined> => {
  const found = await store.read(SHARDS_KEY)
  if (found === undefined) return undefined
  const read = Schema.decodeUnknownResult(Schema.fromJsonString(Shards))(Buffer.from(found.bytes).toString("utf8"))
  if (Result.isSuccess(read)) return read.success
  throw new SegmentDamagedError({
    location: locationOf(store, SHARDS_KEY),
    reason: "it is not what this version reads",
  })
}

/**
 * The addresses of the streams of a cluster that is recorded in shards, for `openMirror`; empty if the address is not that of one. Some of them may have no stream yet.
 *
 * Rejects with SegmentDamagedError or a TargetError, and with an Error if it is no address.
 */
export const shardsOf = async (address: string | Parameters<typeof openStore>[0]): Promise<ReadonlyArray<string>> => {
  const reading = typeof address === "string" ? readStorePlace(address) : { tag: "place" as const, place: address }
  if (reading.tag === "refused") throw new Error(`${reading.path}: ${reading.reason}`)
  using store = await openStore(reading.place, { patienceMs: 10_000 })
  const { shards = 0 } = (await readShards(store)) ?? {}
  return Array.from({ length: shards }, (_, index) => `${addressUrl(reading.place)}/shard-${index}`)
}

/** What recorders were told does not fit what is at the address. Nothing was changed. */
export class ShardsRefused extends Schema.TaggedError<ShardsRefused>()("ShardsRefused", {
  location: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `${this.location}: ${this.reason}`
  }
}

/** What recorders were told; `shards` `undefined`: those that are there. */
interface GivenShards {
  readonly shards: number | undefined
  readonly split: ReadonlyArray<string>
}

/**
 * The number of shards at this address, which is fixed now if it was not. Rejects with ShardsRefused, as objects would otherwise be in two shards from the change on,
 * and in the one that they left without an end; and as {@link readShards} does.
 */
export const fixShards = async (
  store: Pick<BlobStore, "location" | "read" | "create">,
  { shards, split: kinds }: GivenShards,
): Promise<number> => {
  const split = [...new Set(kinds)].sort()
  let fixed = await readShards(store)
  if (fixed === undefined && shards !== undefined) {
    await store.create(SHARDS_KEY, [Buffer.from(`${JSON.stringify({ version: 1, shards, split } satisfies Shards)}\n`)])
    // Another may have created it in that moment, or this one with an answer that was lost.
    fixed = await readShards(store)
  }
  const refused = (reason: string) => new ShardsRefused({ location: locationOf(store, SHARDS_KEY), reason })
  if (fixed === undefined)
    throw refused("it is not there yet: say with --shards into how many the cluster is to be divided, once and for all")
  const [given, found] = [textOf({ shards: shards ?? fixed.shards, split }), textOf(fixed)]
  if (given === found) return fixed.shards
  throw refused(
    `the history here has ${found}, and this replica is to record ${given}. That never changes at one address: give the same options, or another prefix`,
  )
}

const textOf = ({ shards, split }: Omit<Shards, "version">): string =>
  `${shards} shards, with ${split.length === 0 ? "no kind split" : `${enumerated(split, "and")} split`}`
