/**
 * The states of one kind's objects at any moment: the nearest checkpoint before it, updated with the later blocks.
 *
 * A chain of checkpoints starts with a full one (all objects alive) followed by changes. Checkpoints are found by sequence and time at
 * once: a kind's times never decrease, so the events before a moment are a prefix of its history.
 *
 * Memory: one set of columns per step of the chain, 33 bytes an object, all of it released with the result.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { EventTimes } from "../../trace/event.ts"
import { isDamage, toArchiveError } from "../archive-errors.ts"
import { unpackColumn } from "../blocks/block-rows.ts"
import type { BlockSource, KindKey } from "../blocks/block-source.ts"
import { FORMAT_VERSION } from "../schema.ts"
import { formatOf, isSoundRow } from "../soundness/sound-rows.ts"
import { decodeStates, mergeStates, NO_STATES, type ObjectStates, StateCollector } from "./object-states.ts"

/** The part of a kind's history to read. */
interface HistoryLimit {
  /** Last event to read. */
  readonly throughSequence: number
  /** µs since the Unix epoch: events at or after this moment are excluded. Default: none are. */
  readonly beforeTime?: number
  /** The times of that moment. Default: when events happened. */
  readonly times?: EventTimes
}

/** Checkpoints up to a limit, the full one first. */
export interface CheckpointChain {
  /** Last event that the chain includes, 0 if there is no checkpoint. */
  readonly throughSequence: number
  readonly steps: ReadonlyArray<ObjectStates>
}

/** Later than every event: 2^53−1 µs are the year 2255. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Reads states through one database connection. */
export class StateHistory {
  readonly #directory: string
  readonly #source: BlockSource
  readonly #lastFull: Readonly<Record<EventTimes, StatementSync>>
  readonly #chain: Readonly<Record<EventTimes, StatementSync>>

  constructor(database: DatabaseSync, source: BlockSource, directory: string) {
    this.#directory = directory
    this.#source = source
    const lastFull = (time: "last_time" | "last_received"): StatementSync =>
      database.prepare(`
        SELECT through_sequence FROM checkpoint
        WHERE kind = ? AND through_sequence <= ? AND ${time} < ? AND is_full = 1
        ORDER BY through_sequence DESC LIMIT 1`)
    const after = formatOf(database) === FORMAT_VERSION ? "after_sequence" : "NULL AS after_sequence"
    const isSound = isSoundRow(database, "checkpoint")
    const chain = (time: "last_time" | "last_received"): StatementSync =>
      database.prepare(`
        SELECT through_sequence, is_full, ${after}, states_size, states_checksum, states, ${isSound} AS is_sound
        FROM checkpoint WHERE kind = ? AND through_sequence >= ? AND through_sequence <= ? AND ${time} < ? ORDER BY through_sequence`)
    this.#lastFull = { happened: lastFull("last_time"), received: lastFull("last_received") }
    this.#chain = { happened: chain("last_time"), received: chain("last_received") }
  }

  /** Last state of each object that is alive at the limit, ordered by object number. */
  aliveAt(kind: KindKey, limit: HistoryLimit): ObjectStates {
    const chain = this.chainBefore(kind, limit)
    const changes = this.changesSince(kind, chain.throughSequence, limit)
    return mergeStates(mergeAll(chain.steps), changes, false)
  }

  /** Last event within the limit of each object with one after `sequence`, including deletions. */
  changesSince(kind: KindKey, sequence: number, limit: HistoryLimit): ObjectStates {
    const { beforeTime = NEVER, times = "happened" } = limit
    const finished: Array<ObjectStates> = []
    let collector = new StateCollector()
    collecting: for (const frame of this.#source.framesOf(kind, sequence)) {
      for (let index = 0; index < frame.events.count; index++) {
        if (frame.firstSequence + index > limit.throughSequence || frame.timeIn(times, index) >= beforeTime)
          break collecting
        collector.add(frame, index)
        if (collector.isFull) {
          finished.push(collector.finish())
          collector = new StateCollector()
        }
      }
    }
    finished.push(collector.finish())
    return mergeAll(finished)
  }

  /**
   * The checkpoints from which states at the limit are built. A damaged one, and those that build on it, are left out: everything that they
   * contain is in blocks as well.
   */
  chainBefore(kind: KindKey, limit: HistoryLimit): CheckpointChain {
    const { beforeTime = NEVER, times = "happened" } = limit
    try {
      for (let through = limit.throughSequence; ; ) {
        const full = this.#lastFull[times].get(kind.id, through, beforeTime)
        if (full === undefined) return { throughSequence: 0, steps: [] }
        const first = full.through_sequence as number
        const chain = soundChain(this.#chain[times].iterate(kind.id, first, limit.throughSequence, beforeTime))
        if (chain.steps.length > 0) return chain
        through = first - 1
      }
    } catch (error) {
      throw toArchiveError(this.#directory, "read", error)
    }
  }
}

/** The checkpoints up to the first that is damaged or does not continue the one before. */
const soundChain = (rows: Iterable<Record<string, unknown>>): CheckpointChain => {
  const steps: Array<ObjectStates> = []
  let throughSequence = 0
  try {
    for (const row of rows) {
      const after = row.after_sequence ?? throughSequence
      const continues = steps.length === 0 ? row.is_full === 1 : row.is_full === 0 && after === throughSequence
      if (row.is_sound !== 1 || !continues) break
      steps.push(decodeStates(unpackColumn(row, "states")))
      throughSequence = row.through_sequence as number
    }
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  return { throughSequence, steps }
}

/**
 * Merges sets of states, the oldest first, keeping deletions. In pairs, so that many small sets on a large one do not each cost a pass over
 * the large one.
 */
export const mergeAll = (sets: ReadonlyArray<ObjectStates>): ObjectStates => {
  let level = sets
  while (level.length > 1) {
    const merged: Array<ObjectStates> = []
    // From the newest end: the oldest set is the full one and joins last.
    for (let right = level.length - 1; right >= 0; right -= 2) {
      const newer = level[right] as ObjectStates
      const older = level[right - 1]
      merged.push(older === undefined ? newer : mergeStates(older, newer, true))
    }
    level = merged.reverse()
  }
  return level[0] ?? NO_STATES
}
