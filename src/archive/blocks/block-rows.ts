/** Writes blocks into their tables. Everything here runs inside the commit's transaction. */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import { isDamage } from "../archive-errors.ts"
import { type BlockSummary, type PackedBlock, requireChecksum, unpack } from "./block.ts"
import type { OpenBlock } from "./open-block.ts"

/** `sealed` of a block with its objects in pieces (merged-block.ts). */
const MERGED = 2

type Sealed = 0 | 1 | typeof MERGED

/** Inserts blocks, and parts of the open block. */
export class BlockRows {
  readonly #insertBlock: StatementSync
  readonly #insertKind: StatementSync
  readonly #deleteParts: StatementSync
  readonly #deleteKind: StatementSync
  readonly #deleteSealed: StatementSync
  readonly #deleteKinds: StatementSync
  readonly #mergedKinds: StatementSync

  constructor(database: DatabaseSync) {
    this.#insertBlock = database.prepare(`
      INSERT INTO block (last_sequence, first_sequence, min_time, max_time, events, sealed, carried, toc_size,
        toc_checksum, data_size, data_checksum, toc, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#insertKind = database.prepare(
      "INSERT INTO block_kind (kind, last_sequence, min_time, max_time, max_received, events, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    this.#deleteParts = database.prepare(
      "DELETE FROM block WHERE last_sequence >= ? AND last_sequence <= ? AND sealed = 0",
    )
    this.#deleteKind = database.prepare(
      "DELETE FROM block_kind WHERE kind = ? AND last_sequence >= ? AND last_sequence <= ?",
    )
    this.#deleteSealed = database.prepare("DELETE FROM block WHERE last_sequence >= ? AND last_sequence <= ?")
    // By kind, because that is the key: without the names of kinds, all rows would be read.
    const inKinds = "kind IN (SELECT id FROM kind) AND last_sequence >= ? AND last_sequence <= ?"
    this.#deleteKinds = database.prepare(`DELETE FROM block_kind WHERE ${inKinds}`)
    this.#mergedKinds = database.prepare(`
      SELECT kind, min(min_time) AS min_time, max(max_time) AS max_time, max(max_received) AS max_received,
        sum(events) AS events, sum(bytes) AS bytes
      FROM block_kind WHERE ${inKinds} GROUP BY kind`)
  }

  /** Adds a sealed block. */
  insertSealed(block: PackedBlock): void {
    this.#insert(block, 1)
  }

  /** Adds what a commit stores of the open block. */
  insertPart(block: PackedBlock): void {
    this.#insert(block, 0)
  }

  /** Removes the parts that a sealed block replaces. */
  deletePartsOf(sealed: BlockSummary): void {
    this.#deleteParts.run(sealed.firstSequence, sealed.lastSequence)
    for (const kind of sealed.kinds.keys()) this.#deleteKind.run(kind, sealed.firstSequence, sealed.lastSequence)
  }

  /** Puts what retention has left of blocks in their place. The rows of the kinds that it still has changes of stay as they are. */
  insertCarried(block: PackedBlock, carried: number): void {
    this.#insertRow(block, MERGED, carried)
  }

  /** Puts what sealed blocks were merged into in their place. */
  replaceByMerged(block: PackedBlock): void {
    const { firstSequence, lastSequence } = block.summary
    this.#deleteSealed.run(firstSequence, lastSequence)
    const kinds = this.#mergedKinds.all(firstSequence, lastSequence)
    this.#deleteKinds.run(firstSequence, lastSequence)
    this.#insertRow(block, MERGED, 0)
    for (const { kind, min_time, max_time, max_received, events, bytes } of kinds)
      this.#insertKind.run(...([kind, lastSequence, min_time, max_time, max_received, events, bytes] as number[]))
  }

  #insert(block: PackedBlock, sealed: Sealed): void {
    this.#insertRow(block, sealed, 0)
    const { lastSequence, kinds } = block.summary
    for (const [kind, range] of kinds) {
      const { minTime, maxTime, maxReceived, events, bytes } = range
      this.#insertKind.run(kind, lastSequence, minTime, maxTime, maxReceived, events, bytes)
    }
  }

  #insertRow({ summary, toc, data }: PackedBlock, sealed: Sealed, carried: number): void {
    const { firstSequence, lastSequence, minTime, maxTime, events } = summary
    const content = [toc.size, toc.checksum, data.size, data.checksum, toc.bytes, data.bytes] as const
    this.#insertBlock.run(lastSequence, firstSequence, minTime, maxTime, events, sealed, carried, ...content)
  }
}

/**
 * Goes on with the open block of an earlier process. If a part of it is damaged, all of them stay blocks of their own, and a new block begins: the
 * damage is then confined to that part.
 */
export const restoreOrSeal = (database: DatabaseSync, open: OpenBlock, kindOf: (gvk: string) => number): void => {
  try {
    restoreOpenBlock(database, open, kindOf)
  } catch (error) {
    if (!isDamage(error)) throw error
    open.clear()
    database.exec("UPDATE block SET sealed = 1 WHERE sealed = 0")
  }
}

/** Fills a fresh open block with the parts that an earlier process committed. @throws MalformedFrameError or an error of zlib */
const restoreOpenBlock = (database: DatabaseSync, open: OpenBlock, kindOf: (gvk: string) => number): void => {
  const parts = database
    .prepare(`
      SELECT toc, toc_size, toc_checksum, data, data_size, data_checksum FROM block
      WHERE sealed = 0 ORDER BY last_sequence`)
    .all()
  for (const row of parts) open.restore(unpackColumn(row, "toc"), unpackColumn(row, "data"), kindOf)
}

/** Checks the BLOB of a column without unpacking it. @throws MalformedFrameError */
export const checkColumn = (row: Record<string, unknown>, column: "toc" | "data" | "states"): void =>
  requireChecksum(row[column] as Uint8Array, row[`${column}_checksum`] as number)

/** Whether {@link checkColumn} finds it damaged. */
export const isDamagedColumn = (row: Record<string, unknown>, column: "toc" | "data" | "states"): boolean => {
  try {
    checkColumn(row, column)
    return false
  } catch (error) {
    if (isDamage(error)) return true
    throw error
  }
}

/** Reads the BLOB of a column that has its size and checksum beside it. @throws what {@link unpack} throws */
export const unpackColumn = (row: Record<string, unknown>, column: "toc" | "data" | "states"): Buffer =>
  unpack({
    bytes: row[column] as Uint8Array,
    size: row[`${column}_size`] as number,
    checksum: row[`${column}_checksum`] as number,
  })
