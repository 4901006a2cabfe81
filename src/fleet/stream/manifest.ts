/** What of a stream has been compacted: `manifest/NUMBER.json`. Each takes the place of those before it, and creating the next number is what commits a compaction. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { SegmentDamagedError } from "../fleet-errors.ts"
import { locationOf } from "../segment/segment-reader.ts"
import type { StreamStore } from "./stream-description.ts"
import { lastNumber } from "./stream-end.ts"

/** One object of `compacted/`: a segment in the place of several. Times are µs since the Unix epoch, 0 without events. */
const CompactedObject = Schema.Struct({
  key: Schema.String,
  /** Numbers of the first and the last segment that it replaces. */
  from: Schema.Number,
  through: Schema.Number,
  /** Of its footer. */
  sha256: Schema.String,
  /** False: it counts with those behind it, up to a whole one; which numbers each of them has means nothing. */
  isWhole: Schema.Boolean,
  bytes: Schema.Number,
  /** Of a whole one, and the partial ones before it. */
  gaps: Schema.Number,
  fromTime: Schema.Number,
  toTime: Schema.Number,
  /** Of a whole one: the object with all rows of it and of the partial ones before it, and references to their BLOBs; absent: there is none. */
  rows: Schema.optional(Schema.Struct({ key: Schema.String, sha256: Schema.String })),
})
export type CompactedObject = typeof CompactedObject.Type

const Manifest = Schema.Struct({
  /** Segments up to this number have been replaced, and may be gone. The first property, which recorders read without the others. */
  compactedThrough: Schema.Number,
  /** What was received before this time was dropped, µs since the Unix epoch, as far as whole blocks of it were older; absent: nothing was. */
  keptFrom: Schema.optional(Schema.Number),
  /** By these, in order and without a hole. */
  compacted: Schema.Array(CompactedObject),
})
export type Manifest = typeof Manifest.Type

/** Keys of all objects that it names. */
export const keysIn = ({ compacted }: Manifest): ReadonlyArray<string> =>
  compacted.flatMap(({ key, rows }) => (rows === undefined ? [key] : [key, rows.key]))

export const MANIFESTS = "manifest/"

export const manifestKey = (number: number): string => `${MANIFESTS}${String(number).padStart(12, "0")}.json`

/** `undefined`: there is no such manifest. Rejects with SegmentDamagedError, or an error of the store. */
export const readManifestAt = async (store: StreamStore, number: number): Promise<Manifest | undefined> => {
  const found = number === 0 ? undefined : await store.read(manifestKey(number))
  if (found === undefined) return undefined
  const manifest = Schema.decodeUnknownResult(Schema.fromJsonString(Manifest))(
    Buffer.from(found.bytes).toString("utf8"),
  )
  if (Result.isSuccess(manifest)) return manifest.success
  throw damaged(store, number, notOurs)
}

/** How often manifests are listed when the last one is gone on reading: it was removed with a later one in its place. */
const MOST_LISTS = 5

/** Its number with the last one; 0 and `undefined`: there was never one, which nothing else may be taken for. */
const lastOf = async <Found>(
  store: StreamStore,
  read: (number: number) => Promise<Found | undefined>,
): Promise<readonly [number: number, found: Found | undefined]> => {
  let number = 0
  for (let lists = 0; lists < MOST_LISTS; lists++) {
    number = await lastNumber(store, manifestKey)
    const found = number === 0 ? undefined : await read(number)
    if (number === 0 || found !== undefined) return [number, found]
  }
  throw damaged(store, number, "it is listed, and cannot be found")
}

/** The last one, and its number; of a stream that was never compacted, an empty one with number 0. Rejects as {@link readManifestAt} does. */
export const readManifest = async (store: StreamStore): Promise<Manifest & { readonly number: number }> => {
  const [number, found] = await lastOf(store, (last) => readManifestAt(store, last))
  return found === undefined ? { number: 0, compactedThrough: 0, compacted: [] } : { ...found, number }
}

/** Bytes of a manifest with its first property. */
const headBytes = 64

/** Up to which number segments have been replaced by compacted ones; 0: none. Two small requests. Rejects as {@link readManifestAt} does. */
export const compactedThrough = async (store: StreamStore): Promise<number> => {
  const [number, found] = await lastOf(store, (last) => store.read(manifestKey(last), { from: 0, until: headBytes }))
  if (found === undefined) return 0
  const [, through] = /^\{"compactedThrough":(\d+)[,}]/.exec(Buffer.from(found.bytes).toString("utf8")) ?? []
  if (through === undefined) throw damaged(store, number, notOurs)
  return Number(through)
}

const notOurs = "it is not what this version writes"

const damaged = (store: StreamStore, number: number, reason: string): SegmentDamagedError =>
  new SegmentDamagedError({ location: locationOf(store, manifestKey(number)), reason })
