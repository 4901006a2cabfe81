/** Commits a compaction, once the stream was read as it will be: what is replaced is removed later, and a mistake must be found before. */
import { StreamBrokenError, StreamChangedError } from "../fleet-errors.ts"
import type { StoredSegment, StreamMark } from "../segment/segment-facts.ts"
import { type Manifest, manifestKey, readManifest } from "../stream/manifest.ts"
import type { StreamStore } from "../stream/stream-description.ts"
import { StreamReader } from "../stream/stream-reader.ts"
import type { CompactedStore } from "./compact-stream.ts"

/**
 * Creates the manifest behind that with this number. What it has new is between a mark and the segment `last`.
 *
 * Rejects with StreamChangedError if another compaction was first; StreamBrokenError if a reader would refuse the stream; an error of the store.
 */
export const commitManifest = async (
  store: CompactedStore,
  number: number,
  next: Manifest,
  range: { readonly behind: StreamMark | undefined; readonly last: StoredSegment },
  signal?: AbortSignal,
): Promise<void> => {
  const key = manifestKey(number + 1)
  const bytes = Buffer.from(JSON.stringify(next))
  try {
    await requireReadable(withObject(store, key, bytes), range, signal)
  } catch (error) {
    const isLate = error instanceof StreamBrokenError && (await readManifest(store)).number > number
    throw isLate ? new StreamChangedError({ location: store.location }) : error
  }
  if ((await store.create(key, [bytes], signal)) === "created") return
  const found = await store.read(key)
  if (found === undefined || Buffer.compare(found.bytes, bytes) !== 0)
    throw new StreamChangedError({ location: store.location })
}

/** Reads the ends of the range's objects, and what is behind them up to the next segment that counts. */
const requireReadable = async (
  store: StreamStore,
  { behind, last: { facts } }: Parameters<typeof commitManifest>[3],
  signal: AbortSignal | undefined,
): Promise<void> => {
  const reader = await StreamReader.open(store, { behind, signal })
  const refuse = (reason: string): never => {
    throw new StreamBrokenError({ location: store.location, number: facts.number, reason })
  }
  if (behind !== undefined && reader.behind === undefined) refuse("what was compacted would not follow what is before")
  let isThere = false
  for await (const segment of reader.segments()) {
    if (segment.facts.number > facts.number) break
    isThere ||= segment.facts.number === facts.number && segment.facts.through === facts.through
  }
  if (!isThere) refuse("what was compacted would not be there")
}

/** The store as it is once an object is there. */
const withObject = (store: CompactedStore, key: string, bytes: Buffer): StreamStore => ({
  location: store.location,
  read: (wanted, range, signal) =>
    wanted === key ? Promise.resolve({ bytes, size: bytes.length, version: "" }) : store.read(wanted, range, signal),
  async *list(prefix, options) {
    yield* store.list(prefix, options)
    if (key.startsWith(prefix) && key > (options?.after ?? "")) yield { key, bytes: bytes.length, modifiedMs: 0 }
  },
})
