/**
 * Stores states of objects from time to time, so that starting a watcher or a snapshot need not read the whole history.
 *
 * Once 64 blocks since its last checkpoint contain a kind, with three events for each of its objects, the last event of each object changed in them becomes
 * a row: every 64 blocks, checkpoints of 100,000 objects were a quarter of a recording. When the changes since the last full row add up to as many objects
 * as it contains, or there are 32 rows, the state of every live object is written instead: each state is rewritten less than once per change of it, and a
 * start reads at most twice the live objects, 32 rows, and the tables of contents with three events for each. No memory is held per object: the rows are
 * computed from what is on disk.
 *
 * No checkpoint is written over a damaged block: exports after it would not know that states are missing.
 *
 * Why not one (object, block) row per object in a sealed block: docs/decisions/0003.
 */

import { type BlockSummary, type KindRange, pack } from "../blocks/block.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import type { KindKey } from "../rows/kind-table.ts"
import { type Connection, rowsOf } from "../tables/database.ts"
import { rowWriter } from "../tables/tables.ts"
import { encodeStates, mergeStates } from "./object-states.ts"
import { mergeAll, REMAINS, type StateHistory } from "./state-history.ts"

/** Blocks with a kind between two of its checkpoints, at least. */
export const BLOCKS_PER_CHECKPOINT = 64

/** Events of a kind between two of its checkpoints, at least, for each object alive. */
export const EVENTS_PER_OBJECT = 3

/** But no more than this: questions sort the events since a checkpoint. */
const MOST_EVENTS = 1 << 20

/** Rows of changes per full row: reading a row costs more than reading a few more states. */
const CHANGES_PER_FULL = 32

/** {@link BLOCKS_PER_CHECKPOINT} and {@link EVENTS_PER_OBJECT}, except in tests. */
interface CheckpointDistance {
  readonly blocksPerCheckpoint: number
  readonly eventsPerObject: number
}

interface Progress {
  readonly throughSequence: number
  /** Since the last checkpoint, as are the events. */
  readonly blocks: number
  readonly events: number
  readonly fullObjects: number
  readonly changedObjects: number
  readonly changeRows: number
}

const NO_PROGRESS: Progress = {
  throughSequence: 0,
  blocks: 0,
  events: 0,
  fullObjects: 0,
  changedObjects: 0,
  changeRows: 0,
}

/** Tracks each kind's distance from its last checkpoint. */
export class Checkpoints {
  readonly #source: BlockSource
  readonly #history: StateHistory
  readonly #distance: CheckpointDistance
  readonly #insert: (row: Readonly<Record<string, unknown>>) => void
  #progress = new Map<number, Progress>()

  constructor(database: Connection, source: BlockSource, history: StateHistory, distance: CheckpointDistance) {
    this.#source = source
    this.#history = history
    this.#distance = distance
    this.#insert = rowWriter(database, "checkpoint", { blobs: ["states"] })
    for (const { id } of rowsOf<{ readonly id: number }>(database, "SELECT id FROM kind"))
      this.#progress.set(id, readProgress(database, id))
  }

  /**
   * Writes the checkpoints that these blocks, just inserted, make due; inside the commit's transaction. Returns a function to call after
   * the commit; the checkpoints do not count before.
   */
  save(sealed: ReadonlyArray<BlockSummary>, kindOf: (id: number) => KindKey): () => void {
    const progress = new Map(this.#progress)
    for (const block of sealed) {
      for (const [id, range] of block.kinds) {
        const before = progress.get(id) ?? NO_PROGRESS
        const counted = { ...before, blocks: before.blocks + 1, events: before.events + range.events }
        const leastEvents = Math.min(this.#distance.eventsPerObject * before.fullObjects, MOST_EVENTS)
        const isDue = counted.blocks >= this.#distance.blocksPerCheckpoint && counted.events >= leastEvents
        progress.set(id, isDue ? this.#write(kindOf(id), counted, block.lastSequence, range) : counted)
      }
    }
    return () => {
      this.#progress = progress
    }
  }

  #write(kind: KindKey, progress: Progress, throughSequence: number, last: Readonly<KindRange>): Progress {
    const limit = { throughSequence }
    const changes = this.#history.changesSince(kind, progress.throughSequence, limit)
    const changedObjects = progress.changedObjects + changes.count
    const isFull =
      progress.throughSequence === 0 ||
      changedObjects >= progress.fullObjects ||
      progress.changeRows >= CHANGES_PER_FULL
    const chain = isFull ? this.#history.chainBefore(kind, limit) : undefined
    // A checkpoint that is damaged is not built upon: what it contains is read from blocks.
    const base = chain?.throughSequence ?? progress.throughSequence
    const later = base === progress.throughSequence ? changes : this.#history.changesSince(kind, base, limit)
    // States over a block whose table of contents is lost would pass for known.
    const isUnknown = this.#source.lacksTableAfter(kind, base) || this.#source.lostBeginningOf(kind) !== undefined
    if (isUnknown) return { ...progress, blocks: 0, events: 0 }
    const states = chain === undefined ? later : mergeStates(mergeAll(chain.steps), later, false)
    const { bytes, size, checksum } = pack(encodeStates(states))
    this.#insert({
      ...{
        kind: kind.id,
        throughSequence,
        lastTime: last.maxTime,
        lastReceived: last.maxReceived,
        isFull: isFull ? 1 : 0,
      },
      ...{ objects: states.count, afterSequence: progress.throughSequence },
      ...{ statesSize: size, statesChecksum: checksum, states: bytes },
    })
    return isFull
      ? { throughSequence, blocks: 0, events: 0, fullObjects: states.count, changedObjects: 0, changeRows: 0 }
      : { ...progress, throughSequence, blocks: 0, events: 0, changedObjects, changeRows: progress.changeRows + 1 }
  }
}

const readProgress = (database: Connection, kind: number): Progress => {
  const [last] = rowsOf<Omit<Progress, "blocks" | "events">>(
    database,
    `SELECT coalesce(max(change.through_sequence), last.through_sequence) AS throughSequence, last.objects AS fullObjects,
      coalesce(sum(change.objects), 0) AS changedObjects, count(change.kind) AS changeRows
    FROM (SELECT * FROM checkpoint WHERE kind = ?1 AND is_full = 1 ORDER BY through_sequence DESC LIMIT 1) AS last
    LEFT JOIN checkpoint AS change
      ON change.kind = ?1 AND change.through_sequence > last.through_sequence AND change.is_full < ${REMAINS}
    GROUP BY last.kind`,
    kind,
  )
  const progress = last === undefined ? NO_PROGRESS : { ...NO_PROGRESS, ...last }
  // Remains are as much to read as blocks.
  const [since] = rowsOf<Pick<Progress, "blocks" | "events">>(
    database,
    `SELECT count(*) + (SELECT count(*) FROM checkpoint WHERE kind = ?1 AND through_sequence > ?2 AND is_full = ${REMAINS}) AS blocks,
      coalesce(sum(events), 0) AS events FROM block_kind WHERE kind = ?1 AND last_sequence > ?2`,
    ...[kind, progress.throughSequence],
  )
  return { ...progress, ...since }
}
