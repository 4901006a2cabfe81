/**
 * Which blocks are read, for the writer's own look-backs and for every reader: those of a kind, in order, from where it begins, without the damaged ones.
 *
 * Each statement is one short transaction that fetches a bounded number of rows: nothing holds the write-ahead log open between two events
 * (docs/reference/architecture.md#archive). Blocks never change, except that the parts of the open block are replaced by the sealed block
 * with the same events and sequence numbers, sealed blocks by the one that they are merged into, and a block before a beginning by what retention
 * carries over of it. So everything is requested by sequence number, and the result may be the larger block that has replaced the one asked for.
 *
 * Retention may remove what is being read. Its reader then gets RetentionOutranError, never a part of what it asked for.
 */

import type { EventTimes } from "../../trace/index.ts"
import { CorruptArchiveError, confined, RetentionOutranError, reading } from "../directory/archive-errors.ts"
import { type Beginning, Beginnings, fromTheFirst } from "../rows/beginnings.ts"
import type { KindKey } from "../rows/kind-table.ts"
import { type Connection, prepare, type Statement } from "../tables/database.ts"
import type { BlockFrame } from "./block-frame.ts"
import type { BlockTable } from "./block-rows.ts"
import { type EventPlace, type SoughtObjects, StoredBlocks } from "./stored-blocks.ts"

/** As many blocks as the clocks of kinds that are merged may differ by. */
const CACHED_BYTES = 8 * 1024 * 1024

const PAGE_ROWS = 64

/** How blocks are read. */
export interface BlockSourceOptions {
  /** As if everything were read in {@link BlockSource.passingOverDamage}. Default: it is not. */
  readonly passesOverDamage?: boolean
  /** Sealed blocks that were found intact, for further readers of the same files: blocks never change. Default: those of this reader. */
  readonly intact?: Set<number>
  /** Whether the reader is the writer: beginnings do not move while it reads. Default false. */
  readonly isWriter?: boolean
  /** Payload bytes cached, but at least one block of any size. Default 8 MiB: as many blocks as the kinds' clocks may differ by. */
  readonly cachedBytes?: number
}

interface FrameRange {
  /** µs since the Unix epoch, both inclusive. */
  readonly fromTime: number
  readonly toTime: number
  readonly afterSequence?: number
}

/** Reads the blocks of one database connection. */
export class BlockSource {
  readonly #directory: string
  readonly #blocksOfKind: Readonly<
    Record<EventTimes, Statement<{ readonly lastSequence: number; readonly minTime: number }>>
  >
  readonly #holdsKind: Statement<unknown>
  readonly #beginnings: Beginnings
  readonly #isWriter: boolean
  /** By kind, where it began when this reader began, before it read anything else: what is read later may then be noticed to have moved. */
  #firstBeginnings: ReadonlyMap<number, Beginning> = new Map()
  /** The last event that had been removed when this reader began. */
  #removedBefore = 0
  /** By kind, why the states that retention kept are not known. */
  readonly #lostBeginnings = new Map<number, string>()
  readonly #stored: StoredBlocks
  readonly #damaged = new Map<number, string>()
  readonly #withoutTable = new Set<number>()
  readonly #intact: Set<number>
  readonly #checked = new Set<number>()
  #skipsDamage: boolean

  constructor(database: Connection, directory: string, options: BlockSourceOptions = {}) {
    this.#directory = directory
    this.#stored = new StoredBlocks(database, directory, {
      cachedBytes: options.cachedBytes ?? CACHED_BYTES,
      ifOutran: () => this.ifOutran(),
    })
    this.#intact = options.intact ?? new Set()
    this.#skipsDamage = options.passesOverDamage ?? false
    this.#isWriter = options.isWriter ?? false
    this.#beginnings = new Beginnings(database)
    this.beginAnew()
    const blocksOfKind = (time: "max_time" | "max_received"): Statement<{ lastSequence: number; minTime: number }> =>
      prepare(
        database,
        `SELECT last_sequence AS lastSequence, min_time AS minTime FROM block_kind
        WHERE kind = ? AND last_sequence > ? AND ${time} >= ? ORDER BY last_sequence LIMIT ${PAGE_ROWS}`,
      )
    this.#blocksOfKind = { happened: blocksOfKind("max_time"), received: blocksOfKind("max_received") }
    this.#holdsKind = prepare(database, "SELECT 1 FROM block_kind WHERE kind = ? AND last_sequence = ?")
  }

  /**
   * Whether the block with this key, the sequence number of its last event, is as it was written. Reads all of it, the first time. One that is
   * not is left out of {@link framesOf} from then on.
   */
  isIntact(key: number): boolean {
    if (this.#damaged.has(key)) return false
    if (this.#checked.has(key) || this.#intact.has(key)) return true
    const found = confined(() => this.#stored.check(key))
    if (typeof found === "string") {
      this.#damaged.set(key, found)
      return false
    }
    this.#checked.add(key)
    // A part may be replaced by a block with the same key, of which a later reader knows nothing. A merged block was made of intact ones.
    if (found.isSealed) this.#intact.add(key)
    return true
  }

  /** From now on reads what the recording has now, also if retention has removed what this reader read before. */
  beginAnew(): void {
    this.#firstBeginnings = this.#reading(() => this.#beginnings.all())
    this.#removedBefore = Math.max(0, ...[...this.#firstBeginnings.values()].map((each) => each.throughSequence))
  }

  beginningNow(kind: KindKey): Beginning {
    return this.#reading(() => this.#beginnings.of(kind.id))
  }

  /** Where a kind began when this reader was opened. What is read of a window that begins before that begins there. */
  beginningOf(kind: KindKey): Beginning {
    return this.#isWriter ? this.beginningNow(kind) : (this.#firstBeginnings.get(kind.id) ?? fromTheFirst)
  }

  /**
   * Requires that nothing has been removed since of a window that begins at `fromTime`, µs since the Unix epoch.
   *
   * @throws RetentionOutranError
   */
  requireKept(kind: KindKey, fromTime: number): void {
    const first = this.beginningOf(kind)
    const now = this.beginningNow(kind)
    if (now.throughSequence !== first.throughSequence && fromTime <= now.removedThrough) throw this.outran()
  }

  /** Why something may be missing that this reader has found referred to: retention has removed something since. `undefined`: it has not. */
  ifOutran(): RetentionOutranError | undefined {
    return !this.#isWriter && this.#beginnings.last() > this.#removedBefore ? this.outran() : undefined
  }

  outran(): RetentionOutranError {
    return new RetentionOutranError({ directory: this.#directory })
  }

  /** The states that retention kept of a kind are damaged. @throws CorruptArchiveError unless damage is passed over */
  loseBeginning(kind: KindKey): void {
    const reason = `the states of ${kind.gvk} at the beginning of what is kept are damaged`
    if (!this.#skipsDamage) throw new CorruptArchiveError({ directory: this.#directory, reason })
    this.#lostBeginnings.set(kind.id, reason)
  }

  /** Why the states that retention kept of a kind are not known; `undefined`: they were not found to be damaged. */
  lostBeginningOf(kind: KindKey): string | undefined {
    return this.#lostBeginnings.get(kind.id)
  }

  /** The key of the block that holds an event, of whatever kind; the sequence number itself if none does. */
  keyAt(sequence: number): number {
    const range = this.#stored.rangeFrom(sequence)
    return range !== undefined && range.firstSequence <= sequence ? range.lastSequence : sequence
  }

  /** Whether the table of contents of a block was found to be damaged: what the block contains is unknown. */
  lacksTable(key: number): boolean {
    return this.#withoutTable.has(key)
  }

  /** Whether a block of a kind after a sequence number was found to lack its table of contents. */
  lacksTableAfter(kind: KindKey, sequence: number): boolean {
    return [...this.#withoutTable].some(
      (key) => key > sequence && this.#reading(() => this.#holdsKind.get(kind.id, key)) !== undefined,
    )
  }

  /** What is wrong with a block that was found to be damaged; `undefined` if it was not. */
  faultOf(key: number): string | undefined {
    return this.#damaged.get(key)
  }

  /**
   * Lets `read` use tables of contents also of blocks whose objects are damaged, and pass over blocks without one, and
   * notes them. Every other read fails at such a block: otherwise its answer would lack changes without saying so.
   */
  passingOverDamage<Answer>(read: () => Answer): Answer {
    const before = this.#skipsDamage
    this.#skipsDamage = true
    try {
      return read()
    } finally {
      this.#skipsDamage = before
    }
  }

  /** `undefined`: it is damaged, and passed over, or has none of the objects that are wanted. */
  #tableToRead(key: number, wanted?: SoughtObjects): BlockTable | undefined {
    if (!this.#skipsDamage) return this.#damaged.has(key) ? undefined : this.#stored.tableHolding(key, wanted)
    const table = confined(() => ({ found: this.#stored.tableHolding(key, wanted) }))
    if (typeof table !== "string") return table.found
    this.#damaged.set(key, table)
    this.#withoutTable.add(key)
    return undefined
  }

  /**
   * Frames of one kind in sequence order: those with events after `afterSequence`, from the first block with an event of the kind at or
   * after `fromTime` (µs), in the times that count, or from the kind's beginning ({@link beginningOf}). It continues as long as the writer does:
   * stop at your cut.
   *
   * @throws RetentionOutranError if events at or after `fromTime` are removed meanwhile
   */
  *framesOf(
    kind: KindKey,
    afterSequence: number,
    fromTime = 0,
    times: EventTimes = "happened",
  ): Generator<BlockFrame, void, void> {
    const position = Math.max(afterSequence, this.beginningOf(kind).throughSequence)
    yield* this.#frames(kind, position, fromTime, times, () => this.requireKept(kind, fromTime))
  }

  /**
   * The same for the changes of some objects, by number: blocks that are known to have none of them are passed over without being unpacked. `fromTime`, `toTime`: µs since the
   * Unix epoch at which a change happened, inclusive.
   */
  *framesWith(
    kind: KindKey,
    numbers: ReadonlySet<number>,
    { fromTime, toTime }: { readonly fromTime: number; readonly toTime: number },
  ): Generator<BlockFrame, void, void> {
    const wanted = { gvk: kind.gvk, numbers, toTime }
    const { throughSequence } = this.beginningOf(kind)
    yield* this.#frames(kind, throughSequence, fromTime, "happened", () => this.requireKept(kind, fromTime), wanted)
  }

  /**
   * The same, when they are not read: tables of contents alone are unpacked. `afterSequence`: events up to it may be left out.
   */
  *framesHolding(
    kind: KindKey,
    numbers: ReadonlySet<number>,
    { fromTime, toTime, afterSequence = 0 }: FrameRange,
  ): Generator<BlockFrame, void, void> {
    const wanted = { gvk: kind.gvk, numbers, toTime, onlyTables: true }
    const position = Math.max(afterSequence, this.beginningOf(kind).throughSequence)
    yield* this.#frames(kind, position, fromTime, "happened", () => this.requireKept(kind, fromTime), wanted)
  }

  /** Frames with what retention carried over of a kind. They are no changes. */
  *framesCarriedOver(kind: KindKey): Generator<BlockFrame, void, void> {
    const { throughSequence } = this.beginningOf(kind)
    for (let position = 0; position < throughSequence; ) {
      const range = this.#stored.rangeFrom(position + 1)
      if (range === undefined || range.firstSequence > throughSequence) return
      for (const frame of this.#tableToRead(range.lastSequence)?.frames ?? []) {
        if (frame.lastSequence <= throughSequence && frame.events.gvk === kind.gvk) yield frame
      }
      position = range.lastSequence
    }
  }

  /** All frames of a kind with events after one that the recording still has. @throws RetentionOutranError if it has it no more */
  *framesAfter(kind: KindKey, sequence: number): Generator<BlockFrame, void, void> {
    yield* this.#frames(kind, sequence, 0, "happened", (position) => {
      if (this.beginningNow(kind).throughSequence > position) throw this.outran()
    })
  }

  *#frames(
    kind: KindKey,
    afterSequence: number,
    fromTime: number,
    times: EventTimes,
    requireKept: (position: number) => void,
    wanted?: SoughtObjects & { readonly toTime: number },
  ): Generator<BlockFrame, void, void> {
    let position = afterSequence
    for (;;) {
      const rows = this.#reading(() => this.#blocksOfKind[times].all(kind.id, position, fromTime))
      requireKept(position)
      if (rows.length === 0) return
      const toTime = wanted?.toTime ?? Number.POSITIVE_INFINITY
      this.#stored.expect(rows.flatMap(({ lastSequence, minTime }) => (minTime > toTime ? [] : [lastSequence])))
      for (const { lastSequence: key, minTime } of rows) {
        if (key <= position) continue
        if (wanted !== undefined && minTime > wanted.toTime) return
        const table = this.#tableToRead(key, wanted)
        requireKept(position)
        for (const frame of table?.frames ?? []) {
          if (frame.lastSequence > position && frame.events.gvk === kind.gvk) yield frame.after(position)
        }
        position = table?.lastSequence ?? key
      }
    }
  }

  /** Table of the block that contains an event. @throws CorruptArchiveError if no block does. */
  tableAt(sequence: number): BlockTable {
    return this.#stored.tableAt(sequence)
  }

  /** An event with its object as it is stored: most read it with `readEvent`. @throws CorruptArchiveError if no block contains it. */
  eventAt(sequence: number): EventPlace {
    return this.#stored.eventAt(sequence)
  }

  #reading<Answer>(read: () => Answer): Answer {
    return reading(this.#directory, read)
  }
}
