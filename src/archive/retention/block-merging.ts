/**
 * Merges sealed blocks, some at a time, into larger ones with their objects sorted: what was recorded then takes half of the room, and the history of an
 * object is in one place of each.
 *
 * A block is merged once. Steps of some tenths of a ms, between which the writer commits; what is read between them does not change, because retention takes its
 * turns before and after. The new block takes the place of the others in one transaction.
 *
 * Memory: the unpacked blocks, 8 MiB, and 50 bytes for each of their events.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { BlockRows, objectsOf, tableOf } from "../blocks/block-rows.ts"
import { MergedBlock, type NamesOf } from "../blocks/merged-block.ts"
import type { ObjectBytes } from "../blocks/object-bytes.ts"
import { isDamage } from "../directory/archive-errors.ts"
import { knownNamesOf } from "../rows/object-rows.ts"
import { isSoundRow } from "../tables/tables.ts"

/** When there is enough for a merged block. */
export interface MergingBounds {
  /**
   * Bytes of objects. With 4 MiB a change of the benchmarks takes 19 bytes, with 8 MiB 17, with 16 MiB 15.5; but whoever reads in the order of time has all
   * of a block in memory.
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

/** Rows per fetch. */
const pageRows = 64

/** Works through the writer's connection. */
export class BlockMerging {
  readonly #bounds: MergingBounds
  readonly #rows: BlockRows
  readonly #namesOf: NamesOf
  readonly #page: StatementSync
  readonly #block: StatementSync
  readonly #transaction: (write: () => void) => void
  /** Everything up to here is merged, or stays as it is. */
  #position = 0
  #merged = 0

  /** `transaction` runs what writes, in one transaction. */
  constructor(database: DatabaseSync, transaction: (write: () => void) => void, bounds: MergingBounds = mergingBounds) {
    this.#bounds = bounds
    this.#transaction = transaction
    this.#rows = new BlockRows(database)
    this.#namesOf = knownNamesOf(database)
    this.#page = database.prepare(`
      SELECT last_sequence, first_sequence, min_time, max_time, sealed, carried, toc_size, data_size,
        length(toc) + length(data) AS stored, ${isSoundRow("block")} AS is_sound
      FROM block WHERE last_sequence > ? ORDER BY last_sequence LIMIT ${pageRows}`)
    this.#block = database.prepare(`
      SELECT first_sequence, last_sequence, toc_size, toc_checksum, toc, data_size, data_checksum, data FROM block
      WHERE last_sequence = ?`)
  }

  /** Merged blocks that were made since the writer was opened. */
  get merged(): number {
    return this.#merged
  }

  /**
   * `after`: up to here retention has removed events of some kind, and blocks are its own. `spanMicros`: time that a merged block may span, so that what
   * expires in it need not wait for the rest.
   *
   * @throws what SQLite throws
   */
  *round(after: number, spanMicros: number): Generator<void, void, void> {
    this.#position = Math.max(this.#position, after)
    for (let made = 0; made < this.#bounds.perRound; made++) {
      const run = this.#next(spanMicros)
      if (run === undefined) return
      yield* this.#merge(run)
    }
  }

  /** The next blocks of which there are enough. */
  #next(spanMicros: number): Run | undefined {
    let [keys, firstSequence, minTime]: [number[], number, number] = [[], 0, 0]
    let [objects, stored, tables] = [0, 0, 0]
    const bounds = this.#bounds
    const run = (): Run => ({ keys, firstSequence, lastSequence: keys.at(-1) as number })
    for (let after = this.#position; ; ) {
      const rows = this.#page.all(after)
      for (const row of rows) {
        const key = row.last_sequence as number
        if (row.sealed === 0 && row.is_sound === 1) return undefined
        const isLone = keys.length > 0 && (row.max_time as number) - minTime > spanMicros
        if (isLone && keys.length > 1) return run()
        // What a damaged row says must not get a checksum that is right.
        const isMergeable = row.sealed === 1 && row.carried === 0 && row.is_sound === 1
        if (isLone || !isMergeable) {
          this.#position = isMergeable ? (keys[0] as number) : key
          ;[keys, objects, stored, tables] = [[], 0, 0, 0]
          if (!isMergeable) continue
        }
        if (keys.length === 0) {
          firstSequence = row.first_sequence as number
          minTime = row.min_time as number
        }
        keys.push(key)
        objects += row.data_size as number
        stored += row.stored as number
        tables += row.toc_size as number
        const isEnough =
          objects >= bounds.objectBytes ||
          stored >= bounds.storedBytes ||
          tables >= bounds.tableBytes ||
          keys.length >= bounds.blocks
        if (isEnough) return run()
      }
      if (rows.length < pageRows) return undefined
      after = rows.at(-1)?.last_sequence as number
    }
  }

  *#merge({ keys, firstSequence, lastSequence }: Run): Generator<void, void, void> {
    const merged = new MergedBlock(this.#namesOf)
    const read: ObjectBytes[] = []
    try {
      for (const key of keys) {
        try {
          const row = this.#block.get(key) as Record<string, unknown>
          const table = tableOf(row)
          const objects = objectsOf(row, table)
          read.push(objects)
          for (const frame of table.frames) merged.add(frame, objects)
        } catch (error) {
          if (!isDamage(error)) throw error
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
