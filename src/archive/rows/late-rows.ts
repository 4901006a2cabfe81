/**
 * Late ranges on disk: one row for all changes of a kind, or of a namespace of it, that were received late after the same moment and for the
 * same cause. They arrive with every frame of those changes, so a row grows; there are few, and they are always included in results.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { EventTimes, LateCause, LateChanges } from "../../trace/event.ts"
import type { LateRange } from "../../wire/observations.ts"

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
