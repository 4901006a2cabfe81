/**
 * Damaged blocks that concern a window, as gaps: the kinds that they hold and the times of their events are known from other rows, so only
 * those changes are missing and all others are read.
 *
 * A damaged block before the window concerns it as well if the state at its start depends on it: it holds the last state of an object that
 * exists then, or its table of contents is lost and no later checkpoint says what it changed. Such a gap reaches up to the start.
 *
 * The same holds for a damaged block of events that retention carried over, and for damaged states at the retained
 * beginning.
 *
 * Everything that the window's export reads is checked, once for each {@link BlockSource}.
 */

import type { EventTimes, GapEvent } from "../../trace/index.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import type { StateHistory } from "../checkpoints/state-history.ts"
import { reading } from "../directory/archive-errors.ts"
import type { KindKey } from "../rows/kind-table.ts"
import { type Connection, prepare, type Statement } from "../tables/database.ts"

/** Times are µs since the Unix epoch. */
interface InspectedWindow {
  /** Last sequence number to read. */
  readonly cut: number
  /** Inclusive. */
  readonly fromTime: number
  /** Exclusive. */
  readonly untilTime: number
  readonly times: EventTimes
}

interface BlockOfKind {
  /** Its key: sequence number of its last event, of whatever kind. */
  readonly key: number
  readonly minTime: number
  readonly maxTime: number
  readonly events: number
}

/** Looks for damage through one database connection. */
export class WindowDamage {
  readonly #directory: string
  readonly #source: BlockSource
  readonly #history: StateHistory
  readonly #blocks: Readonly<Record<EventTimes, Statement<BlockOfKind>>>
  readonly #keyOf: Statement<{ readonly key: number }>
  readonly #carried: Statement<BlockOfKind>
  readonly #known = new Map<string, ReadonlyArray<GapEvent>>()

  constructor(database: Connection, source: BlockSource, history: StateHistory, directory: string) {
    this.#directory = directory
    this.#source = source
    this.#history = history
    const blocks = (time: "max_time" | "max_received"): Statement<BlockOfKind> =>
      prepare(
        database,
        `SELECT last_sequence AS key, min_time AS minTime, ${time} AS maxTime, events FROM block_kind
        WHERE kind = ? ORDER BY last_sequence`,
      )
    this.#blocks = { happened: blocks("max_time"), received: blocks("max_received") }
    this.#carried = prepare(
      database,
      "SELECT last_sequence AS key, min_time AS minTime, max_time AS maxTime, events FROM block WHERE last_sequence = ?",
    )
    this.#keyOf = prepare(
      database,
      "SELECT last_sequence AS key FROM block_kind WHERE kind = ? AND last_sequence >= ? ORDER BY last_sequence LIMIT 1",
    )
  }

  /** The gaps of one kind, in the order of its blocks. @throws CorruptArchiveError, ArchiveIoError */
  of(kind: KindKey, window: InspectedWindow): ReadonlyArray<GapEvent> {
    const { cut, fromTime, untilTime, times } = window
    const name = [kind.id, cut, fromTime, untilTime, times].join()
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const gaps = this.#inspect(kind, window)
    this.#known.set(name, gaps)
    return gaps
  }

  /** Whether the event with this sequence number of a kind is in an intact block. */
  isReadable(kind: KindKey, sequence: number): boolean {
    return this.#source.isIntact(this.#keyAt(kind, sequence))
  }

  /** Those of ascending sequence numbers of a kind that are in intact blocks. */
  *readable(kind: KindKey, sequences: Iterable<number>): Generator<number, void, void> {
    let key = -1
    for (const sequence of sequences) {
      if (sequence > key) key = this.#keyAt(kind, sequence)
      if (this.#source.isIntact(key)) yield sequence
    }
  }

  #inspect(kind: KindKey, { cut, fromTime, untilTime, times }: InspectedWindow): ReadonlyArray<GapEvent> {
    const blocks = reading(this.#directory, () => this.#blocks[times].all(kind.id))
    const inWindow = blocks.filter(({ minTime, maxTime }) => maxTime >= fromTime && minTime < untilTime)
    const gaps = new Map<number, GapEvent>()
    const add = (block: BlockOfKind, until: number, lost: string): void => {
      const fault = this.#source.faultOf(block.key)
      if (fault !== undefined) gaps.set(block.key, damageGap(kind, block, { cut, until, lost, fault }))
    }
    const limit = { throughSequence: cut, beforeTime: fromTime, times }
    const needed = new Set<number>()
    const carried = new Set<number>()
    const lastCheckpoint = this.#source.passingOverDamage(() => {
      const alive = this.#history.aliveAt(kind, limit)
      const { throughSequence } = this.#source.beginningNow(kind)
      let [key, next] = [-1, 0]
      for (const sequence of alive.sequences.slice(0, alive.count).sort()) {
        if (sequence > throughSequence) {
          while ((blocks[next]?.key ?? sequence) < sequence) next++
          needed.add(blocks[next]?.key ?? sequence)
        } else if (sequence > key) {
          key = this.#source.keyAt(sequence)
          carried.add(key)
        }
      }
      return this.#history.chainBefore(kind, limit).throughSequence
    })
    for (const block of blocks) {
      if (block.maxTime >= fromTime) break
      if (block.key > lastCheckpoint && this.#source.lacksTable(block.key))
        add(block, fromTime, "what it changed is unknown")
      if (needed.has(block.key) && !this.#source.isIntact(block.key))
        add(block, fromTime, "objects that were last changed in it are missing")
    }
    for (const key of carried) {
      if (!this.#source.isIntact(key))
        add(this.#carriedBlock(key), fromTime, "objects that were last changed in it are missing")
    }
    const lostBeginning = this.#source.lostBeginningOf(kind)
    if (lostBeginning !== undefined) {
      const { throughSequence: key, removedThrough } = this.#source.beginningNow(kind)
      const block = { key, minTime: 0, maxTime: removedThrough, events: 0 }
      const lost = "objects that have not changed since are missing"
      gaps.set(key, {
        ...damageGap(kind, block, { cut, until: fromTime, lost, fault: "" }),
        detail: `${lostBeginning}: ${lost}`,
      })
    }
    for (const block of inWindow) {
      if (!this.#source.isIntact(block.key)) add(block, block.maxTime, `${block.events} changes are missing`)
    }
    return [...gaps.values()]
  }

  #carriedBlock(key: number): BlockOfKind {
    return reading(this.#directory, () => this.#carried.get(key)) ?? { key, minTime: 0, maxTime: 0, events: 0 }
  }

  /** Key of the block that holds an event of a kind; the sequence number itself if none does, which no block has as its key. */
  #keyAt(kind: KindKey, sequence: number): number {
    if (sequence <= this.#source.beginningNow(kind).throughSequence) return this.#source.keyAt(sequence)
    return reading(this.#directory, () => this.#keyOf.get(kind.id, sequence))?.key ?? sequence
  }
}

interface Loss {
  readonly cut: number
  /** µs since the Unix epoch up to which something is missing, if that is later than the block. */
  readonly until?: number
  readonly lost: string
  readonly fault: string
}

/** What a damaged block lacks of a kind. */
export const damageGap = (
  { gvk }: KindKey,
  { key, minTime, maxTime }: Omit<BlockOfKind, "events">,
  { cut, until = 0, lost, fault }: Loss,
): GapEvent => {
  const toTime = Math.max(maxTime, until)
  return {
    ...{ type: "gap", sequence: Math.min(key, cut), time: toTime, gvk, namespace: "" },
    ...{ fromVersion: "", toVersion: "", fromTime: minTime, toTime, reason: "damaged" },
    detail: `the block up to event ${key} is damaged (${fault}): ${lost}`,
  }
}
