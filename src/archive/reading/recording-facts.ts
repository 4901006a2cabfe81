/** A recording as a whole, for readers without its recorder: what it says of itself, up to when it reaches, and whether all of it is there. */

import type { GapEvent, LateChanges } from "../../trace/event.ts"
import { CorruptArchiveError, toArchiveError } from "../directory/archive-errors.ts"
import { readGaps, readLateRanges } from "../rows/gap-rows.ts"
import { readKeptKinds, readKinds } from "../rows/kind-table.ts"
import { readMetadata, WRITER_KEY } from "../rows/metadata.ts"
import { hasLog, isBeingWritten } from "../tables/reading-access.ts"
import { lastSequenceOf, openForReading } from "../tables/schema.ts"

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
export const readOverview = (directory: string): RecordedOverview => {
  const database = openForReading(directory)
  try {
    // One read transaction: the writer goes on meanwhile.
    database.exec("BEGIN")
    const kept = readKeptKinds(database)
    const everything = { cut: Number.MAX_SAFE_INTEGER, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER }
    const stretches = database
      .prepare("SELECT kind, min_time, max_time, events FROM block_kind WHERE events > 0")
      .all()
      .map((row) => ({
        ...{ kind: Number(row.kind), events: Number(row.events) },
        ...{ from: Number(row.min_time), to: Number(row.max_time) },
      }))
    const eventsOf = (id: number): number =>
      stretches.reduce((sum, { kind, events }) => (kind === id ? sum + events : sum), 0)
    const kinds = kept.map(({ id, gvk, nextObjectNumber, recordedSince, completeThroughTime, lastEventTime }) => ({
      ...{ gvk, events: eventsOf(id), objects: nextObjectNumber - 1 },
      ...{ since: recordedSince, until: Math.max(completeThroughTime, lastEventTime) },
    }))
    const isCounted = kinds.reduce((sum, { objects }) => sum + objects, 0) <= mostCounted
    const namespaces = isCounted
      ? database
          .prepare(
            "SELECT namespace, count(*) AS objects FROM object GROUP BY namespace ORDER BY objects DESC, namespace",
          )
          .all()
          .map((row) => ({ namespace: String(row.namespace), objects: Number(row.objects) }))
      : undefined
    const gaps = readGaps(database, everything)
    return { kinds, stretches, namespaces, gaps, late: readLateRanges(database, everything) }
  } catch (error) {
    throw toArchiveError(directory, "read", error)
  } finally {
    // Also ends the transaction.
    database.close()
  }
}
