/**
 * Unpacked blocks that are kept for a while: tables of contents, bounded by count, and blocks with their objects, bounded by bytes.
 */

import type { BlockData, BlockTable } from "./block-table.ts"

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

  /** `limit`: bytes of objects, but at least one block of any size is kept. */
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
