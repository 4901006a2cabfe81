/** From when and up to when each kind and each of its namespaces is recorded, without reading anything else. */
import { toArchiveError } from "../archive-errors.ts"
import { readKeptKinds } from "../rows/kind-table.ts"
import { openForReading } from "../schema.ts"

/** A kind, or a namespace of one that is recorded namespace by namespace, whose first list is recorded. */
interface RecordedSince {
  readonly gvk: string
  /** Empty: the kind as a whole. */
  readonly namespace: string
  /** µs since the Unix epoch. */
  readonly since: number
  /** µs since the Unix epoch at which it was last known to be complete. */
  readonly completeTime: number
}

/**
 * Those whose first list is not complete are left out.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const readRecordedSince = (directory: string): ReadonlyArray<RecordedSince> => {
  const database = openForReading(directory)
  try {
    return readKeptKinds(database)
      .flatMap(({ gvk, recordedSince, completeThroughTime, namespaces }) => [
        { gvk, namespace: "", since: recordedSince, completeTime: completeThroughTime },
        ...namespaces.map((each) => ({
          ...{ gvk, namespace: each.namespace, since: each.recordedSince },
          // While all of them are complete, only the kind has a time.
          completeTime: each.completeTime || completeThroughTime,
        })),
      ])
      .filter(({ since }) => since !== 0)
  } catch (error) {
    throw toArchiveError(directory, "read", error)
  } finally {
    database.close()
  }
}
