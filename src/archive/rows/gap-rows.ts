/** Gaps, and ranges of late changes, on disk: a row each. There are few, and they are always included in results. */
import type { EventTimes, GapEvent, LateChanges } from "../../trace/index.ts"
import type { Gap, LateRange } from "../../wire/index.ts"
import { type Connection, prepare, rowsOf, type Statement } from "../tables/database.ts"
import { fieldsOf, rowWriter } from "../tables/tables.ts"

/** A gap with its position. */
export interface PlacedGap {
  readonly sequence: number
  /** The archive's number for the kind. */
  readonly kind: number
  readonly gap: Gap
}

interface RowSelection {
  /** Last sequence number to read. */
  readonly cut: number
  /** µs since the Unix epoch. Default: from the beginning. */
  readonly fromTime?: number
  /** µs since the Unix epoch, exclusive. Default: to the end. */
  readonly untilTime?: number
}

/** Prepares the statement that stores gaps; run it inside the commit's transaction. */
export const gapWriter = (database: Connection): ((placed: PlacedGap) => void) => {
  const insert = rowWriter(database, "gap")
  return ({ sequence, kind, gap }) => insert({ ...gap, sequence, kind })
}

/** Whether the very same gap of a kind is stored. */
export const hasGapRow = (database: Connection, kind: number, gap: Gap): boolean =>
  prepare(
    database,
    `SELECT 1 FROM gap WHERE kind = ? AND from_version = ? AND to_version = ? AND from_time = ? AND to_time = ?
      AND reason = ? AND namespace = ?`,
  ).get(kind, gap.fromVersion, gap.toVersion, gap.fromTime, gap.toTime, gap.reason, gap.namespace) !== undefined

/**
 * Gaps that overlap a window, ordered by the time at which they were closed, including those closed after the window, because part of the
 * window is missing all the same.
 */
export const readGaps = (
  database: Connection,
  { cut, fromTime = 0, untilTime = Number.MAX_SAFE_INTEGER }: RowSelection,
): ReadonlyArray<GapEvent> =>
  gapsWhere(database, "sequence <= ? AND to_time >= ? AND from_time < ? ORDER BY to_time, sequence", [
    ...[cut, fromTime, untilTime],
  ])

/** Gaps that were recorded after a sequence number and up to the cut, in that order. */
export const readGapsAfter = (
  database: Connection,
  { after, cut }: { readonly after: number; readonly cut: number },
): Array<GapEvent> => gapsWhere(database, "sequence > ? AND sequence <= ? ORDER BY sequence", [after, cut])

const gapsWhere = (database: Connection, condition: string, values: ReadonlyArray<number>): Array<GapEvent> =>
  rowsOf<Gap & { readonly sequence: number; readonly gvk: string }>(
    database,
    `SELECT ${fieldsOf("gap")}, gvk FROM gap JOIN kind ON kind.id = gap.kind WHERE ${condition}`,
    ...values,
  ).map(({ sequence, gvk, namespace, fromVersion, toVersion, fromTime, toTime, reason, detail }) => ({
    ...{
      type: "gap",
      sequence,
      time: toTime,
      gvk,
      namespace,
      fromVersion,
      toVersion,
      fromTime,
      toTime,
      reason,
      detail,
    },
  }))

interface PlacedRange {
  readonly sequence: number
  /** The archive's number for the kind. */
  readonly kind: number
  readonly range: LateRange
}

/** The late ranges to read. */
export interface LateSelection extends RowSelection {
  /**
   * What must overlap the window: the time in which the changes may have happened, or all the time from then until they were received.
   * Default: the former.
   */
  readonly times?: EventTimes
}

/**
 * Late ranges that wait for the next commit, merged as their rows will be: one for all changes of a kind, or of a namespace of it, that were
 * received late after the same moment and for the same cause. They arrive with every frame of those changes, so a row grows.
 */
export class LateRows {
  readonly #merge: (row: Readonly<Record<string, unknown>>) => void
  readonly #pending = new Map<string, PlacedRange>()

  constructor(database: Connection) {
    this.#merge = rowWriter(database, "late_range", {
      end: `ON CONFLICT (kind, namespace, not_before, cause) DO UPDATE SET
        not_after = max(not_after, excluded.not_after), received_from = min(received_from, excluded.received_from),
        received_to = max(received_to, excluded.received_to), events = events + excluded.events`,
    })
  }

  add(placed: PlacedRange): void {
    const { kind, range } = placed
    const key = JSON.stringify([kind, range.namespace, range.notBefore, range.cause])
    const before = this.#pending.get(key)
    this.#pending.set(key, before === undefined ? placed : { ...before, range: merged(before.range, range) })
  }

  /** Inside the commit's transaction. */
  save(): void {
    for (const { sequence, kind, range } of this.#pending.values()) this.#merge({ ...range, sequence, kind })
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
export const readLateRanges = (
  database: Connection,
  { cut, fromTime = 0, untilTime = Number.MAX_SAFE_INTEGER, times }: LateSelection,
): ReadonlyArray<LateChanges> => {
  const end = times === "received" ? "received_to" : "min(not_after, received_to)"
  const rows: Statement<LateChanges> = prepare(
    database,
    `SELECT gvk, namespace, not_before AS notBefore, not_after AS notAfter, received_from AS receivedFrom, received_to AS receivedTo,
      events, cause
    FROM late_range JOIN kind ON kind.id = late_range.kind
    WHERE sequence <= ? AND ${end} >= ? AND not_before < ? ORDER BY not_before, late_range.kind, namespace, cause`,
  )
  return rows.all(cut, fromTime, untilTime).map((row) => ({ ...row }))
}
