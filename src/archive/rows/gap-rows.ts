/** Gaps on disk: one row each; there are few, and they are always included in results. */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { GapEvent, TraceGapReason } from "../../trace/event.ts"
import type { Gap } from "../../wire/observations.ts"

/** A gap with its position. */
export interface PlacedGap {
  readonly sequence: number
  /** The archive's number for the kind. */
  readonly kind: number
  readonly gap: Gap
}

/** The gaps to read. */
interface GapSelection {
  /** Last sequence number to read. */
  readonly cut: number
  /** µs since the Unix epoch. Default: from the beginning. */
  readonly fromTime?: number
  /** µs since the Unix epoch, exclusive. Default: to the end. */
  readonly untilTime?: number
}

/** Prepares the statement that stores gaps; run it inside the commit's transaction. */
export const gapWriter = (database: DatabaseSync): ((placed: PlacedGap) => void) => {
  const insert: StatementSync = database.prepare(`
    INSERT INTO gap (sequence, kind, namespace, from_version, to_version, from_time, to_time, reason, detail)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  return ({ sequence, kind, gap }) => {
    const { namespace, fromVersion, toVersion, fromTime, toTime, reason, detail } = gap
    insert.run(sequence, kind, namespace, fromVersion, toVersion, fromTime, toTime, reason, detail)
  }
}

/** Whether the very same gap of a kind is stored. */
export const hasGapRow = (database: DatabaseSync, kind: number, gap: Gap): boolean =>
  database
    .prepare(`
      SELECT 1 FROM gap WHERE kind = ? AND from_version = ? AND to_version = ? AND from_time = ? AND to_time = ?
        AND reason = ? AND namespace = ?`)
    .get(kind, gap.fromVersion, gap.toVersion, gap.fromTime, gap.toTime, gap.reason, gap.namespace) !== undefined

/**
 * Gaps that overlap a window, ordered by the time at which they were closed, including those closed after the window, because part of the
 * window is missing all the same.
 */
export const readGaps = (database: DatabaseSync, selection: GapSelection): ReadonlyArray<GapEvent> =>
  database
    .prepare(`
      SELECT gap.*, kind.gvk AS gvk FROM gap JOIN kind ON kind.id = gap.kind
      WHERE sequence <= ? AND to_time >= ? AND from_time < ? ORDER BY to_time, sequence`)
    .all(selection.cut, selection.fromTime ?? 0, selection.untilTime ?? Number.MAX_SAFE_INTEGER)
    .map(gapOf)

/** Gaps that were recorded after a sequence number and up to the cut, in that order. */
export const readGapsAfter = (
  database: DatabaseSync,
  { after, cut }: { readonly after: number; readonly cut: number },
): Array<GapEvent> =>
  database
    .prepare(`
      SELECT gap.*, kind.gvk AS gvk FROM gap JOIN kind ON kind.id = gap.kind
      WHERE sequence > ? AND sequence <= ? ORDER BY sequence`)
    .all(after, cut)
    .map(gapOf)

const gapOf = (row: Record<string, unknown>): GapEvent => ({
  type: "gap",
  sequence: Number(row.sequence),
  time: Number(row.to_time),
  gvk: String(row.gvk),
  namespace: String(row.namespace),
  fromVersion: String(row.from_version),
  toVersion: String(row.to_version),
  fromTime: Number(row.from_time),
  toTime: Number(row.to_time),
  // The column was checked when the frame, or the trace, was read.
  reason: String(row.reason) as TraceGapReason,
  detail: String(row.detail),
})
