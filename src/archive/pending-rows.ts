/**
 * Rows that wait for the next commit: sealed blocks, names of new objects, gaps, late ranges. They are kept until {@link PendingRows.clear}, so that a
 * failed commit is retried with the same rows.
 */

import {
  decodeColumns,
  type Gap,
  MalformedFrameError,
  type Observations,
  type SplitFrame,
  splitObservations,
} from "../wire/index.ts"
import type { BlockSummary, PackedBlock } from "./blocks/block.ts"
import { BlockRows } from "./blocks/block-rows.ts"
import { gapWriter, hasGapRow, LateRows, type PlacedGap } from "./rows/gap-rows.ts"
import { type KindEntry, type KindTable, nextNumberAfter } from "./rows/kind-table.ts"
import type { PodTable } from "./rows/pod-table.ts"
import { type Connection, prepare, type Statement } from "./tables/database.ts"

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
  readonly #database: Connection
  readonly #blocks: BlockRows
  readonly #insertObject: Statement<never>
  readonly #keepOwners: Statement<never>
  readonly #insertGap: (placed: PlacedGap) => void
  readonly late: LateRows
  #sealed: Array<SealedBlock> = []
  #objects: Array<PendingObject> = []
  #gaps: Array<PlacedGap> = []

  constructor(database: Connection) {
    this.#database = database
    this.#blocks = new BlockRows(database)
    this.#insertObject = prepare(
      database,
      `
      INSERT INTO object (kind, number, uid, namespace, name, first_sequence, owners) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (kind, number) DO UPDATE SET owners = excluded.owners WHERE owners <> excluded.owners`,
    )
    this.#keepOwners = prepare(
      database,
      `
      INSERT OR IGNORE INTO former_owner_set (kind, number, until_time, until_received, owners)
      SELECT kind, number, ?, ?, owners FROM object WHERE kind = ? AND number = ? AND owners <> ?`,
    )
    this.#insertGap = gapWriter(database)
    this.late = new LateRows(database)
  }

  get sealedBlocks(): number {
    return this.#sealed.length
  }

  get hasGaps(): boolean {
    return this.#gaps.length > 0
  }

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

// Checks a frame of observations completely before any of it is taken, so that an invalid frame affects nothing else.

interface CheckedFrame {
  readonly split: SplitFrame
  readonly events: Observations
  /** The kind's state before the frame; `undefined`: it is the kind's first. */
  readonly before: KindEntry | undefined
}

/** @throws MalformedFrameError if the bytes are not a frame, or refer to an object or a pod that was never introduced */
export const checkFrame = (frame: Uint8Array, kinds: KindTable, pods: PodTable): CheckedFrame => {
  const split = splitObservations(frame)
  const events = decodeColumns(split.columns, split.payload)
  events.check()
  const before = kinds.get(events.gvk)
  const nextNumber = Math.max(before?.nextObjectNumber ?? 1, nextNumberAfter(events))
  const highest = events.highestObjectNumber()
  if (highest >= nextNumber) {
    const reason = `object ${highest} of ${events.gvk} was never introduced; the next new number is ${nextNumber}`
    throw new MalformedFrameError({ reason, byteLength: frame.length })
  }
  const unknownPod = pods.unknownIn(events)
  if (unknownPod !== undefined) {
    const reason = `pod ${unknownPod} was never introduced; the next new number is ${pods.nextNumber}`
    throw new MalformedFrameError({ reason, byteLength: frame.length })
  }
  return { split, events, before }
}

// When an object changed, as a frame says: for what is stored beside the events of the frame.

/** When a change happened and when it was received, µs since the Unix epoch. */
interface ChangeTimes {
  readonly time: number
  readonly received: number
}

/**
 * The times of the first change of the object with this number in a frame, or `now` if it has none: then only its owners changed. `floors`: the
 * last times of the kind, before which nothing of it happened or was received.
 */
export const changeTimesOf = (events: Observations, number: number, floors: ChangeTimes, now: number): ChangeTimes => {
  let [time, received] = [now, now]
  for (let index = 0; index < events.count; index++) {
    if (events.objectNumber(index) !== number) continue
    time = events.time(index)
    received = events.received(index)
    break
  }
  return { time: Math.max(time, floors.time), received: Math.max(received, floors.received) }
}
