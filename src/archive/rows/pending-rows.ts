/**
 * Rows that wait for the next commit: sealed blocks, names of new objects, gaps, late ranges. They are kept until {@link PendingRows.clear}, so that a
 * failed commit is retried with the same rows.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { Gap } from "../../wire/observations.ts"
import type { BlockSummary, PackedBlock } from "../blocks/block.ts"
import { BlockRows } from "../blocks/block-rows.ts"
import type { ChangeTimes } from "../blocks/change-times.ts"
import { gapWriter, hasGapRow, type PlacedGap } from "./gap-rows.ts"
import { LateRows } from "./late-rows.ts"

/** A block that will not change any more. */
interface SealedBlock {
  readonly block: PackedBlock
  /** Whether parts of it are already on disk. */
  readonly hasParts: boolean
}

/** A new object, or one whose owners have changed. */
interface PendingObject {
  readonly kind: number
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly firstSequence: number
  /** An owner set, 0 for none. */
  readonly owners: number
  /** When these owners replaced others and when that was received, µs since the Unix epoch; `undefined`: the object is new. */
  readonly replaced: ChangeTimes | undefined
}

export class PendingRows {
  readonly #database: DatabaseSync
  readonly #blocks: BlockRows
  readonly #insertObject: StatementSync
  readonly #keepOwners: StatementSync
  readonly #insertGap: (placed: PlacedGap) => void
  readonly late: LateRows
  #sealed: Array<SealedBlock> = []
  #objects: Array<PendingObject> = []
  #gaps: Array<PlacedGap> = []

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#blocks = new BlockRows(database)
    this.#insertObject = database.prepare(`
      INSERT INTO object (kind, number, uid, namespace, name, first_sequence, owners) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (kind, number) DO UPDATE SET owners = excluded.owners WHERE owners <> excluded.owners`)
    this.#keepOwners = database.prepare(`
      INSERT OR IGNORE INTO former_owner_set (kind, number, until_time, until_received, owners)
      SELECT kind, number, ?, ?, owners FROM object WHERE kind = ? AND number = ? AND owners <> ?`)
    this.#insertGap = gapWriter(database)
    this.late = new LateRows(database)
  }

  get sealedBlocks(): number {
    return this.#sealed.length
  }

  get hasGaps(): boolean {
    return this.#gaps.length > 0
  }

  /** Of the sealed blocks, in order. */
  get summaries(): ReadonlyArray<BlockSummary> {
    return this.#sealed.map(({ block }) => block.summary)
  }

  seal(block: PackedBlock, hasParts: boolean): void {
    this.#sealed.push({ block, hasParts })
  }

  object(object: PendingObject): void {
    this.#objects.push(object)
  }

  gap(placed: PlacedGap): void {
    this.#gaps.push(placed)
  }

  /** Whether this very gap of a kind is pending or stored. @throws what SQLite throws */
  hasGap(kind: number, gap: Gap): boolean {
    const waits = this.#gaps.some((placed) => placed.kind === kind && isSameGap(placed.gap, gap))
    return waits || hasGapRow(this.#database, kind, gap)
  }

  /** Writes everything, including the new part of the open block; inside the commit's transaction. */
  save(part: PackedBlock | undefined): void {
    for (const { block, hasParts } of this.#sealed) {
      if (hasParts) this.#blocks.deletePartsOf(block.summary)
      this.#blocks.insertSealed(block)
    }
    if (part !== undefined) this.#blocks.insertPart(part)
    for (const { kind, number, uid, namespace, name, firstSequence, owners, replaced } of this.#objects) {
      if (replaced !== undefined) this.#keepOwners.run(replaced.time, replaced.received, kind, number, owners)
      this.#insertObject.run(kind, number, uid, namespace, name, firstSequence, owners)
    }
    for (const gap of this.#gaps) this.#insertGap(gap)
    this.late.save()
  }

  /** After the commit. */
  clear(): void {
    this.#sealed = []
    this.#objects = []
    this.#gaps = []
    this.late.clear()
  }
}

const isSameGap = (one: Gap, other: Gap): boolean =>
  one.fromVersion === other.fromVersion &&
  one.toVersion === other.toVersion &&
  one.fromTime === other.fromTime &&
  one.toTime === other.toTime &&
  one.reason === other.reason &&
  one.namespace === other.namespace
