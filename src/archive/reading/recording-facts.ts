/** A recording as a whole, for readers without its recorder: what it says of itself, up to when it reaches, and whether all of it is there. */
import { CorruptArchiveError, toArchiveError } from "../archive-errors.ts"
import { hasLog, isBeingWritten } from "../reading-access.ts"
import { readKinds } from "../rows/kind-table.ts"
import { readMetadata, WRITER_KEY } from "../rows/metadata.ts"
import { lastSequenceOf, openForReading } from "../schema.ts"

export interface RecordingFacts {
  readonly metadata: ReadonlyMap<string, string>
  /** `apps/v1.Deployment` …, in the order in which they were first recorded. */
  readonly kinds: ReadonlyArray<string>
  /**
   * µs since the Unix epoch: the last moment at which anything is known to have been recorded, an event or a bookmark of any kind; 0 if
   * there is none.
   */
  readonly lastTime: number
  /** Sequence number of the last event. */
  readonly cut: number
  /** Whether a recorder is writing. */
  readonly isWritten: boolean
  /**
   * The recorder did not end in order, and the log that it must have left is absent, as in a copy of recording.db alone. What is read is the
   * consistent state of some earlier moment, at most 4 MiB of changes ago.
   */
  readonly lacksLog: boolean
}

/**
 * Without its log, a database that was copied while pages were moved into it is damaged without SQLite noticing; so then, all of it is read
 * and checked.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const readRecordingFacts = (directory: string): RecordingFacts => {
  const isWritten = isBeingWritten(directory)
  const database = openForReading(directory)
  try {
    const metadata = readMetadata(database)
    const lacksLog = !isWritten && metadata.get(WRITER_KEY) === "open" && !hasLog(directory)
    if (lacksLog) {
      const fault = database.prepare("PRAGMA integrity_check(1)").get()?.integrity_check
      if (fault !== "ok") {
        const reason = `recording.db was copied without recording.db-wal while it was being written, and is inconsistent (${fault})`
        throw new CorruptArchiveError({ directory, reason })
      }
    }
    const kinds = readKinds(database)
    const times = kinds.flatMap(({ completeThroughTime, lastEventTime, namespaces }) => [
      completeThroughTime,
      lastEventTime,
      ...namespaces.map(({ completeTime }) => completeTime),
    ])
    return {
      metadata,
      kinds: kinds.map(({ gvk }) => gvk),
      lastTime: Math.max(0, ...times),
      cut: lastSequenceOf(database),
      isWritten,
      lacksLog,
    }
  } catch (error) {
    throw toArchiveError(directory, "read", error)
  } finally {
    database.close()
  }
}
