/**
 * What a recording holds, for people who look at it for the first time: events by kind and how they are spread over time, objects, gaps, late changes. Reads
 * rows alone, no block, so that a recording of ten million events takes some ms; damage to blocks is therefore not noticed.
 */
import type { GapEvent, LateChanges } from "../../trace/event.ts"
import { toArchiveError } from "../archive-errors.ts"
import { readGaps } from "../rows/gap-rows.ts"
import { readKeptKinds } from "../rows/kind-table.ts"
import { readLateRanges } from "../rows/late-rows.ts"
import { openForReading } from "../schema.ts"

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
