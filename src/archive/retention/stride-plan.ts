/**
 * Decides what is removed next: from the front, whole blocks of some kinds, at least a thirty-second of what is kept and at most what one step
 * can fold.
 */

import type { KindEntry } from "../rows/kind-table.ts"
import { type Connection, prepare, rowsInPages, type Statement } from "../tables/database.ts"
import { limitsOf, type RetentionPolicy, STRIDES } from "./policy.ts"

// How many bytes the events of each kind have, before compression.
//
// With a limit for each of 150 kinds, adding up all rows of 10,000 blocks takes the writer's thread 60 ms, every few seconds; so what was added up is
// kept, and it takes 1 ms. Blocks do not change once they are sealed, and only the last one may not be.

interface Counted {
  /** The first row and the last that were added up: a kind of which the first is another has lost some at the beginning. */
  readonly first: number
  readonly last: number
  readonly bytes: number
}

/** Reads through the writer's connection. */
export class KindBytes {
  readonly #ends: Statement<{ readonly first: number | null; readonly last: number }>
  readonly #sum: Statement<{ readonly bytes: number }>
  readonly #counted = new Map<number, Counted>()

  constructor(database: Connection) {
    // In one SELECT, both together would read all rows.
    this.#ends = prepare(
      database,
      `SELECT (SELECT min(last_sequence) FROM block_kind WHERE kind = ?1) AS first,
        (SELECT max(last_sequence) FROM block_kind WHERE kind = ?1) AS last`,
    )
    this.#sum = prepare(
      database,
      "SELECT coalesce(sum(bytes), 0) AS bytes FROM block_kind WHERE kind = ? AND last_sequence > ? AND last_sequence < ?",
    )
  }

  /** @throws what SQLite throws */
  of(kind: number): number {
    const { first = null, last = 0 } = this.#ends.get(kind) ?? {}
    if (first === null) return 0
    const before = this.#counted.get(kind)
    const known = before?.first === first ? before : { first, last: first - 1, bytes: 0 }
    const bytes = known.bytes + this.#between(kind, known.last, last)
    this.#counted.set(kind, { first, last: last - 1, bytes })
    return bytes + this.#between(kind, last - 1, last + 1)
  }

  /** Of the rows after `after` and before `before`. */
  #between(kind: number, after: number, before: number): number {
    return this.#sum.get(kind, after, before)?.bytes ?? 0
  }
}

/** The part to be removed. */
export interface PlannedStride {
  /** Those of which events up to `throughSequence` are removed. */
  readonly kinds: ReadonlyArray<KindEntry>
  /** The last event of a block. */
  readonly throughSequence: number
  /** When the last of these events was received, µs since the Unix epoch. */
  readonly removedThrough: number
  /** Keys of the blocks with events of these kinds. */
  readonly blocks: ReadonlyArray<number>
  /** On disk: the share of these kinds. */
  readonly storedBytes: number
}

/** What a stride is planned for. */
interface StrideDemand {
  /** µs since the Unix epoch. */
  readonly nowMicros: number
  /** Bytes that the recording has on disk. */
  readonly used: number
  /** Those beyond its limit, or that are to become free on a full disk. */
  readonly excess: number
  /** Bytes of strides by which the beginning has moved, and which are still on disk. */
  readonly unswept: number
  /** What was received from this moment on is being read, µs since the Unix epoch. */
  readonly leasedFrom: number
  /** Blocks that end after this sequence number stay as they are. */
  readonly heldAfter: number
  /** Whether everything is removed whose time is up, however little that is. */
  readonly isShort: boolean
}

/** Bounds of one stride: its states are written in one transaction, some ms. */
export interface StrideBounds {
  readonly blocks: number
  readonly events: number
  /** A block and a kind in it. */
  readonly rows: number
}

/** Written in 10 ms at most. */
export const strideBounds: StrideBounds = { blocks: 256, events: 32_768, rows: 2048 }

interface BlockOfKinds {
  readonly key: number
  readonly events: number
  readonly rows: number
  readonly maxReceived: number
  /** On disk: the share of these kinds. */
  readonly storedBytes: number
}

/** Rows of a kind per fetch. */
const PAGE_ROWS = 64

/** Plans through the writer's connection. */
export class StridePlan {
  readonly #ofKind: Statement<KindRow>
  readonly #oldest: Statement<{ readonly maxReceived: number }>
  readonly #block: Statement<{ readonly sealed: number; readonly size: number; readonly stored: number }>
  readonly #bytes: KindBytes
  readonly #bounds: StrideBounds
  #leasedFrom = Number.POSITIVE_INFINITY
  #heldAfter = Number.POSITIVE_INFINITY

  constructor(database: Connection, bounds: StrideBounds) {
    this.#bounds = bounds
    this.#ofKind = prepare(
      database,
      `SELECT last_sequence AS lastSequence, max_received AS maxReceived, events, bytes FROM block_kind
      WHERE kind = ? AND last_sequence > ? ORDER BY last_sequence LIMIT ${PAGE_ROWS}`,
    )
    this.#oldest = prepare(
      database,
      "SELECT max_received AS maxReceived FROM block_kind WHERE kind = ? ORDER BY last_sequence LIMIT 1",
    )
    this.#block = prepare(
      database,
      "SELECT sealed, toc_size + data_size AS size, length(toc) + length(data) AS stored FROM block WHERE last_sequence = ?",
    )
    this.#bytes = new KindBytes(database)
  }

  /** What is removed next; `undefined`: nothing for now. @throws what SQLite throws */
  next(
    policy: RetentionPolicy,
    kinds: ReadonlyArray<KindEntry>,
    { nowMicros, used, excess, unswept, leasedFrom, heldAfter, isShort }: StrideDemand,
  ): PlannedStride | undefined {
    this.#leasedFrom = leasedFrom
    this.#heldAfter = heldAfter
    // Of what there is: the limit may be much larger than the disk.
    const wanted = excess + Math.min(used, policy.bytes ?? 0) / STRIDES - unswept
    if (excess > 0 && wanted > 0) return this.#ofBytes(kinds, wanted)
    for (const [forMicros, members] of groups(policy, kinds)) {
      if (forMicros === undefined) continue
      const found = this.#ofTime(members, nowMicros - forMicros, isShort ? 0 : forMicros / STRIDES)
      if (found !== undefined) return found
    }
    for (const kind of kinds) {
      const { bytes } = limitsOf(policy, kind.gvk)
      const found = bytes === undefined ? undefined : this.#ofKindBytes(kind, bytes)
      if (found !== undefined) return found
    }
    return undefined
  }

  #ofBytes(kinds: ReadonlyArray<KindEntry>, bytes: number): PlannedStride | undefined {
    let left = bytes
    return this.#stride(kinds, (block) => {
      const isWanted = left > 0
      left -= block.storedBytes
      return isWanted
    })
  }

  /** `expiry`: what was received before is removed, once the oldest was received `slack` µs before it. */
  #ofTime(kinds: ReadonlyArray<KindEntry>, expiry: number, slack: number): PlannedStride | undefined {
    const isDue = kinds.some(({ id }) => {
      const row = this.#oldest.get(id)
      return row !== undefined && row.maxReceived < expiry - slack
    })
    return isDue ? this.#stride(kinds, ({ maxReceived }) => maxReceived < expiry) : undefined
  }

  #ofKindBytes(kind: KindEntry, limit: number): PlannedStride | undefined {
    let [size, stored] = [0, 0]
    for (const { lastSequence } of this.#ofKind.all(kind.id, 0).slice(0, 8)) {
      const block = this.#block.get(lastSequence)
      size += block?.size ?? 0
      stored += block?.stored ?? 0
    }
    const all = this.#bytes.of(kind.id)
    const excess = size === 0 ? 0 : (all * stored) / size - limit
    return excess <= 0 ? undefined : this.#ofBytes([kind], excess + limit / STRIDES)
  }

  /** The blocks of these kinds from the oldest on, as long as they are wanted, sealed and not too many. */
  #stride(kinds: ReadonlyArray<KindEntry>, isWanted: (block: BlockOfKinds) => boolean): PlannedStride | undefined {
    const blocks: Array<number> = []
    let [events, rows, removedThrough, storedBytes] = [0, 0, 0, 0]
    for (const block of this.#blocksOf(kinds)) {
      const isTooMuch =
        blocks.length > 0 &&
        (blocks.length >= this.#bounds.blocks ||
          events + block.events > this.#bounds.events ||
          rows + block.rows > this.#bounds.rows)
      const isKept = block.key > this.#heldAfter || block.maxReceived >= this.#leasedFrom
      if (isTooMuch || isKept || !isWanted(block)) break
      blocks.push(block.key)
      events += block.events
      rows += block.rows
      removedThrough = Math.max(removedThrough, block.maxReceived)
      storedBytes += block.storedBytes
    }
    const throughSequence = blocks.at(-1)
    return throughSequence === undefined ? undefined : { kinds, throughSequence, removedThrough, blocks, storedBytes }
  }

  /** Sealed blocks with events of any of these kinds, from the oldest on. */
  *#blocksOf(kinds: ReadonlyArray<KindEntry>): Generator<BlockOfKinds, void, void> {
    const cursors = kinds.map(({ id }) => new KindCursor(this.#ofKind, id))
    for (;;) {
      const key = Math.min(...cursors.map((cursor) => cursor.key))
      if (key === Number.POSITIVE_INFINITY) return
      const block = this.#block.get(key)
      if (block?.sealed === 0) return
      let [events, rows, maxReceived, bytes] = [0, 0, 0, 0]
      for (const cursor of cursors) {
        const { row } = cursor
        if (row?.lastSequence !== key) continue
        events += row.events
        rows++
        maxReceived = Math.max(maxReceived, row.maxReceived)
        bytes += row.bytes
        cursor.advance()
      }
      // A block whose row is lost takes nothing.
      const share = block === undefined ? 0 : bytes / Math.max(1, block.size)
      yield { key, events, rows, maxReceived, storedBytes: share * (block?.stored ?? 0) }
    }
  }
}

/** Kinds by their limit of time: those with the same one are removed together, so that a block of them is rewritten once. */
const groups = (
  policy: RetentionPolicy,
  kinds: ReadonlyArray<KindEntry>,
): ReadonlyMap<number | undefined, ReadonlyArray<KindEntry>> =>
  Map.groupBy(kinds, ({ gvk }) => limitsOf(policy, gvk).forMicros ?? policy.forMicros)

/** A block as one of its kinds describes it. */
interface KindRow {
  readonly lastSequence: number
  readonly maxReceived: number
  readonly events: number
  readonly bytes: number
}

/** The blocks of one kind in order. */
class KindCursor {
  readonly #rows: Generator<KindRow, void, void>
  /** `undefined`: there are no more. */
  row: KindRow | undefined

  constructor(rows: Statement<KindRow>, kind: number) {
    this.#rows = rowsInPages(PAGE_ROWS, (last: KindRow | undefined) => rows.all(kind, last?.lastSequence ?? 0))
    this.advance()
  }

  /** Infinity: there are no more. */
  get key(): number {
    return this.row?.lastSequence ?? Number.POSITIVE_INFINITY
  }

  advance(): void {
    this.row = this.#rows.next().value ?? undefined
  }
}
