/** Rows of a recording as deltas have them, and all of a copy: what is compacted is sent again, all of it and in larger pieces. */
import { CorruptArchiveError, toArchiveError } from "../directory/archive-errors.ts"
import { prepareTuples, rowsOf } from "../tables/database.ts"
import { openForReading, readingRecording } from "../tables/schema.ts"
import { columnsOf, isSoundRow } from "../tables/tables.ts"
import {
  blobsOf,
  type DeltaKind,
  type DeltaRow,
  type ShippedTable,
  type ShippedValue,
  shippedKeys,
  shippedTables,
} from "./delta.ts"

/** What SQLite has of a row: its columns, its BLOBs, its checksum, and whether it is as it was written. */
export type Tuple = ReadonlyArray<ShippedValue | Uint8Array<ArrayBuffer>>

/** Selects tuples, of all rows. */
export const tuplesOf = (table: ShippedTable): string => {
  // A hash of 64 bits has more than a number represents.
  const exact = columnsOf(table).map((column) => (column === "spec_hash" ? "CAST(spec_hash AS TEXT)" : column))
  return `SELECT ${[...exact, ...blobsOf(table), "checksum"].join(", ")}, ${isSoundRow(table)} FROM ${table}`
}

export const isSound = (row: Tuple): boolean => row.at(-1) === 1

/** The row that a tuple is of. */
export const rowIn = (table: ShippedTable, tuple: Tuple): DeltaRow => {
  const columns = columnsOf(table).length
  return {
    table,
    values: tuple.slice(0, columns).filter(isShipped),
    blobs: tuple.slice(columns, columns + blobsOf(table).length).filter((value) => value instanceof Uint8Array),
  }
}

const isShipped = (value: Tuple[number]): value is ShippedValue => !(value instanceof Uint8Array)

/**
 * All rows of these tables that deltas have, which applied to a copy of everything before make it what the deltas made it. Nobody may write the recording
 * meanwhile. Memory: one row.
 *
 * @throws CorruptArchiveError also if a row is not as it was written: it was a moment ago, so the disk is damaged; ArchiveIoError
 */
export function* everyRow(
  directory: string,
  tables: ReadonlyArray<ShippedTable> = shippedTables,
): Generator<DeltaRow, void, void> {
  const database = openForReading(directory)
  try {
    for (const table of tables) {
      const keys = table === "metadata" ? shippedKeys : []
      const wanted = keys.length === 0 ? "" : `WHERE key IN (${keys.map(() => "?").join()})`
      for (const tuple of prepareTuples<Tuple>(database, `${tuplesOf(table)} ${wanted}`).iterate(...keys)) {
        if (!isSound(tuple)) throw new CorruptArchiveError({ directory, reason: `table ${table}: a row is damaged` })
        yield rowIn(table, tuple)
      }
    }
  } catch (error) {
    throw toArchiveError(directory, "compaction", error)
  } finally {
    database.close()
  }
}

/**
 * What a copy has of each kind: a block that is listed and was not sent is a gap, unless its events are in a later one, as those of parts are. Versions are
 * empty: only the deltas knew them. @throws ArchiveError
 */
export const kindsIn = (directory: string): ReadonlyArray<DeltaKind> =>
  readingRecording(directory, (database) =>
    rowsOf<DeltaKind>(
      database,
      `WITH listed AS (SELECT kind, events, min_time, max_time,
        coalesce((SELECT iif(block.last_sequence = here.last_sequence, 'sent', iif(first_sequence <= here.last_sequence, 'part', 'lost'))
          FROM block WHERE block.last_sequence >= here.last_sequence ORDER BY block.last_sequence LIMIT 1), 'lost') AS fate
        FROM block_kind AS here)
      SELECT gvk, coalesce(sum(events) FILTER (WHERE fate = 'sent'), 0) AS events,
        count(*) FILTER (WHERE fate = 'lost') + (SELECT count(*) FROM gap WHERE gap.kind = id) AS gaps,
        coalesce(min(min_time) FILTER (WHERE fate = 'sent'), 0) AS fromTime,
        coalesce(max(max_time) FILTER (WHERE fate = 'sent'), 0) AS toTime, '' AS firstVersion, '' AS lastVersion
      FROM kind LEFT JOIN listed ON kind = id
      GROUP BY id ORDER BY id`,
    ).filter(({ events, gaps }) => events + gaps > 0),
  )
