/**
 * The states of one kind's objects at any moment: the nearest checkpoint before it, updated with the later blocks.
 *
 * A chain of checkpoints starts with a full one (all objects alive) followed by changes. Checkpoints are found by sequence and time at
 * once: a kind's times never decrease, so the events before a moment are a prefix of its history.
 *
 * Of events that retention has removed, the last ones of each object are kept as **remains**: checkpoints of their own kind that continue from
 * whatever checkpoint is the last before the kind's beginning. So states at the beginning and later are found as ever; a moment before
 * it has the states of the beginning.
 *
 * Memory: one set of columns per step of the chain, 33 bytes an object, all of it released with the result.
 */

import type { ResourceVersion } from "../../kube/offline.ts"
import type { EventTimes } from "../../trace/index.ts"
import { type Packed, unpack } from "../blocks/block.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import { nearBlob } from "../blocks/far-blobs.ts"
import { RetentionOutranError, reading, unlessDamaged } from "../directory/archive-errors.ts"
import type { KindKey } from "../rows/kind-table.ts"
import { ObjectNames } from "../rows/object-rows.ts"
import { type Connection, prepare, type Statement } from "../tables/database.ts"
import { isSoundRow } from "../tables/tables.ts"
import { decodeStates, mergeStates, NO_STATES, type ObjectStates, StateCollector } from "./object-states.ts"

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

/** `is_full` of a checkpoint with the last events of each object among those that retention removed. */
export const REMAINS = 2

/** The beginning moves once in minutes, and one reading takes less than a second. */
export const ATTEMPTS = 5

/** Reads states through one database connection. */
export class StateHistory {
  readonly #directory: string
  readonly #source: BlockSource
  readonly #lastFull: Readonly<Record<EventTimes, Statement<{ readonly through: number }>>>
  readonly #chain: Readonly<Record<EventTimes, Statement<CheckpointRow>>>
  readonly #remains: Statement<CheckpointRow>
  readonly #withFingerprints: boolean

  /** `withFingerprints`: a process that continues a recording needs them; without it, those of events are 0. */
  constructor(database: Connection, source: BlockSource, directory: string, withFingerprints = false) {
    this.#withFingerprints = withFingerprints
    this.#directory = directory
    this.#source = source
    const lastFull = (time: "last_time" | "last_received"): Statement<{ readonly through: number }> =>
      prepare(
        database,
        `SELECT through_sequence AS through FROM checkpoint
        WHERE kind = ? AND through_sequence <= ? AND ${time} < ? AND is_full = 1 ORDER BY through_sequence DESC LIMIT 1`,
      )
    const select = `SELECT through_sequence AS throughSequence, is_full AS isFull, after_sequence AS afterSequence,
      states AS bytes, states_size AS size, states_checksum AS checksum, ${isSoundRow("checkpoint")} AS isSound FROM checkpoint`
    const chain = (time: "last_time" | "last_received"): Statement<CheckpointRow> =>
      prepare(
        database,
        `${select} WHERE kind = ? AND through_sequence >= ? AND through_sequence <= ? AND ${time} < ? AND is_full < ${REMAINS}
        ORDER BY through_sequence`,
      )
    this.#lastFull = { happened: lastFull("last_time"), received: lastFull("last_received") }
    this.#remains = prepare(
      database,
      `${select} WHERE kind = ? AND through_sequence > ? AND is_full = ${REMAINS} ORDER BY through_sequence`,
    )
    this.#chain = { happened: chain("last_time"), received: chain("last_received") }
  }

  /**
   * Last state of each object that is alive at the limit, ordered by object number; at the kind's beginning if that is later.
   *
   * @throws RetentionOutranError if retention moves the beginning past the limit meanwhile
   */
  aliveAt(kind: KindKey, limit: HistoryLimit): ObjectStates {
    return this.#undisturbed(kind, limit, (chainLimit) => {
      const chain = this.chainBefore(kind, chainLimit)
      const changes = this.changesSince(kind, chain.throughSequence, limit)
      return mergeStates(mergeAll(chain.steps), changes, false)
    })
  }

  /** The same in steps, oldest first, with deletions, up to some event before the limit. What follows is to be read from blocks. */
  stepsBefore(kind: KindKey, limit: HistoryLimit): CheckpointChain {
    return this.#undisturbed(kind, limit, (chainLimit) => {
      const chain = this.chainBefore(kind, chainLimit)
      const remains = this.#remainsAfter(kind, chain.throughSequence)
      const throughSequence = Math.max(chain.throughSequence, this.#source.beginningNow(kind).throughSequence)
      return { throughSequence, steps: [...chain.steps, ...remains] }
    })
  }

  /** Last event within the limit of each object with one after `sequence`, including deletions. */
  changesSince(kind: KindKey, sequence: number, limit: HistoryLimit): ObjectStates {
    const { beforeTime = NEVER, times = "happened" } = limit
    const finished: Array<ObjectStates> = [...this.#remainsAfter(kind, sequence)]
    const from = Math.max(sequence, this.#source.beginningNow(kind).throughSequence)
    let collector = new StateCollector(this.#withFingerprints)
    collecting: for (const frame of this.#source.framesAfter(kind, from)) {
      for (let index = 0; index < frame.events.count; index++) {
        if (frame.sequence(index) > limit.throughSequence || frame.timeIn(times, index) >= beforeTime) break collecting
        collector.add(frame, index)
        if (collector.isFull) {
          finished.push(collector.finish())
          collector = new StateCollector(this.#withFingerprints)
        }
      }
    }
    finished.push(collector.finish())
    return mergeAll(finished)
  }

  /**
   * Reads again if the beginning moved meanwhile, as long as what is asked for is kept. `read` takes the limit of checkpoints: for a moment
   * before the beginning, those of the beginning.
   */
  #undisturbed<Answer>(kind: KindKey, limit: HistoryLimit, read: (chainLimit: HistoryLimit) => Answer): Answer {
    const { beforeTime = NEVER, throughSequence } = limit
    const first = this.#source.beginningOf(kind)
    const isBefore = beforeTime <= first.removedThrough
    for (let attempt = 1; ; attempt++) {
      const start = this.#source.beginningNow(kind)
      const isMoved = start.throughSequence !== first.throughSequence
      // What begins before the first beginning has the states there, which are gone once it moves.
      const isGone = isMoved && (isBefore || beforeTime <= start.removedThrough)
      if (isGone || throughSequence < start.throughSequence) throw this.#source.outran()
      try {
        const answer = read(isBefore ? { throughSequence: start.throughSequence } : limit)
        if (this.#source.beginningNow(kind).throughSequence === start.throughSequence) return answer
      } catch (error) {
        if (!(error instanceof RetentionOutranError)) throw error
      }
      if (attempt === ATTEMPTS) throw this.#source.outran()
    }
  }

  /** Last event of each object among those that were removed after `sequence`, oldest first. */
  #remainsAfter(kind: KindKey, sequence: number): ReadonlyArray<ObjectStates> {
    const { throughSequence } = this.#source.beginningNow(kind)
    if (throughSequence <= sequence) return []
    const steps: Array<ObjectStates> = []
    let covered = sequence
    reading(this.#directory, () =>
      unlessDamaged(() => {
        for (const row of this.#remains.all(kind.id, sequence)) {
          if (row.isSound !== 1 || row.afterSequence > covered) break
          steps.push(this.#statesIn(row))
          covered = row.throughSequence
        }
      }),
    )
    if (covered >= throughSequence) return steps
    if (this.#source.beginningNow(kind).throughSequence !== throughSequence) throw this.#source.outran()
    this.#source.loseBeginning(kind)
    return steps
  }

  /**
   * The checkpoints from which states at the limit are built. A damaged one, and those that build on it, are left out: everything that they
   * contain is in blocks as well.
   */
  chainBefore(kind: KindKey, limit: HistoryLimit): CheckpointChain {
    const { beforeTime = NEVER, times = "happened" } = limit
    return reading(this.#directory, () => {
      for (let through = limit.throughSequence; ; ) {
        const full = this.#lastFull[times].get(kind.id, through, beforeTime)
        if (full === undefined) return { throughSequence: 0, steps: [] }
        const chain = this.#soundChain(
          this.#chain[times].iterate(kind.id, full.through, limit.throughSequence, beforeTime),
        )
        if (chain.steps.length > 0) return chain
        through = full.through - 1
      }
    })
  }

  /** The checkpoints up to the first that is damaged or does not continue the one before. */
  #soundChain(rows: Iterable<CheckpointRow>): CheckpointChain {
    const steps: Array<ObjectStates> = []
    let throughSequence = 0
    unlessDamaged(() => {
      for (const row of rows) {
        const continues =
          steps.length === 0 ? row.isFull === 1 : row.isFull === 0 && row.afterSequence === throughSequence
        if (row.isSound !== 1 || !continues) break
        steps.push(this.#statesIn(row))
        throughSequence = row.throughSequence
      }
    })
    return { throughSequence, steps }
  }

  #statesIn(row: CheckpointRow): ObjectStates {
    return decodeStates(unpack({ ...row, bytes: nearBlob(this.#directory, row.bytes, row.checksum) }))
  }
}

/** A checkpoint with its states, and whether it is as it was written: 1. */
interface CheckpointRow extends Packed {
  readonly throughSequence: number
  readonly isFull: number
  readonly afterSequence: number
  readonly isSound: number
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

// The live objects of one kind, from which its next watcher detects what changed while it was not watched.

/** One object with its last state. */
export interface LiveObject {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** An integer, or the text of an opaque version. */
  readonly version: ResourceVersion | string
  /** The two halves of the fingerprint, unsigned 32-bit integers. */
  readonly fingerprintLow: number
  readonly fingerprintHigh: number
}

const BATCH_OBJECTS = 1024

/**
 * Objects alive after `throughSequence`, in batches ordered by number. Memory: 33 bytes for each object of the kind until the last batch is
 * read, and one batch of names.
 */
export function* liveObjectsOf(
  database: Connection,
  directory: string,
  history: StateHistory,
  kind: KindKey,
  throughSequence: number,
): Generator<ReadonlyArray<LiveObject>, void, void> {
  const names = new ObjectNames(database, directory)
  const states = history.aliveAt(kind, { throughSequence })
  for (let start = 0; start < states.count; start += BATCH_OBJECTS) {
    const batch: Array<LiveObject> = []
    for (let index = start; index < Math.min(start + BATCH_OBJECTS, states.count); index++) {
      const { number, uid, namespace, name } = names.nameOf(kind.id, states.numbers[index] as number)
      const fingerprintLow = states.fingerprintsLow[index] as number
      const fingerprintHigh = states.fingerprintsHigh[index] as number
      batch.push({ number, uid, namespace, name, version: states.version(index), fingerprintLow, fingerprintHigh })
    }
    yield batch
  }
}
