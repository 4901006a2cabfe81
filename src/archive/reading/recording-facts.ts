/** A recording as a whole, for readers without its recorder: what it says of itself, up to when it reaches, and whether all of it is there. */

import { existsSync } from "node:fs"
import { join } from "node:path"
import type { GapEvent, LateChanges } from "../../trace/index.ts"
import { CorruptArchiveError } from "../directory/archive-errors.ts"
import { readGaps, readLateRanges } from "../rows/gap-rows.ts"
import { lastTimeOf, readKeptKinds, readKinds } from "../rows/kind-table.ts"
import { readMetadata, WRITER_KEY } from "../rows/metadata.ts"
import { rowsOf } from "../tables/database.ts"
import { DATABASE_FILE, hasLog, isBeingWritten } from "../tables/reading-access.ts"
import { lastSequenceOf, readingRecording } from "../tables/schema.ts"

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
  return readingRecording(directory, (database) => {
    const metadata = readMetadata(database)
    const lacksLog = !isWritten && metadata.get(WRITER_KEY) === "open" && !hasLog(directory)
    if (lacksLog) {
      const [check] = rowsOf<{ readonly integrity_check: string }>(database, "PRAGMA integrity_check(1)")
      const fault = check?.integrity_check
      if (fault !== "ok") {
        const reason = `recording.db was copied without recording.db-wal while it was being written, and is inconsistent (${fault})`
        throw new CorruptArchiveError({ directory, reason })
      }
    }
    const kinds = readKinds(database)
    return {
      metadata,
      kinds: kinds.map(({ gvk }) => gvk),
      lastTime: lastTimeOf(kinds),
      cut: lastSequenceOf(database),
      isWritten,
      lacksLog,
    }
  })
}

/** The value of a key in the recording of a directory; the empty string: there is none, or no recording. @throws as openForReading */
export const readKeptText = (directory: string, key: string): string =>
  existsSync(join(directory, DATABASE_FILE))
    ? readingRecording(directory, (database) => readMetadata(database).get(key) ?? "")
    : ""

// What a recording holds, for people who look at it for the first time: events by kind and how they are spread over time, objects, gaps, late changes. Reads
// rows alone, no block, so that a recording of ten million events takes some ms; damage to blocks is therefore not noticed.

/** Events of a kind that happened within a time. Times are µs since the Unix epoch, both inclusive. */
interface RecordedStretch {
  readonly from: number
  readonly to: number
  readonly events: number
}

/** One kind. Times are µs since the Unix epoch. */
interface OverviewKind {
  readonly gvk: string
  readonly events: number
  /** Objects that it ever had. */
  readonly objects: number
  /** Since when it is recorded; 0: its first list is not complete. */
  readonly since: number
  /** When it was last known to be complete. */
  readonly until: number
}

interface RecordedOverview {
  readonly kinds: ReadonlyArray<OverviewKind>
  readonly stretches: ReadonlyArray<RecordedStretch>
  /** Objects that each namespace ever had, the ones with most first; the empty name is that of objects without one. `undefined`: there are too many to count at once. */
  readonly namespaces: ReadonlyArray<{ readonly namespace: string; readonly objects: number }> | undefined
  readonly gaps: ReadonlyArray<GapEvent>
  readonly late: ReadonlyArray<LateChanges>
}

/** Rows of objects that are counted by namespace: half a second's worth. */
const mostCounted = 1_000_000

/** @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError */
export const readOverview = (directory: string): RecordedOverview =>
  readingRecording(directory, (database) => {
    // One read transaction: the writer continues meanwhile.
    database.exec("BEGIN")
    const kept = readKeptKinds(database)
    const everything = { cut: Number.MAX_SAFE_INTEGER, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER }
    const stretches = rowsOf<RecordedStretch & { readonly kind: number }>(
      database,
      'SELECT kind, min_time AS "from", max_time AS "to", events FROM block_kind WHERE events > 0',
    )
    const eventsOf = (id: number): number =>
      stretches.reduce((sum, { kind, events }) => (kind === id ? sum + events : sum), 0)
    const kinds = kept.map(({ id, gvk, nextObjectNumber, recordedSince, completeThroughTime, lastEventTime }) => ({
      ...{ gvk, events: eventsOf(id), objects: nextObjectNumber - 1 },
      ...{ since: recordedSince, until: Math.max(completeThroughTime, lastEventTime) },
    }))
    const isCounted = kinds.reduce((sum, { objects }) => sum + objects, 0) <= mostCounted
    const namespaces = isCounted
      ? rowsOf<{ readonly namespace: string; readonly objects: number }>(
          database,
          "SELECT namespace, count(*) AS objects FROM object GROUP BY namespace ORDER BY objects DESC, namespace",
        ).map((row) => ({ ...row }))
      : undefined
    const gaps = readGaps(database, everything)
    return { kinds, stretches, namespaces, gaps, late: readLateRanges(database, everything) }
  })
