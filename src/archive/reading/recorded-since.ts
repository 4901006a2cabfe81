/** From when and up to when each kind and each of its namespaces is recorded, without reading anything else. */
import { podLivesKind } from "../../trace/index.ts"
import { readKeptKinds } from "../rows/kind-table.ts"
import { readMetadata } from "../rows/metadata.ts"
import { readingRecording } from "../tables/schema.ts"
import { firstListsOf } from "./first-lists.ts"

/** A kind, or a namespace of one that is recorded namespace by namespace, whose first list is recorded. */
interface RecordedSince {
  readonly gvk: string
  /** Empty: the kind as a whole. */
  readonly namespace: string
  /** µs since the Unix epoch. */
  readonly since: number
  /** µs since the Unix epoch up to which retention has removed everything, so that `since` is later; 0: nothing. */
  readonly removedThrough: number
  /** It was added later than the recorder had its first lists. Absent: it belongs to the beginning of the recording. */
  readonly isLater?: true
  /** µs since the Unix epoch at which it was last known to be complete. */
  readonly completeTime: number
}

/**
 * Those whose first list is not complete are left out.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const readRecordedSince = (directory: string): ReadonlyArray<RecordedSince> =>
  readingRecording(directory, (database) => {
    const kept = readKeptKinds(database)
    const first = firstListsOf(kept, readMetadata(database))?.kinds
    const later = (gvk: string, since: number) =>
      since > (first?.get(gvk) ?? 0) && gvk !== podLivesKind ? { isLater: true as const } : {}
    return kept
      .flatMap(({ gvk, recordedSince: since, completeThroughTime, namespaces, removedThrough }) => [
        {
          ...{ gvk, namespace: "", since, removedThrough, ...later(gvk, since) },
          completeTime: completeThroughTime,
        },
        ...namespaces.map((each) => ({
          ...{ gvk, namespace: each.namespace, since: each.recordedSince, removedThrough },
          ...later(gvk, each.recordedSince),
          // While all of them are complete, only the kind has a time.
          completeTime: each.completeTime || completeThroughTime,
        })),
      ])
      .filter(({ since }) => since !== 0)
  })
