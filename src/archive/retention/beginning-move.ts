/**
 * Moves the beginning of kinds behind a stride: folds its tables of contents to the last event of each object, and then, in one transaction, makes
 * these states the remains that the state at the new beginning is read from, and its blocks no blocks of these kinds any more.
 */

import type { Gap } from "../../wire/index.ts"
import { pack } from "../blocks/block.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import { encodeStates, NO_STATES, type ObjectStates, StateCollector } from "../checkpoints/object-states.ts"
import { mergeAll, REMAINS, type StateHistory } from "../checkpoints/state-history.ts"
import { unlessDamaged } from "../directory/archive-errors.ts"
import type { Pins } from "../pins/pins.ts"
import type { RetainedKinds, RetainedRow } from "../rows/beginnings.ts"
import { gapWriter } from "../rows/gap-rows.ts"
import type { KindTable } from "../rows/kind-table.ts"
import type { OwnerSets, UnrecordedOwners } from "../rows/owner-sets.ts"
import { type Connection, prepare } from "../tables/database.ts"
import { lastSequenceOf } from "../tables/schema.ts"
import { rowWriter } from "../tables/tables.ts"
import type { TrustedDatabase } from "../tables/trusted-database.ts"
import type { PlannedStride } from "./stride-plan.ts"

const GAP_DETAIL =
  "a damaged block that retention removed: objects that were last changed in it are not in the states at the beginning"

const UNSENT_DETAIL = "the disk had no room for what could not be archived yet, so that it was removed"

/** What the tables of contents of a stride say. */
interface Folded {
  /** By kind, the last event of each object. */
  readonly states: ReadonlyMap<number, ObjectStates>
  /** Blocks of which the table of contents is damaged. */
  readonly damaged: ReadonlySet<number>
}

/** Works through the writer's connection. */
export class BeginningMove {
  readonly #parts: WriterParts
  readonly #retained: RetainedKinds
  readonly #statements: ReturnType<typeof statementsOf>

  constructor(parts: WriterParts, retained: RetainedKinds) {
    this.#parts = parts
    this.#retained = retained
    this.#statements = statementsOf(parts.database.shared)
  }

  /** What the stride's tables of contents say. Yields after each block. */
  *fold({ kinds, blocks }: PlannedStride): Generator<void, Folded, void> {
    const damaged = new Set<number>()
    const ids = new Map(kinds.map(({ gvk, id }) => [gvk, id]))
    const collectors = new Map<number, Array<StateCollector>>()
    for (const key of blocks) {
      const frames = unlessDamaged(() => this.#parts.source.tableAt(key).frames)
      if (frames === undefined) damaged.add(key)
      for (const frame of frames ?? []) {
        const kind = ids.get(frame.events.gvk)
        if (kind === undefined || frame.lastSequence <= this.#retained.of(kind).throughSequence) continue
        const all = collectors.get(kind) ?? [new StateCollector(true)]
        collectors.set(kind, all)
        for (let index = 0; index < frame.events.count; index++) {
          if (all.at(-1)?.isFull) all.push(new StateCollector(true))
          all.at(-1)?.add(frame, index)
        }
      }
      yield
    }
    return {
      states: new Map([...collectors].map(([kind, all]) => [kind, mergeAll(all.map((each) => each.finish()))])),
      damaged,
    }
  }

  /**
   * Returns how many events were removed, and how many of the objects in them had ended. `heldAfter`: those after this sequence number are nowhere else, and are
   * a gap. @throws ArchiveError
   */
  move(
    { kinds, throughSequence, removedThrough }: PlannedStride,
    { states, damaged }: Folded,
    heldAfter: number,
  ): { readonly events: number; readonly ended: number } {
    const moved: Array<RetainedRow> = []
    const packed = new Map([...states].map(([kind, each]) => [kind, pack(encodeStates(each))]))
    let events = 0
    this.#parts.database.transaction("retention", () => {
      const isUnsent = throughSequence > heldAfter
      const lastSequence = damaged.size === 0 && !isUnsent ? 0 : lastSequenceOf(this.#parts.database.shared)
      for (const { id } of kinds) {
        const before = this.#retained.of(id)
        const until = Math.max(before.removedThrough, removedThrough)
        const going = this.#statements.going.get(id, throughSequence)
        const removed = going?.events ?? 0
        const blocks = damaged.size === 0 ? [] : this.#statements.blocks.all(id, throughSequence)
        const isDamaged = blocks.some(({ key }) => damaged.has(key))
        const unsent = isUnsent ? this.#statements.unsent.get(id, heldAfter, throughSequence)?.fromTime : undefined
        this.#statements.deleteBlocks.run(id, throughSequence)
        this.#statements.deleteGaps.run(id, throughSequence, until)
        const noted = { fromTime: removedThrough, toTime: removedThrough + 1 }
        if (isDamaged) this.#noteGap(id, lastSequence, { ...noted, reason: "damaged", detail: GAP_DETAIL })
        if (typeof unsent === "number")
          this.#noteGap(id, lastSequence, {
            ...noted,
            fromTime: unsent,
            reason: "dropped-before-upload",
            detail: UNSENT_DETAIL,
          })
        this.#statements.deleteLate.run(id, throughSequence, until)
        this.#statements.deleteFormer.run(id, until)
        // A quiet kind lacks nothing but gaps.
        const row: RetainedRow =
          removed === 0
            ? { ...before, removedThrough: until }
            : {
                kind: id,
                throughSequence,
                removedThrough: until,
                sweptSequence: sweptBefore(before, going?.first ?? 0),
              }
        this.#retained.write(row)
        moved.push(row)
        events += removed
        if (removed === 0) continue
        const { bytes, size, checksum } = packed.get(id) ?? pack(encodeStates(NO_STATES))
        this.#statements.insertRemains({
          ...{ kind: id, throughSequence, lastTime: until, lastReceived: until, isFull: REMAINS },
          ...{ objects: states.get(id)?.count ?? 0, afterSequence: before.throughSequence },
          ...{ states: bytes, statesSize: size, statesChecksum: checksum },
        })
        this.#statements.deleteCheckpoints.run(id, throughSequence)
        this.#statements.deleteRemains.run(id, throughSequence)
      }
      this.#parts.pins.noteLost(removedThrough)
    })
    this.#retained.took(moved)
    let ended = 0
    for (const each of states.values()) ended += each.dead.subarray(0, each.count).filter(Boolean).length
    return { events, ended }
  }

  /**
   * Of what is removed and nowhere else. Which objects changed in a block without its table of contents is unknown, too. Inside the transaction that removes
   * the block: with the next commit the gap could be lost in a crash. It takes a number up to the last committed one,
   * because the next ones belong to what waits for a commit; followers, which are beyond it, do not see it.
   */
  #noteGap(kind: number, lastSequence: number, noted: Pick<Gap, "fromTime" | "toTime" | "reason" | "detail">): void {
    let sequence = lastSequence
    while (this.#statements.gapAt.get(sequence) !== undefined) sequence--
    this.#statements.insertGap({
      ...{ sequence, kind },
      gap: { fromVersion: "", toVersion: "", namespace: "", ...noted },
    })
  }
}

/** Up to where blocks have been freed: what is before the first block that goes was carried over, unless earlier strides are still to be swept. */
const sweptBefore = ({ sweptSequence, throughSequence }: RetainedRow, first: number): number =>
  sweptSequence < throughSequence ? sweptSequence : first - 1

const statementsOf = (database: Connection) => {
  const statement = (sql: string) => prepare(database, sql)
  return {
    insertRemains: rowWriter(database, "checkpoint", { blobs: ["states"] }),
    // States at the beginning are built from the last full checkpoint before it.
    deleteCheckpoints: statement(`
      DELETE FROM checkpoint WHERE kind = ?1 AND is_full < ${REMAINS} AND through_sequence <
        (SELECT max(through_sequence) FROM checkpoint WHERE kind = ?1 AND through_sequence <= ?2 AND is_full = 1)`),
    // A later checkpoint contains them.
    deleteRemains: statement(`
      DELETE FROM checkpoint WHERE kind = ?1 AND is_full = ${REMAINS} AND through_sequence <=
        (SELECT max(through_sequence) FROM checkpoint WHERE kind = ?1 AND through_sequence <= ?2 AND is_full < ${REMAINS})`),
    going: prepare<{ readonly events: number; readonly first: number | null }>(
      database,
      `
      SELECT coalesce(sum(events), 0) AS events, min(last_sequence) AS first FROM block_kind
      WHERE kind = ? AND last_sequence <= ?`,
    ),
    unsent: prepare<{ readonly fromTime: number | null }>(
      database,
      `
      SELECT min(min_time) AS fromTime FROM block_kind WHERE kind = ? AND last_sequence > ? AND last_sequence <= ?`,
    ),
    blocks: prepare<{ readonly key: number }>(
      database,
      "SELECT last_sequence AS key FROM block_kind WHERE kind = ? AND last_sequence <= ?",
    ),
    gapAt: prepare<unknown>(database, "SELECT 1 FROM gap WHERE sequence = ?"),
    insertGap: gapWriter(database),
    deleteBlocks: statement("DELETE FROM block_kind WHERE kind = ? AND last_sequence <= ?"),
    deleteGaps: statement("DELETE FROM gap WHERE kind = ? AND sequence <= ? AND to_time <= ?"),
    deleteLate: statement(
      "DELETE FROM late_range WHERE kind = ?1 AND sequence <= ?2 AND not_after <= ?3 AND received_to <= ?3",
    ),
    deleteFormer: statement(
      "DELETE FROM former_owner_set WHERE kind = ?1 AND until_time <= ?2 AND until_received <= ?2",
    ),
  }
}

// What retention uses of the writer of a recording.

/** Lent by the writer, which works between the steps. */
export interface WriterParts {
  readonly directory: string
  readonly database: TrustedDatabase
  readonly kinds: KindTable
  readonly ownerSets: OwnerSets
  readonly owners: Pick<UnrecordedOwners, "noteUids" | "endNoting">
  readonly pins: Pins
  readonly source: BlockSource
  readonly history: StateHistory
  /** Whether frames wait for a commit. */
  readonly isPending: () => boolean
  /** µs since the Unix epoch. */
  readonly now: () => number
}
