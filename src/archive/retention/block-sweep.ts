/**
 * Frees blocks of events that retention has removed. What the state at the beginning still needs of them is **carried over**: small blocks
 * that are no block of any kind, in the place of the ones before.
 *
 * Each call is one transaction about one block: some ms.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { isDamage } from "../archive-errors.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import { BlockRows } from "../blocks/block-rows.ts"
import { objectsOf, tableOf } from "../blocks/block-table.ts"
import { MergedBlock, type NamesOf } from "../blocks/merged/merged-block.ts"
import type { KindTable } from "../rows/kind-table.ts"
import { knownNamesOf } from "../rows/object-rows.ts"

/**
 * Bytes before compression up to which carried-over events are joined with those of the block before: each is then rewritten some times, at
 * a ms each, and the blocks are large enough to compress.
 */
const JOINED_BYTES = 256 * 1024

/** What becomes of the events of a kind in a block. A function says which of them live on. */
export type Fate = "kept" | "carried" | ((sequence: number) => boolean)

/** `fateOf` takes the recording's number of a kind, and the last event of the block. */
type Fates = (kind: number, lastSequence: number) => Fate

interface StoredBlock {
  readonly row: Record<string, unknown>
  readonly first: number
  readonly last: number
}

/** Works through the writer's connection, inside a transaction of the caller. */
export class BlockSweep {
  readonly #kinds: KindTable
  readonly #rows: BlockRows
  readonly #namesOf: NamesOf
  readonly #next: StatementSync
  readonly #nextCarried: StatementSync
  readonly #before: StatementSync
  readonly #data: StatementSync
  readonly #delete: StatementSync
  readonly #holds: StatementSync

  constructor(database: DatabaseSync, kinds: KindTable) {
    this.#kinds = kinds
    this.#rows = new BlockRows(database)
    this.#namesOf = knownNamesOf(database)
    const columns =
      "first_sequence, last_sequence, events, carried, toc_size, toc_checksum, toc, data_size, data_checksum"
    const next = (which: string): StatementSync =>
      database.prepare(`
        SELECT ${columns} FROM block WHERE last_sequence > ? AND last_sequence <= ? AND sealed > 0 ${which}
        ORDER BY last_sequence LIMIT 1`)
    this.#next = next("")
    this.#nextCarried = next("AND carried > 0")
    this.#before = database.prepare(`
      SELECT ${columns}, data FROM block WHERE last_sequence < ? ORDER BY last_sequence DESC LIMIT 1`)
    this.#data = database.prepare("SELECT data FROM block WHERE last_sequence = ?")
    this.#holds = database.prepare("SELECT 1 FROM block_kind WHERE kind = ? AND last_sequence = ?")
    this.#delete = database.prepare("DELETE FROM block WHERE last_sequence = ?")
  }

  /** Frees the first block after `position` and up to `through`; returns its key and how many of its events were carried over just now. */
  sweep(
    position: number,
    through: number,
    fateOf: Fates,
  ): { readonly key: number; readonly carried: number } | undefined {
    const block = stored(this.#next.get(position, through))
    return block && { key: block.last, carried: this.#free(block, fateOf, false) }
  }

  /** The same for the first block with carried-over events, which is left as it is unless most of them are not needed any more. */
  sweepCarried(
    position: number,
    through: number,
    fateOf: Fates,
  ): { readonly key: number; readonly carried: number } | undefined {
    const block = stored(this.#nextCarried.get(position, through))
    return block && { key: block.last, carried: this.#free(block, fateOf, true) }
  }

  /** Returns the number of events that were carried over. */
  #free(block: StoredBlock, fateOf: Fates, isLenient: boolean): number {
    const before = block.row.carried as number
    const data = (): Record<string, unknown> => ({ ...block.row, ...this.#data.get(block.last) })
    const table = damageAside(() => tableOf(block.row, () => data().data as Uint8Array))
    if (table === undefined) return this.#freeDamaged(block, fateOf)
    const { frames } = table
    const fates = frames.map((frame) => fateOf(this.#kinds.idOf(frame.events.gvk), block.last))
    if (fates.every((fate) => typeof fate === "string")) return 0
    let [carried, fresh] = [0, 0]
    fates.forEach((fate, at) => {
      const wanted = fate === "kept" ? 0 : countWanted(frames[at] as BlockFrame, fate)
      carried += wanted
      if (typeof fate !== "string") fresh += wanted
    })
    if (isLenient && carried > before / 2) return 0
    const isKept = fates.includes("kept")
    if (carried === 0 && !isKept) {
      this.#delete.run(block.last)
      return 0
    }
    const objects = damageAside(() => objectsOf(data(), table))
    // Stays as it is: readers name what they cannot read of it.
    if (objects === undefined) return 0
    const remaining = new MergedBlock(this.#namesOf)
    const { first, joined } = isKept ? { first: block.first, joined: 0 } : this.#join(block, remaining)
    frames.forEach((frame, at) => {
      const fate = fates[at] as Fate
      remaining.add(frame, objects, typeof fate === "string" ? undefined : fate)
    })
    this.#delete.run(block.last)
    this.#rows.insertCarried(remaining.pack(first, block.last), carried + joined)
    objects.release()
    return fresh
  }

  /** Takes the block before into the new one if it is small and has nothing but carried-over events. */
  #join(block: StoredBlock, into: MergedBlock): { readonly first: number; readonly joined: number } {
    const alone = { first: block.first, joined: 0 }
    const before = stored(this.#before.get(block.last))
    if (before === undefined || before.row.carried !== before.row.events || before.row.carried === 0) return alone
    if ((before.row.toc_size as number) + (before.row.data_size as number) > JOINED_BYTES) return alone
    const content = damageAside(() => {
      const table = tableOf(before.row)
      return { table, objects: objectsOf(before.row, table) }
    })
    if (content === undefined) return alone
    for (const frame of content.table.frames) into.add(frame, content.objects)
    this.#delete.run(before.last)
    return { first: before.first, joined: before.row.carried as number }
  }

  /** What it contains is unknown: it stays if it may be needed, so that readers name it. */
  #freeDamaged(block: StoredBlock, fateOf: Fates): number {
    for (const { id } of this.#kinds.all()) {
      const fate = fateOf(id, block.last)
      if (typeof fate === "string") continue
      for (let sequence = block.first; sequence <= block.last; sequence++) if (fate(sequence)) return 0
    }
    if (!this.#kinds.all().some(({ id }) => this.#holds.get(id, block.last) !== undefined)) this.#delete.run(block.last)
    return 0
  }
}

const stored = (row: Record<string, unknown> | undefined): StoredBlock | undefined =>
  row && { row, first: row.first_sequence as number, last: row.last_sequence as number }

const countWanted = (frame: BlockFrame, fate: Fate): number => {
  if (typeof fate === "string") return frame.events.count
  let count = 0
  for (let index = 0; index < frame.events.count; index++) if (fate(frame.sequence(index))) count++
  return count
}

/** `undefined`: what was read is damaged. */
const damageAside = <Answer>(read: () => Answer): Answer | undefined => {
  try {
    return read()
  } catch (error) {
    if (!isDamage(error)) throw error
    return undefined
  }
}
