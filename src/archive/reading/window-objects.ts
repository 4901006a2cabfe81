/**
 * The objects of a kind in a window: those alive at its start, and those that change in it.
 *
 * Reads tables of contents only. Memory: one entry per object.
 */

import type { EventTimes } from "../../trace/index.ts"
import { VANISHED } from "../../wire/index.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import type { StateHistory } from "../checkpoints/state-history.ts"
import type { KindKey } from "../rows/kind-table.ts"
import type { ObjectNames } from "../rows/object-rows.ts"

/** Times are µs since the Unix epoch. */
export interface WindowLimits {
  /** Last sequence number to read. */
  readonly cut: number
  /** Inclusive. */
  readonly fromTime: number
  /** Exclusive. */
  readonly untilTime: number
  /** Which times the window has. Default: when events happened. */
  readonly times?: EventTimes
}

/**
 * By UID the sequence number of the object's last event in the window that carries its bytes, or of its state at the
 * start.
 *
 * @throws CorruptArchiveError, ArchiveIoError
 */
export const presentObjects = (
  source: BlockSource,
  history: StateHistory,
  names: ObjectNames,
  kind: KindKey,
  { cut, fromTime, untilTime, times = "happened" }: WindowLimits,
): ReadonlyMap<string, number> => {
  const sequences = new Map(history.aliveAt(kind, { throughSequence: cut, beforeTime: fromTime, times }).lastEvents())
  reading: for (const frame of source.framesOf(kind, 0, fromTime, times)) {
    for (let index = 0; index < frame.events.count; index++) {
      const time = frame.timeIn(times, index)
      if (frame.sequence(index) > cut || time >= untilTime) break reading
      if (time < fromTime || frame.events.action(index) === VANISHED) continue
      sequences.set(frame.events.objectNumber(index), frame.sequence(index))
    }
  }
  const present = new Map<string, number>()
  for (const [number, sequence] of [...sequences].sort(([left], [right]) => left - right))
    present.set(names.nameOf(kind.id, number).uid, sequence)
  return present
}
