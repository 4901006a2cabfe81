/** Gaps on disk: one row each; there are few, and they are always included in results. */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { EventTimes, GapEvent, LateCause, LateChanges, TraceGapReason } from "../../trace/event.ts"
import type { Gap, LateRange } from "../../wire/observations.ts"

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

// Late ranges on disk: one row for all changes of a kind, or of a namespace of it, that were received late after the same moment and for the
// same cause. They arrive with every frame of those changes, so a row grows; there are few, and they are always included in results.

/** A late range with the position of its first event. */
interface PlacedRange {
  readonly sequence: number
  /** The archive's number for the kind. */
  readonly kind: number
  readonly range: LateRange
}

/** The late ranges to read. */
export interface LateSelection {
  /** Last sequence number to read. */
  readonly cut: number
  /** µs since the Unix epoch. Default: from the beginning. */
  readonly fromTime?: number
  /** µs since the Unix epoch, exclusive. Default: to the end. */
  readonly untilTime?: number
  /**
   * What must overlap the window: the time in which the changes may have happened, or all the time from then until they were received.
   * Default: the former.
   */
  readonly times?: EventTimes
}

/** Ranges that wait for the next commit, merged as their rows will be. */
export class LateRows {
  readonly #merge: StatementSync
  readonly #pending = new Map<string, PlacedRange>()

  constructor(database: DatabaseSync) {
    this.#merge = database.prepare(`
      INSERT INTO late_range (kind, namespace, not_before, cause, not_after, received_from, received_to, events, sequence)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (kind, namespace, not_before, cause) DO UPDATE SET
        not_after = max(not_after, excluded.not_after), received_from = min(received_from, excluded.received_from),
        received_to = max(received_to, excluded.received_to), events = events + excluded.events`)
  }

  add(placed: PlacedRange): void {
    const { kind, range } = placed
    const key = JSON.stringify([kind, range.namespace, range.notBefore, range.cause])
    const before = this.#pending.get(key)
    this.#pending.set(key, before === undefined ? placed : { ...before, range: merged(before.range, range) })
  }

  /** Inside the commit's transaction. */
  save(): void {
    for (const { sequence, kind, range } of this.#pending.values()) {
      const { namespace, notBefore, cause, notAfter, receivedFrom, receivedTo, events } = range
      this.#merge.run(kind, namespace, notBefore, cause, notAfter, receivedFrom, receivedTo, events, sequence)
    }
  }

  /** After the commit. */
  clear(): void {
    this.#pending.clear()
  }
}

const merged = (one: LateRange, other: LateRange): LateRange => ({
  ...one,
  notAfter: Math.max(one.notAfter, other.notAfter),
  receivedFrom: Math.min(one.receivedFrom, other.receivedFrom),
  receivedTo: Math.max(one.receivedTo, other.receivedTo),
  events: one.events + other.events,
})

/** Late ranges that overlap a window, ordered by the time from which on their changes may have happened. */
export const readLateRanges = (database: DatabaseSync, selection: LateSelection): ReadonlyArray<LateChanges> => {
  const end = selection.times === "received" ? "received_to" : "min(not_after, received_to)"
  return database
    .prepare(`
      SELECT late_range.*, kind.gvk AS gvk FROM late_range JOIN kind ON kind.id = late_range.kind
      WHERE sequence <= ? AND ${end} >= ? AND not_before < ? ORDER BY not_before, late_range.kind, namespace, cause`)
    .all(selection.cut, selection.fromTime ?? 0, selection.untilTime ?? Number.MAX_SAFE_INTEGER)
    .map((row) => ({
      gvk: String(row.gvk),
      namespace: String(row.namespace),
      notBefore: Number(row.not_before),
      notAfter: Number(row.not_after),
      receivedFrom: Number(row.received_from),
      receivedTo: Number(row.received_to),
      events: Number(row.events),
      // The column was checked when the frame arrived.
      cause: String(row.cause) as LateCause,
    }))
}
