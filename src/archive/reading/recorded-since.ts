/**
 * Since when each kind is recorded: the moment at which its first list was complete. What there was before that nobody knows; from
 * then on everything is known but for gaps, also of a kind of which there is no object.
 *
 * One row of `metadata` per kind, written in the transaction that completes the list, never changed. Recordings in which the list
 * was complete before that was kept have none; there it is the time of the kind's first event, or, without events, the last moment
 * at which the server confirmed the kind.
 */

import type { DatabaseSync } from "node:sqlite"
import { toArchiveError } from "../archive-errors.ts"
import { type KindEntry, readKinds } from "../rows/kind-table.ts"
import { readMetadata } from "../rows/metadata.ts"
import { recordedSinceKey } from "../rows/since-key.ts"
import { openForReading } from "../schema.ts"

/** Of a kind: µs since the Unix epoch; `undefined` while its first list is under way. */
export const sinceReader = (database: DatabaseSync): ((kind: KindEntry) => number | undefined) => {
  const metadata = readMetadata(database)
  const first = database.prepare("SELECT min(min_time) AS time FROM block_kind WHERE kind = ?")
  return (kind) => {
    if (isFirstList(kind)) return undefined
    const kept = metadata.get(recordedSinceKey(kind.gvk))
    if (kept !== undefined) return Number(kept)
    const time = first.get(kind.id)?.time
    return typeof time === "number" ? time : kind.completeThroughTime
  }
}

/** A later history has no version at its beginning either. */
export const isFirstList = ({ completeThrough, epoch }: KindEntry): boolean => completeThrough === "" && epoch === 0

/**
 * By kind the µs since the Unix epoch from which it is recorded; without those whose first list is under way.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const readRecordedSince = (directory: string): ReadonlyMap<string, number> => {
  const database = openForReading(directory)
  try {
    const sinceOf = sinceReader(database)
    return new Map(
      readKinds(database).flatMap((kind) => {
        const since = sinceOf(kind)
        return since === undefined ? [] : [[kind.gvk, since] as const]
      }),
    )
  } catch (error) {
    throw toArchiveError(directory, "read", error)
  } finally {
    database.close()
  }
}
