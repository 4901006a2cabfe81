/** Reads rows of the table `block`, whichever form their BLOBs have. */

import { readTable, unpackChecked } from "./block.ts"
import type { BlockFrame } from "./block-frame.ts"
import { checkColumn, unpackColumn } from "./block-rows.ts"
import { readMergedTable } from "./merged/merged-table.ts"
import { ObjectIndex } from "./merged/object-index.ts"
import { type ObjectBytes, type PieceDirectory, PiecedObjects, WholeObjects } from "./object-bytes.ts"

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
