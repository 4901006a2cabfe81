/**
 * Merges sealed blocks, some at a time, into larger ones with their objects sorted: what was recorded then takes half of the room, and the history of an
 * object is in one place of each.
 *
 * A block is merged once. Steps of some tenths of a ms, between which the writer commits; what is read between them does not change, because retention takes its
 * turns before and after. The new block takes the place of the others in one transaction.
 *
 * Memory: the unpacked blocks, 8 MiB, and 50 bytes for each of their events.
 */

import { type BlockRow, BlockRows, blockFields, objectsOf, tableOf } from "../blocks/block-rows.ts"
import { MergedBlock, type NamesOf } from "../blocks/merged-block.ts"
import type { ObjectBytes } from "../blocks/object-bytes.ts"
import { unlessDamaged } from "../directory/archive-errors.ts"
import { knownNamesOf } from "../rows/object-rows.ts"
import { type Connection, prepare, rowsInPages, type Statement } from "../tables/database.ts"
import { fieldsOf, isSoundRow } from "../tables/tables.ts"

/** When there is enough for a merged block. */
export interface MergingBounds {
  /**
   * Bytes of objects. With 4 MiB a change of the benchmarks takes 19 bytes, with 8 MiB 17, with 16 MiB 15.5; but a
   * reader in the order of time has all of a block in memory.
   */
  readonly objectBytes: number
  /** Bytes on disk: objects that hardly compress take as long to write as they are large. */
  readonly storedBytes: number
  /** Bytes of tables of contents, before compression: of at most 25,000 events. */
  readonly tableBytes: number
  /** Blocks: after many restarts there are small ones. */
  readonly blocks: number
  /** Merged blocks in one round, so that retention has its turn. */
  readonly perRound: number
}

export const mergingBounds: MergingBounds = {
  ...{ objectBytes: 8 * 1024 * 1024, storedBytes: 1536 * 1024, tableBytes: 512 * 1024, blocks: 256, perRound: 16 },
}

/** Blocks that follow one another. */
interface Run {
  readonly keys: ReadonlyArray<number>
  readonly firstSequence: number
  readonly lastSequence: number
}

/** `stored`: bytes on disk. */
interface MergeableRow extends Omit<BlockRow, "toc" | "data"> {
  readonly minTime: number
  readonly maxTime: number
  readonly sealed: number
  readonly carried: number
  readonly stored: number
  readonly isSound: number
}

/** Rows per fetch. */
const pageRows = 64

/** Works through the writer's connection. */
export class BlockMerging {
  readonly #bounds: MergingBounds
  readonly #rows: BlockRows
  readonly #namesOf: NamesOf
  readonly #page: Statement<MergeableRow>
  readonly #block: Statement<BlockRow>
  readonly #transaction: (write: () => void) => void
  /** Everything up to here is merged, or stays as it is. */
  #position = 0
  #merged = 0

  /** `transaction` runs what writes, in one transaction. */
  constructor(database: Connection, transaction: (write: () => void) => void, bounds: MergingBounds = mergingBounds) {
    this.#bounds = bounds
    this.#transaction = transaction
    this.#rows = new BlockRows(database)
    this.#namesOf = knownNamesOf(database)
    this.#page = prepare(
      database,
      `SELECT ${fieldsOf("block")}, length(toc) + length(data) AS stored, ${isSoundRow("block")} AS isSound
      FROM block WHERE last_sequence > ? ORDER BY last_sequence LIMIT ${pageRows}`,
    )
    this.#block = prepare(database, `SELECT ${blockFields} FROM block WHERE last_sequence = ?`)
  }

  /** Merged blocks that were made since the writer was opened. */
  get merged(): number {
    return this.#merged
  }

  /**
   * `after`: up to here retention has removed events of some kind, and blocks are its own. `through`: blocks that end later stay as they are. `spanMicros`:
   * time that a merged block may span, so that what expires in it need not wait for the rest.
   *
   * @throws what SQLite throws
   */
  *round(after: number, through: number, spanMicros: number): Generator<void, void, void> {
    this.#position = Math.max(this.#position, after)
    for (let made = 0; made < this.#bounds.perRound; made++) {
      const run = this.#next(through, spanMicros)
      if (run === undefined) return
      yield* this.#merge(run)
    }
  }

  /** The next blocks of which there are enough. */
  #next(through: number, spanMicros: number): Run | undefined {
    let [keys, firstSequence, minTime]: [number[], number, number] = [[], 0, 0]
    let [objects, stored, tables] = [0, 0, 0]
    const bounds = this.#bounds
    const run = (): Run => ({ keys, firstSequence, lastSequence: keys.at(-1) ?? 0 })
    for (const row of rowsInPages(pageRows, (last: MergeableRow | undefined) =>
      this.#page.all(last?.lastSequence ?? this.#position),
    )) {
      const key = row.lastSequence
      if (key > through || (row.sealed === 0 && row.isSound === 1)) return undefined
      const isLone = keys.length > 0 && row.maxTime - minTime > spanMicros
      if (isLone && keys.length > 1) return run()
      // What a damaged row says must not get a checksum that is right.
      const isMergeable = row.sealed === 1 && row.carried === 0 && row.isSound === 1
      if (isLone || !isMergeable) {
        this.#position = isMergeable ? (keys[0] ?? key) : key
        ;[keys, objects, stored, tables] = [[], 0, 0, 0]
        if (!isMergeable) continue
      }
      if (keys.length === 0) ({ firstSequence, minTime } = row)
      keys.push(key)
      objects += row.dataSize
      stored += row.stored
      tables += row.tocSize
      const isEnough =
        objects >= bounds.objectBytes ||
        stored >= bounds.storedBytes ||
        tables >= bounds.tableBytes ||
        keys.length >= bounds.blocks
      if (isEnough) return run()
    }
    return undefined
  }

  *#merge({ keys, firstSequence, lastSequence }: Run): Generator<void, void, void> {
    const merged = new MergedBlock(this.#namesOf)
    const read: ObjectBytes[] = []
    try {
      for (const key of keys) {
        const isSound = unlessDamaged(() => {
          const row = this.#block.get(key)
          if (row === undefined) return false
          const table = tableOf(row, () => row.data)
          const objects = objectsOf(row, table)
          read.push(objects)
          for (const frame of table.frames) merged.add(frame, objects)
          return true
        })
        if (isSound !== true) {
          // Readers name what they cannot read of it. The blocks before it stay as they are, too.
          this.#position = key
          return
        }
        yield
      }
      const packed = yield* merged.packing(firstSequence, lastSequence)
      this.#transaction(() => this.#rows.replaceByMerged(packed))
      this.#position = lastSequence
      this.#merged++
    } finally {
      for (const objects of read) objects.release()
    }
    yield
  }
}
