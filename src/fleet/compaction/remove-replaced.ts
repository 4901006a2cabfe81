/**
 * Removes what compaction has replaced, some time later: whoever read the manifest before may still read what it names.
 *
 * A manifest serves readers until it has been replaced for as long as they may take. What none of these manifests names is removed, and then the others. When
 * one was replaced is when the store created the next; how late it is now is said by this machine, and never later than when the store created what is newest
 * in the stream. So of a stream to which nothing is added any more, what was replaced last stays, unless readers are given no time.
 */
import { TargetError } from "../../blob/index.ts"
import { segmentKey } from "../segment/segment-reader.ts"
import { keysIn, MANIFESTS, type Manifest, manifestKey, readManifestAt } from "../stream/manifest.ts"
import { lastSegmentNumber } from "../stream/stream-end.ts"
import type { CompactedStore } from "./compact-stream.ts"

/** Keys that stores remove with one request. */
const KEYS_AT_ONCE = 1000

export interface Removal {
  /** Objects. */
  readonly removed: number
  /** Why the store did not remove what could have gone; a lock of objects, or a right that is missing. The next run tries again. */
  readonly refused: string | undefined
}

export const keysBelow = async (
  store: Pick<CompactedStore, "list">,
  prefix: string,
): Promise<ReadonlyArray<string>> => {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

/** When the stream's last segment was created, by the store's clock: ms since the Unix epoch, 0 without one. */
export const newestSegmentMs = async (store: Pick<CompactedStore, "list" | "location" | "read">): Promise<number> => {
  const last = await lastSegmentNumber(store)
  let newest = 0
  for await (const { modifiedMs } of store.list("segments/", { after: segmentKey(last - 1) })) newest = modifiedMs
  return newest
}

/**
 * `unknown`: keys of compacted objects that are removed unless a manifest that serves readers names them; those that a compaction has left which was killed.
 *
 * Rejects with a StreamError, or an error of the store that is not about removing.
 */
export const removeReplaced = async (
  store: CompactedStore,
  {
    graceMs,
    nowMs,
    unknown,
  }: { readonly graceMs: number; readonly nowMs: number; readonly unknown: ReadonlyArray<string> },
): Promise<Removal> => {
  // Before the first, readers read all segments.
  const [numbers, times] = [[0], [0]]
  for await (const { key, modifiedMs } of store.list(MANIFESTS)) {
    numbers.push(Number(/(\d{12})\.json$/.exec(key)?.[1] ?? 0))
    times.push(modifiedMs)
  }
  // A clock that is ahead must not end what readers began a moment ago; one that is behind lets it stay longer.
  const now = Math.min(nowMs, Math.max(await newestSegmentMs(store), ...times))
  // One is replaced when the next is created.
  const firstServing = numbers.findIndex((_, index) => now - (times[index + 1] ?? Number.POSITIVE_INFINITY) < graceMs)
  const replaced = numbers.slice(0, Math.max(0, firstServing))
  const serving = await read(store, numbers.slice(replaced.length))
  // What that one names is not known. Another process has removed it, or somebody who must not.
  if (serving === undefined) return { removed: 0, refused: undefined }
  const over = (await read(store, replaced, "skip")) ?? []
  const named = new Set(serving.flatMap(keysIn))
  const candidates = new Set([...over.flatMap(keysIn), ...unknown])
  const through = Math.min(...serving.map(({ compactedThrough }) => compactedThrough))
  const keys = function* (): Generator<string, void, void> {
    for (const key of candidates) if (!named.has(key)) yield key
    for (const number of replaced) if (number > 0) yield manifestKey(number)
  }
  let [batch, removed]: [string[], number] = [[], 0]
  const flush = async (): Promise<void> => {
    await store.remove(batch)
    removed += batch.length
    batch = []
  }
  try {
    for await (const { key } of store.list("segments/")) {
      if (key > segmentKey(through)) break
      if (/\/\d{12}\.segment$/.test(key) && batch.push(key) === KEYS_AT_ONCE) await flush()
    }
    for (const key of keys()) if (batch.push(key) === KEYS_AT_ONCE) await flush()
    await flush()
  } catch (error) {
    if (!(error instanceof TargetError) || error.access !== "remove") throw error
    return { removed, refused: error.message }
  }
  return { removed, refused: undefined }
}

/** `undefined`: one is gone. Those to skip have been removed after all that they named. */
const read = async (
  store: CompactedStore,
  numbers: ReadonlyArray<number>,
  absent: "skip" | "stop" = "stop",
): Promise<ReadonlyArray<Manifest> | undefined> => {
  const found: Manifest[] = []
  for (const number of numbers) {
    const manifest = number === 0 ? { compactedThrough: 0, compacted: [] } : await readManifestAt(store, number)
    if (manifest === undefined && absent === "stop") return undefined
    if (manifest !== undefined) found.push(manifest)
  }
  return found
}
