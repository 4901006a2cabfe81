/**
 * Unpacked blocks that are kept for a while: tables of contents, bounded by count, and blocks with their objects, bounded by bytes.
 */

import { type BlockFrame, readTable, unpackMargin } from "./block.ts"
import { unpackColumn } from "./block-rows.ts"

/** A table of contents with its position. */
export interface BlockTable {
  readonly firstSequence: number
  readonly lastSequence: number
  /** Of its bytes. Two tables of one block are different if retention has removed a part of it between them. */
  readonly checksum: number
  readonly frames: ReadonlyArray<BlockFrame>
}

/** A table of contents with its objects. */
export interface BlockData extends BlockTable {
  readonly payload: Buffer
}

/** Tables of contents cached: kinds that are merged are in neighbouring blocks, each some 10 KB and 30 decoded frames. */
const CACHED_TABLES = 16

/** Tables of sealed blocks, by the key of the block. */
export class TableCache {
  readonly #tables = new Map<number, BlockTable>()

  /** The table of the block with this key; `undefined`: it is not kept. */
  get(key: number): BlockTable | undefined {
    return this.#tables.get(key)
  }

  /** Drops the oldest when there are too many. */
  keep(table: BlockTable): void {
    if (this.#tables.size >= CACHED_TABLES) this.#tables.delete(this.#tables.keys().next().value ?? 0)
    this.#tables.set(table.lastSequence, table)
  }
}

/** Blocks with their objects. What is evicted loses its memory at once, so no views of it may be in use. */
export class BlockCache {
  readonly #limit: number
  /** Least recently used first, as a Map iterates. */
  readonly #blocks = new Map<number, BlockData>()
  #bytes = 0
  #latest: BlockData | undefined

  /** `limit`: bytes of objects, but at least one block of any size is kept. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** The block that contains an event; `undefined`: it is not kept. */
  at(sequence: number): BlockData | undefined {
    const latest = this.#latest
    if (latest !== undefined && latest.firstSequence <= sequence && sequence <= latest.lastSequence) return latest
    for (const [key, block] of this.#blocks) {
      if (block.firstSequence > sequence || sequence > block.lastSequence) continue
      this.#blocks.delete(key)
      this.#blocks.set(key, block)
      this.#latest = block
      return block
    }
    return undefined
  }

  /** Evicts what there is no room for, except the block used last. */
  keep(block: BlockData): void {
    // A block may have been cached as a part, before it was sealed.
    this.#forget(block.lastSequence)
    for (const [key, oldest] of this.#blocks) {
      if (this.#bytes + block.payload.length <= this.#limit) break
      if (oldest !== this.#latest) this.#forget(key)
    }
    this.#blocks.set(block.lastSequence, block)
    this.#bytes += block.payload.length
    this.#latest = block
  }

  #forget(key: number): void {
    const block = this.#blocks.get(key)
    if (block === undefined) return
    this.#bytes -= block.payload.length
    this.#blocks.delete(key)
    release(block.payload)
  }
}

/** Reads the table of contents of a row of `block`. @throws MalformedFrameError or an error of zlib */
export const tableOf = (row: Record<string, unknown>): BlockTable => ({
  firstSequence: row.first_sequence as number,
  lastSequence: row.last_sequence as number,
  checksum: row.toc_checksum as number,
  frames: readTable(unpackColumn(row, "toc")),
})

/** Bytes from which on Node certainly allocates separate memory for a Buffer. */
const ownBytes = 128 * 1024

/**
 * Frees the memory at once: otherwise 60 MB of blocks accumulate before V8 collects memory outside of its heap. No views of it are in use
 * any more, because objects are valid only until other blocks are read.
 */
const release = ({ buffer, byteLength }: Uint8Array): void => {
  // A small buffer is part of a shared pool; separate memory exceeds the requested size by the margin that unpacking needs.
  const isOwn = buffer.byteLength >= ownBytes && buffer.byteLength <= byteLength + unpackMargin
  if (isOwn && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
