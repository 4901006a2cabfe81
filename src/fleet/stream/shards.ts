/** A cluster that several recorders share: each writes a stream of its own, `shard-0/` and so on, and `shards.json` beside them says how many there are. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { addressUrl, openStore, readStorePlace } from "../../blob/index.ts"
import { SegmentDamagedError } from "../fleet-errors.ts"
import { locationOf, type SegmentStore } from "../segment/segment-reader.ts"

const SHARDS_KEY = "shards.json"

const Shards = Schema.fromJsonString(Schema.Struct({ version: Schema.Literal(1), shards: Schema.Number }))

/** More than any cluster has. */
const most = 1000

/** Whether a prefix, which ends with a slash or is empty, is that of such a cluster, whatever `shards.json` says. Rejects with an error of the store. */
export const hasShards = async (store: Pick<SegmentStore, "read">, prefix: string): Promise<boolean> =>
  (await store.read(prefix + SHARDS_KEY)) !== undefined

/** The number of shards; `undefined`: the prefix is not that of such a cluster. Rejects with SegmentDamagedError, or an error of the store. */
const readShards = async (store: SegmentStore): Promise<number | undefined> => {
  const found = await store.read(SHARDS_KEY)
  if (found === undefined) return undefined
  const read = Schema.decodeUnknownResult(Shards)(Buffer.from(found.bytes).toString("utf8"))
  const count = Result.isSuccess(read) ? read.success.shards : 0
  if (Number.isInteger(count) && count > 0 && count <= most) return count
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
  const store = await openStore(reading.place, { patienceMs: 10_000 })
  try {
    const count = (await readShards(store)) ?? 0
    return Array.from({ length: count }, (_, index) => `${addressUrl(reading.place)}/shard-${index}`)
  } finally {
    store.close()
  }
}
