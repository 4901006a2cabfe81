/**
 * Blocks by sequence number, as the rows of a database have them: tables of contents, and events with their objects.
 *
 * A row may be replaced between two statements (block-source.ts): what is kept of it is used only while the row has its checksum.
 *
 * Memory: tables of contents and payloads are kept in two small caches, bounded by count and by bytes.
 */

import { CorruptArchiveError, confined, type RetentionOutranError, reading } from "../directory/archive-errors.ts"
import { type Connection, prepare, type Statement } from "../tables/database.ts"
import { isMirror } from "../tables/reading-access.ts"
import { isSoundRow } from "../tables/tables.ts"
import type { BlockFrame } from "./block-frame.ts"
import {
  type BlockData,
  type BlockRow,
  type BlockTable,
  blockFields,
  checkBlobs,
  objectsOf,
  placeOf,
  soundData,
  type TableRow,
  tableFields,
  tableOf,
} from "./block-rows.ts"
import { expectBlobs, farBlobIn, nearBlob } from "./far-blobs.ts"
import { indexHeadBytes, ObjectIndex, type WantedObjects } from "./object-index.ts"

// Unpacked blocks that are kept for a while: tables of contents, bounded by count, and blocks with their objects, bounded by bytes.

/** Tables of contents cached: kinds that are merged are in neighbouring blocks, each some 10 KB and 30 decoded frames. */
const CACHED_TABLES = 16

/** Tables of sealed blocks, by the key of the block. */
export class TableCache {
  readonly #tables = new Map<number, BlockTable>()

  get(key: number): BlockTable | undefined {
    return this.#tables.get(key)
  }

  /** Drops the oldest when there are too many. */
  keep(table: BlockTable): void {
    if (this.#tables.size >= CACHED_TABLES) this.#tables.delete(this.#tables.keys().next().value ?? 0)
    this.#tables.set(table.lastSequence, table)
  }
}

/**
 * Events read from the same block, one after the other, after which the blocks before it are held to the limit as well. Until then the block used before it
 * is kept whatever it takes, because kinds that are merged alternate. A question whose events are in one block after the other kept two of 8 MB, and eight
 * such questions at once 150 MB; with the limit in time it is half of that.
 */
const SETTLED_READS = 64

/** Blocks with their objects. What is evicted loses its memory at once, so no views of it may be in use. */
export class BlockCache {
  readonly #limit: number
  /** Least recently used first, as a Map iterates. */
  readonly #blocks = new Map<number, BlockData>()
  #latest: BlockData | undefined
  /** Events read from the latest block without a look at another. */
  #reads = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The block that contains an event; `undefined`: it is not kept. */
  at(sequence: number): BlockData | undefined {
    const latest = this.#latest
    if (latest !== undefined && latest.firstSequence <= sequence && sequence <= latest.lastSequence) {
      if (++this.#reads === SETTLED_READS) this.#evict(0)
      return latest
    }
    for (const [key, block] of this.#blocks) {
      if (block.firstSequence > sequence || sequence > block.lastSequence) continue
      this.#blocks.delete(key)
      this.#blocks.set(key, block)
      this.#latest = block
      this.#reads = 0
      return block
    }
    return undefined
  }

  /** Evicts what there is no room for, except the block used last. */
  keep(block: BlockData): void {
    // A block may have been cached as a part, before it was sealed.
    this.#forget(block.lastSequence)
    this.#evict(block.objects.heldBytes)
    this.#blocks.set(block.lastSequence, block)
    this.#latest = block
    this.#reads = 0
  }

  /** Makes room for that many bytes more, oldest first, but keeps the block used last. */
  #evict(more: number): void {
    let bytes = more
    // What merged blocks hold grows while they are read.
    for (const { objects } of this.#blocks.values()) bytes += objects.heldBytes
    for (const [key, oldest] of this.#blocks) {
      if (bytes <= this.#limit) break
      if (oldest === this.#latest) continue
      bytes -= oldest.objects.heldBytes
      this.#forget(key)
    }
  }

  #forget(key: number): void {
    const block = this.#blocks.get(key)
    if (block === undefined) return
    this.#blocks.delete(key)
    block.objects.release()
  }
}

/** An event found by its sequence number. */
export interface EventPlace {
  readonly frame: BlockFrame
  readonly index: number
  /** The object's bytes, of a merged block as it has them: a view into a cached block, valid until that block is evicted. */
  readonly stored: Uint8Array
}

/** Objects whose events are looked for. */
export interface SoughtObjects extends WantedObjects {
  /** The objects themselves are not asked for next. */
  readonly onlyTables?: boolean
}

interface BlockPlace {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly tocChecksum: number
}

interface Stored {
  /** 0: a part of the open block. */
  readonly sealed: number
  /** 1, if the row is as it was written. */
  readonly isSound: number
}

/** Reads the blocks of one database connection. */
export class StoredBlocks {
  readonly #directory: string
  readonly #ifOutran: () => RetentionOutranError | undefined
  readonly #place: Statement<BlockPlace>
  readonly #table: Statement<TableRow & Stored>
  readonly #head: Statement<Stored & { readonly firstSequence: number; readonly head: Uint8Array }>
  readonly #data: Statement<BlockRow & Stored>
  readonly #tables = new TableCache()
  readonly #blocks: BlockCache
  readonly #isMirror: boolean

  /** `cachedBytes`: of payloads, but at least one block of any size is kept. `ifOutran`: why a block may be missing that was there. */
  constructor(
    database: Connection,
    directory: string,
    options: { readonly cachedBytes: number; readonly ifOutran: () => RetentionOutranError | undefined },
  ) {
    this.#directory = directory
    this.#isMirror = isMirror(directory)
    this.#ifOutran = options.ifOutran
    this.#blocks = new BlockCache(options.cachedBytes)
    const from = (columns: string): string =>
      `SELECT ${columns}, sealed, ${isSoundRow("block")} AS isSound FROM block WHERE last_sequence >= ? ORDER BY last_sequence LIMIT 1`
    this.#place = prepare(
      database,
      `SELECT first_sequence AS firstSequence, last_sequence AS lastSequence, toc_checksum AS tocChecksum FROM block
      WHERE last_sequence >= ? ORDER BY last_sequence LIMIT 1`,
    )
    this.#table = prepare(database, from(tableFields))
    this.#head = prepare(database, from(`first_sequence AS firstSequence, substr(toc, 1, ${indexHeadBytes}) AS head`))
    this.#data = prepare(database, from(blockFields))
  }

  /** The first block that ends at or after an event; `undefined`: there is none. */
  rangeFrom(sequence: number): Pick<BlockTable, "firstSequence" | "lastSequence"> | undefined {
    return this.#reading(() => this.#place.get(sequence))
  }

  /** Table of the block that contains an event. @throws CorruptArchiveError if no block does. */
  tableAt(sequence: number): BlockTable {
    const cached = this.#cachedAt(sequence)
    if (cached !== undefined) return cached
    const row = this.#reading(() => this.#table.get(sequence))
    if (row === undefined || row.firstSequence > sequence) throw this.#missing(sequence)
    this.#requireSound(row)
    const table = this.#reading(() => tableOf(this.#near(row), this.#dataOf(row)))
    // The last part of a block has the key that the sealed block will have, but less content: it must not be cached.
    if (row.sealed !== 0) this.#tables.keep(table)
    return table
  }

  /** The same; `undefined`: the block has none of the objects that are wanted. Default: all are. */
  tableHolding(sequence: number, wanted?: SoughtObjects): BlockTable | undefined {
    if (wanted === undefined) return this.tableAt(sequence)
    const cached = this.#cachedAt(sequence)
    if (cached !== undefined) return cached
    const head = this.#headAt(sequence)
    if (head !== undefined && this.#reading(() => ObjectIndex.of(head)?.mayHold(wanted)) === false) return undefined
    // Most blocks of a mirror have none of the objects, and their tables alone are fetched to see it.
    if (wanted.onlyTables === true || this.#isMirror) return this.tableAt(sequence)
    // Its objects are asked for next. If they are damaged, the table may not be.
    const block = confined(() => this.#loadBlockAt(sequence))
    return typeof block === "string" ? this.tableAt(sequence) : block
  }

  #cachedAt(sequence: number): BlockTable | undefined {
    const cached = this.#tables.get(sequence)
    return cached !== undefined && this.#isPresent(cached) ? cached : undefined
  }

  /** The beginning of a table of contents, which may say that the block has none of the objects that are wanted. */
  #headAt(sequence: number): Uint8Array | undefined {
    const row = this.#reading(() => this.#head.get(sequence))
    // The whole table is then read, which says what is wrong.
    if (row === undefined || row.firstSequence > sequence || row.isSound !== 1) return undefined
    return row.head instanceof Uint8Array ? row.head : undefined
  }

  /** The tables of contents of these blocks are going to be read one after the other: those of a mirror are fetched together. */
  expect(keys: ReadonlyArray<number>): void {
    if (!this.#isMirror) return
    const heads = keys.flatMap((key) => (this.#tables.get(key) === undefined ? (this.#headAt(key) ?? []) : []))
    expectBlobs(this.#directory, heads)
  }

  #near<Row extends TableRow>(row: Row): Row {
    return this.#isMirror ? { ...row, toc: nearBlob(this.#directory, row.toc, row.tocChecksum) } : row
  }

  #nearData(row: BlockRow & Stored): BlockRow & Stored {
    return this.#isMirror ? { ...row, data: nearBlob(this.#directory, row.data, row.dataChecksum) } : row
  }

  /** A block that sealed blocks were merged into has the key of the last of them. */
  #isPresent({ lastSequence, checksum }: BlockTable): boolean {
    const row = this.#reading(() => this.#place.get(lastSequence))
    return row?.lastSequence === lastSequence && row.tocChecksum === checksum
  }

  /** An event with its object as it is stored: most read it with `readEvent`. @throws CorruptArchiveError if no block contains it. */
  eventAt(sequence: number): EventPlace {
    const block = this.#blocks.at(sequence) ?? this.#loadBlockAt(sequence)
    const place = placeOf(block, sequence)
    if (place === undefined) throw this.#missing(sequence)
    const { frame, index } = place
    const stored = this.#reading(() => block.objects.slice(frame.objectStart(index), frame.events.length(index)))
    return { frame, index, stored }
  }

  #loadBlockAt(sequence: number): BlockData {
    const block = this.#reading(() => {
      const row = this.#data.get(sequence)
      if (row === undefined || row.firstSequence > sequence) throw this.#missing(sequence)
      this.#requireSound(row)
      // The reader that found the event in a table of contents has just unpacked that table. Since then another block
      // may have replaced this one: with the old table, its objects would be cut from other bytes.
      const known = this.#tables.get(row.lastSequence)
      const isKnown = known !== undefined && known.checksum === row.tocChecksum
      const table = isKnown ? known : tableOf(this.#near(row), this.#dataOf(row))
      return { ...table, objects: objectsOf(this.#nearData(row), table) }
    })
    this.#blocks.keep(block)
    return block
  }

  /** What a table of contents needs of the block's other BLOB. It is read again: a table that is kept must not keep it. */
  #dataOf({ lastSequence, tocChecksum }: TableRow): () => Uint8Array | undefined {
    return () =>
      this.#reading(() => {
        const row = this.#data.get(lastSequence)
        if (row?.lastSequence !== lastSequence || row.tocChecksum !== tocChecksum) throw this.#missing(lastSequence)
        return soundData(this.#nearData(row))
      })
  }

  /** Reads all of the block with a key, but what a mirror has only in its store. @throws CorruptArchiveError if it is not as it was written */
  check(key: number): { readonly isSealed: boolean } {
    return this.#reading(() => {
      const row = this.#data.get(key)
      if (row === undefined || row.firstSequence > key) throw this.#missing(key)
      this.#requireSound(row)
      if (!this.#isMirror || (farBlobIn(row.toc) ?? farBlobIn(row.data)) === undefined) checkBlobs(row)
      return { isSealed: row.sealed !== 0 && row.lastSequence === key }
    })
  }

  #requireSound(row: TableRow & Stored): void {
    if (row.isSound !== 1) {
      const reason = `the row of the block up to event ${row.lastSequence} is damaged`
      throw new CorruptArchiveError({ directory: this.#directory, reason })
    }
  }

  #missing(sequence: number): CorruptArchiveError | RetentionOutranError {
    return (
      this.#ifOutran() ??
      new CorruptArchiveError({ directory: this.#directory, reason: `no block contains event ${sequence}` })
    )
  }

  #reading<Answer>(read: () => Answer): Answer {
    return reading(this.#directory, read)
  }
}
