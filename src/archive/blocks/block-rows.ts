/** Writes blocks into their tables. Everything here runs inside the commit's transaction. */

import type { DatabaseSync } from "node:sqlite"
import { isDamage, unlessDamaged } from "../directory/archive-errors.ts"
import { type Connection, prepare, rowsOf, type Statement } from "../tables/database.ts"
import { rowWriter } from "../tables/tables.ts"
import {
  type BlockSummary,
  type KindRange,
  type Packed,
  type PackedBlock,
  readTable,
  requireChecksum,
  unpack,
  unpackChecked,
} from "./block.ts"
import type { BlockFrame } from "./block-frame.ts"
import { readMergedTable } from "./merged-table.ts"
import { type ObjectBytes, type PieceDirectory, PiecedObjects, WholeObjects } from "./object-bytes.ts"
import { ObjectIndex } from "./object-index.ts"
import type { OpenBlock } from "./open-block.ts"

/** `sealed` of a block with its objects in pieces (merged-block.ts). */
const MERGED = 2

interface KindRow extends KindRange {
  readonly kind: number
}

/** Inserts blocks, and parts of the open block. */
export class BlockRows {
  readonly #insertBlock: (row: Readonly<Record<string, unknown>>) => void
  readonly #insertKind: (row: Readonly<Record<string, unknown>>) => void
  readonly #deleteParts: Statement<never>
  readonly #deleteKind: Statement<never>
  readonly #deleteSealed: Statement<never>
  readonly #deleteKinds: Statement<never>
  readonly #mergedKinds: Statement<KindRow>

  constructor(database: Connection) {
    this.#insertBlock = rowWriter(database, "block", { blobs: ["toc", "data"] })
    this.#insertKind = rowWriter(database, "block_kind")
    const inRange = "last_sequence >= ? AND last_sequence <= ?"
    this.#deleteParts = prepare(database, `DELETE FROM block WHERE ${inRange} AND sealed = 0`)
    this.#deleteKind = prepare(database, `DELETE FROM block_kind WHERE kind = ? AND ${inRange}`)
    this.#deleteSealed = prepare(database, `DELETE FROM block WHERE ${inRange}`)
    // By kind, because that is the key: without the names of kinds, all rows would be read.
    const inKinds = `kind IN (SELECT id FROM kind) AND ${inRange}`
    this.#deleteKinds = prepare(database, `DELETE FROM block_kind WHERE ${inKinds}`)
    this.#mergedKinds = prepare(
      database,
      `SELECT kind, min(min_time) AS minTime, max(max_time) AS maxTime, max(max_received) AS maxReceived,
        sum(events) AS events, sum(bytes) AS bytes
      FROM block_kind WHERE ${inKinds} GROUP BY kind`,
    )
  }

  insertSealed(block: PackedBlock): void {
    this.#insert(block, 1)
  }

  insertPart(block: PackedBlock): void {
    this.#insert(block, 0)
  }

  deletePartsOf(sealed: BlockSummary): void {
    this.#deleteParts.run(sealed.firstSequence, sealed.lastSequence)
    for (const kind of sealed.kinds.keys()) this.#deleteKind.run(kind, sealed.firstSequence, sealed.lastSequence)
  }

  /** Puts what retention has left of blocks in their place. The rows of the kinds that it still has changes of stay as they are. */
  insertCarried(block: PackedBlock, carried: number): void {
    this.#insertRow(block, MERGED, carried)
  }

  replaceByMerged(block: PackedBlock): void {
    const { firstSequence, lastSequence } = block.summary
    this.#deleteSealed.run(firstSequence, lastSequence)
    const kinds = this.#mergedKinds.all(firstSequence, lastSequence)
    this.#deleteKinds.run(firstSequence, lastSequence)
    this.#insertRow(block, MERGED, 0)
    for (const row of kinds) this.#insertKind({ ...row, lastSequence })
  }

  #insert(block: PackedBlock, sealed: 0 | 1): void {
    this.#insertRow(block, sealed, 0)
    const { lastSequence, kinds } = block.summary
    for (const [kind, range] of kinds) this.#insertKind({ ...range, kind, lastSequence })
  }

  #insertRow({ summary, toc, data }: PackedBlock, sealed: 0 | 1 | typeof MERGED, carried: number): void {
    this.#insertBlock({
      ...{ ...summary, sealed, carried, toc: toc.bytes, data: data.bytes },
      ...{ tocSize: toc.size, tocChecksum: toc.checksum, dataSize: data.size, dataChecksum: data.checksum },
    })
  }
}

/**
 * Continues with the open block of an earlier process. If a part of it is damaged, all parts stay blocks of their own,
 * and a new block begins: the damage is then confined to that part.
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
  const parts = rowsOf<BlockRow>(database, `SELECT ${blockFields} FROM block WHERE sealed = 0 ORDER BY last_sequence`)
  for (const row of parts) open.restore(unpack(tocOf(row)), unpack(dataOf(row)), kindOf)
}

/** A row of the table `block`, as far as its table of contents goes. */
export interface TableRow {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly tocSize: number
  readonly tocChecksum: number
  readonly toc: Uint8Array
}

/** The columns of {@link TableRow}. */
export const tableFields =
  "first_sequence AS firstSequence, last_sequence AS lastSequence, toc_size AS tocSize, toc_checksum AS tocChecksum, toc"

/** A row with its objects. */
export interface BlockRow extends TableRow {
  readonly dataSize: number
  readonly dataChecksum: number
  readonly data: Uint8Array
}

/** The columns of {@link BlockRow}. */
export const blockFields = `${tableFields}, data_size AS dataSize, data_checksum AS dataChecksum, data`

const tocOf = ({ toc, tocSize, tocChecksum }: TableRow): Packed => ({
  bytes: toc,
  size: tocSize,
  checksum: tocChecksum,
})

const dataOf = ({ data, dataSize, dataChecksum }: BlockRow): Packed => ({
  ...{ bytes: data, size: dataSize, checksum: dataChecksum },
})

/** Checks both BLOBs of a row without unpacking them. @throws MalformedFrameError */
export const checkBlobs = (row: BlockRow): void => {
  requireChecksum(row.toc, row.tocChecksum)
  requireChecksum(row.data, row.dataChecksum)
}

/** The BLOB with the objects of a row; `undefined`: it is damaged. */
export const soundData = (row: BlockRow): Uint8Array | undefined =>
  unlessDamaged(() => {
    requireChecksum(row.data, row.dataChecksum)
    return row.data
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

/**
 * Reads the table of contents of a row. `data` reads the BLOB with the block's objects, for what of its events stands behind them; `undefined`: it is
 * damaged. @throws MalformedFrameError or an error of zlib
 */
export const tableOf = (row: TableRow, data: () => Uint8Array | undefined): BlockTable => {
  const { firstSequence, lastSequence, toc, tocSize, tocChecksum: checksum } = row
  requireChecksum(toc, checksum)
  const index = ObjectIndex.of(toc)
  const bytes = unpackChecked(index === undefined ? toc : toc.subarray(index.byteLength), tocSize)
  const position = { firstSequence, lastSequence, checksum }
  return index === undefined
    ? { ...position, frames: readTable(bytes), pieces: undefined, fingerprintBytes: 0 }
    : { ...position, ...readMergedTable(bytes, index, data) }
}

/** Reads the objects of a row, those of a merged block as they are asked for. @throws MalformedFrameError or an error of zlib */
export const objectsOf = (
  row: BlockRow,
  { pieces, fingerprintBytes }: Pick<BlockTable, "pieces" | "fingerprintBytes">,
): ObjectBytes => {
  if (pieces === undefined) return new WholeObjects(unpack(dataOf(row)))
  requireChecksum(row.data, row.dataChecksum)
  return new PiecedObjects(row.data.subarray(0, row.data.length - fingerprintBytes), pieces)
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

// Once for each event that is read: with a function for each comparison it took a third longer.
const frameBefore = (frames: ReadonlyArray<BlockFrame>, sequence: number): ReadonlyArray<BlockFrame> => {
  let low = 0
  let high = frames.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((frames[middle]?.firstSequence ?? 0) <= sequence) low = middle
    else high = middle - 1
  }
  const frame = frames[low]
  return frame === undefined ? [] : [frame]
}
