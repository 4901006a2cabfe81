/** The time since which each kind is recorded, without reading anything else. */
import { toArchiveError } from "../archive-errors.ts"
import { readKinds } from "../rows/kind-table.ts"
import { openForReading } from "../schema.ts"

/**
 * By kind, the µs since the Unix epoch since which it is recorded; excludes kinds whose first list is in progress.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const readRecordedSince = (directory: string): ReadonlyMap<string, number> => {
  const database = openForReading(directory)
  try {
    return new Map(
      readKinds(database).flatMap(({ gvk, recordedSince }) =>
        recordedSince === 0 ? [] : [[gvk, recordedSince] as const],
      ),
    )
  } catch (error) {
    throw toArchiveError(directory, "read", error)
  } finally {
    database.close()
  }
}
