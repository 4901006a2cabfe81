/** Writes blocks into their tables. Everything here runs inside the commit's transaction. */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { isDamage } from "../directory/archive-errors.ts"
import { type BlockSummary, type PackedBlock, readTable, requireChecksum, unpack, unpackChecked } from "./block.ts"
import type { BlockFrame } from "./block-frame.ts"
import { readMergedTable } from "./merged-table.ts"
import { type ObjectBytes, type PieceDirectory, PiecedObjects, WholeObjects } from "./object-bytes.ts"
import { ObjectIndex } from "./object-index.ts"
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

// Reads rows of the table `block`, whichever form their BLOBs have.

/** A table of contents with its position. */
export interface BlockTable {
  readonly firstSequence: number
  readonly lastSequence: number
  /** Of its bytes. Tables of one position are different if retention, or merging, has put another block in its place between them. */
  readonly checksum: number
  /** In sequence order; those of a merged block, by kind. */
  readonly frames: ReadonlyArray<BlockFrame>
  /** Of a merged block. */
  readonly pieces: PieceDirectory | undefined
  /** Bytes of fingerprints behind its objects. */
  readonly fingerprintBytes: number
}

/** A table of contents with its objects. */
export interface BlockData extends BlockTable {
  readonly objects: ObjectBytes
}

/** Reads the BLOB with a block's objects, for what of its events stands behind them; `undefined`: it is damaged. */
type DataOf = () => Uint8Array | undefined

/**
 * Reads the table of contents of a row. `dataOf`: by default that of the row. @throws MalformedFrameError or an error of zlib
 */
export const tableOf = (row: Record<string, unknown>, dataOf: DataOf = () => row.data as Uint8Array): BlockTable => {
  checkColumn(row, "toc")
  const toc = row.toc as Uint8Array
  const index = ObjectIndex.of(toc)
  const bytes = unpackChecked(index === undefined ? toc : toc.subarray(index.byteLength), row.toc_size as number)
  const position = {
    firstSequence: row.first_sequence as number,
    lastSequence: row.last_sequence as number,
    checksum: row.toc_checksum as number,
  }
  return index === undefined
    ? { ...position, frames: readTable(bytes), pieces: undefined, fingerprintBytes: 0 }
    : { ...position, ...readMergedTable(bytes, index, dataOf) }
}

/** Reads the objects of a row, those of a merged block as they are asked for. @throws MalformedFrameError or an error of zlib */
export const objectsOf = (
  row: Record<string, unknown>,
  { pieces, fingerprintBytes }: Pick<BlockTable, "pieces" | "fingerprintBytes">,
): ObjectBytes => {
  if (pieces === undefined) return new WholeObjects(unpackColumn(row, "data"))
  checkColumn(row, "data")
  const data = row.data as Uint8Array
  return new PiecedObjects(data.subarray(0, data.length - fingerprintBytes), pieces)
}

/** The frame with an event, and its index in it; `undefined`: the block does not have it. */
export const placeOf = (
  { frames, pieces }: BlockTable,
  sequence: number,
): { readonly frame: BlockFrame; readonly index: number } | undefined => {
  for (const frame of pieces === undefined ? frameBefore(frames, sequence) : frames) {
    const index = frame.indexOf(sequence)
    if (index >= 0) return { frame, index }
  }
  return undefined
}

/** The last frame that begins at or before an event, of those in sequence order. */
const frameBefore = (frames: ReadonlyArray<BlockFrame>, sequence: number): ReadonlyArray<BlockFrame> => {
  let low = 0
  let high = frames.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((frames[middle] as BlockFrame).firstSequence <= sequence) low = middle
    else high = middle - 1
  }
  const frame = frames[low]
  return frame === undefined ? [] : [frame]
}
