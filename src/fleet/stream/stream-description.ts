/** What a stream is of: its object `stream.json`, which is created once. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { BlobStore } from "../../blob/index.ts"
import { NewerStreamError, SegmentDamagedError } from "../fleet-errors.ts"
import { locationOf, type SegmentStore } from "../segment/segment-reader.ts"

/** The only format of streams that this program reads and writes. */
const STREAM_FORMAT = 1

export const STREAM_KEY = "stream.json"

/** What a stream is of; created once. */
const StreamDescription = Schema.Struct({
  format: Schema.Literal(STREAM_FORMAT),
  /** Random id. */
  stream: Schema.String,
  /** UID of the namespace kube-system of the cluster. */
  clusterUid: Schema.String,
})
export type StreamDescription = typeof StreamDescription.Type

/** What is needed of a store to read a stream, and to begin one. */
export type StreamStore = Pick<BlobStore, "location" | "read" | "list">
export type CreatingStore = Pick<BlobStore, "location" | "read" | "list" | "create">

/** `undefined`: there is no stream. Rejects with SegmentDamagedError, NewerStreamError, or an error of the store. */
export const readDescription = async (store: SegmentStore): Promise<StreamDescription | undefined> => {
  const found = await store.read(STREAM_KEY)
  if (found === undefined) return undefined
  const location = locationOf(store, STREAM_KEY)
  const text = Buffer.from(found.bytes).toString("utf8")
  const description = Schema.decodeUnknownResult(Schema.fromJsonString(StreamDescription))(text)
  if (Result.isSuccess(description)) return description.success
  const format = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({ format: Schema.Number })))(text)
  if (Result.isSuccess(format) && format.success.format > STREAM_FORMAT)
    throw new NewerStreamError({ location, found: format.success.format, supported: STREAM_FORMAT })
  throw new SegmentDamagedError({ location, reason: "it is not what this version writes" })
}

/** The stream below this prefix, which is begun with this description if there is none. Rejects as {@link readDescription} does. */
export const beginStream = async (
  store: CreatingStore,
  description: Omit<StreamDescription, "format">,
): Promise<StreamDescription> => {
  const known = await readDescription(store)
  if (known !== undefined) return known
  const own = { format: STREAM_FORMAT, ...description } satisfies StreamDescription
  await store.create(STREAM_KEY, [Buffer.from(`${JSON.stringify(own)}\n`)])
  // Another may have begun it in that moment, or this one with an answer that was lost.
  return (await readDescription(store)) ?? own
}
