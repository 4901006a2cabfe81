/**
 * Frees blocks of what was removed, from where rows say that it was interrupted, and later of carried-over events that are superseded, with the rows
 * of what had ended.
 *
 * Each step is one transaction, some ms, and yields how many events it carried over.
 *
 * Memory: 8 bytes for each live object, and one unpacked block.
 */

import { podLivesKind } from "../../trace/index.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import {
  type BlockRow,
  BlockRows,
  blockFields,
  objectsOf,
  type TableRow,
  tableFields,
  tableOf,
} from "../blocks/block-rows.ts"
import { MergedBlock, type NamesOf } from "../blocks/merged-block.ts"
import { includes, joined, liveSequences, type ObjectStates, type Sequences } from "../checkpoints/object-states.ts"
import { unlessDamaged } from "../directory/archive-errors.ts"
import type { RetainedKinds } from "../rows/beginnings.ts"
import type { KindEntry, KindTable } from "../rows/kind-table.ts"
import { knownNamesOf } from "../rows/object-rows.ts"
import { type Connection, prepare, type Statement } from "../tables/database.ts"
import type { WriterParts } from "./beginning-move.ts"
import { DeadRows } from "./dead-rows.ts"

type Steps<Result> = Generator<number, Result, void>

/** Works through the writer's connection. */
export class Sweeping {
  readonly #parts: WriterParts
  readonly #retained: RetainedKinds
  readonly #sweep: BlockSweep
  readonly #dead: DeadRows

  constructor(parts: WriterParts, retained: RetainedKinds) {
    this.#parts = parts
    this.#retained = retained
    this.#sweep = new BlockSweep(parts.database.shared, parts.kinds)
    this.#dead = new DeadRows(parts.database.shared, parts.owners, (write) => this.#transaction(write))
  }

  /** `known`: by kind what lives on of the events to be removed, as far as it is known. */
  *removed(known: ReadonlyMap<number, Sequences> = new Map()): Steps<void> {
    const due = this.#retained.unswept()
    if (due.length === 0) return
    const live = new Map<number, Sequences>(known)
    for (const { kind, throughSequence } of due) {
      if (live.has(kind)) continue
      live.set(kind, liveSequences(this.#parts.history.aliveAt(this.#parts.kinds.byId(kind), { throughSequence })))
      yield 0
    }
    const through = Math.max(...due.map((row) => row.throughSequence))
    const fateOf = (kind: number, last: number): Fate => {
      const row = this.#retained.get(kind)
      if (row === undefined || row.throughSequence < last) return "kept"
      const sequences = live.get(kind)
      if (row.sweptSequence >= last || sequences === undefined) return "carried"
      return (sequence) => includes(sequences, sequence)
    }
    for (let position = Math.min(...due.map((row) => row.sweptSequence)); position < through; ) {
      let next = through
      let carried = 0
      this.#transaction(() => {
        const swept = this.#sweep.next("any", position, through, fateOf)
        next = swept?.key ?? through
        carried = swept?.carried ?? 0
        for (const row of due) {
          const sweptSequence = Math.max(row.sweptSequence, Math.min(next, row.throughSequence))
          this.#retained.write({ ...row, sweptSequence })
        }
      })
      position = next
      yield carried
    }
    this.#retained.took(due.map((row) => ({ ...row, sweptSequence: row.throughSequence })))
  }

  /** Removes carried-over events that are superseded, and rows of what has ended. Returns how many objects are alive; `undefined`: not now. */
  *collect(): Steps<number | undefined> {
    const { ownerSets, isPending } = this.#parts
    // What waits for a commit may name owners that nothing else names.
    if (isPending()) return undefined
    ownerSets.forget()
    const lastOwnerSet = this.#dead.lastOwnerSet()
    try {
      return yield* this.#collectSince(lastOwnerSet)
    } finally {
      this.#dead.endNoting()
    }
  }

  *#collectSince(lastOwnerSet: number): Steps<number> {
    const { kinds } = this.#parts
    const named = new Set<number>()
    const all: Array<Sequences> = []
    for (const kind of kinds.all()) {
      const alive = this.#aliveAtBeginning(kind)
      all.push(liveSequences(alive))
      yield 0
      yield* counting(this.#dead.objects(kind.id, alive.numbers.subarray(0, alive.count), named))
    }
    const objects = yield* this.#sweepCarried(all)
    const lives = kinds.get(podLivesKind)
    const podRow = lives && this.#retained.get(lives.id)
    if (podRow !== undefined)
      yield* counting(
        this.#dead.pods({ throughSequence: this.#retained.lastSequence(), removedThrough: podRow.removedThrough }),
      )
    yield* counting(this.#dead.owners(named, lastOwnerSet))
    return objects
  }

  /** The same without the rows, so it need not wait for a commit: for a disk on which none finds room, and while frames wait all the time. */
  *superseded(): Steps<number> {
    const all: Array<Sequences> = []
    for (const kind of this.#parts.kinds.all()) {
      all.push(liveSequences(this.#aliveAtBeginning(kind)))
      yield 0
    }
    return yield* this.#sweepCarried(all)
  }

  #aliveAtBeginning(kind: KindEntry): ObjectStates {
    return this.#parts.history.aliveAt(kind, { throughSequence: this.#retained.of(kind.id).throughSequence })
  }

  /** `all`: by kind the events that the states at the beginnings need. Returns how many they are. */
  *#sweepCarried(all: ReadonlyArray<Sequences>): Steps<number> {
    const live = joined(all)
    const through = this.#retained.lastSequence()
    const fateOf = (kind: number, last: number): Fate => {
      const row = this.#retained.get(kind)
      if (row === undefined || row.throughSequence < last) return "kept"
      return (sequence) => includes(live, sequence)
    }
    for (let position = 0; position < through; ) {
      let next = through
      this.#transaction(() => {
        next = this.#sweep.next("carried over", position, through, fateOf)?.key ?? through
      })
      position = next
      yield 0
    }
    return live.length
  }

  #transaction(write: () => void): void {
    this.#parts.database.transaction("retention", write)
  }
}

/** Steps that carry nothing over. */
function* counting(steps: Iterable<void>): Steps<void> {
  for (const _ of steps) yield 0
}

// Frees blocks of events that retention has removed. What the state at the beginning still needs of them is **carried over**: small blocks
// that are no block of any kind, in the place of the ones before.
//
// Each call is one transaction about one block: some ms.

/**
 * Bytes before compression up to which carried-over events are joined with those of the block before: each is then rewritten some times, at
 * a ms each, and the blocks are large enough to compress.
 */
const JOINED_BYTES = 256 * 1024

/** What becomes of the events of a kind in a block. A function says which of them live on. */
type Fate = "kept" | "carried" | ((sequence: number) => boolean)

/** `fateOf` takes the recording's number of a kind, and the last event of the block. */
type Fates = (kind: number, lastSequence: number) => Fate

/** All blocks, or those with events that were carried over. */
type SweptBlocks = "any" | "carried over"

/** A block without its objects. */
interface SweptRow extends TableRow {
  readonly events: number
  readonly carried: number
}

/** A block of which so many events were carried over just now. */
interface Swept {
  readonly key: number
  readonly carried: number
}

/** Works through the writer's connection, inside a transaction of the caller. */
class BlockSweep {
  readonly #kinds: KindTable
  readonly #rows: BlockRows
  readonly #namesOf: NamesOf
  readonly #next: Readonly<Record<SweptBlocks, Statement<SweptRow>>>
  readonly #before: Statement<SweptRow & BlockRow>
  readonly #data: Statement<BlockRow>
  readonly #delete: Statement<never>
  readonly #holds: Statement<unknown>

  constructor(database: Connection, kinds: KindTable) {
    this.#kinds = kinds
    this.#rows = new BlockRows(database)
    this.#namesOf = knownNamesOf(database)
    const next = (which: string): Statement<SweptRow> =>
      prepare(
        database,
        `SELECT ${tableFields}, events, carried FROM block WHERE last_sequence > ? AND last_sequence <= ? AND sealed > 0 ${which}
        ORDER BY last_sequence LIMIT 1`,
      )
    this.#next = { any: next(""), "carried over": next("AND carried > 0") }
    this.#before = prepare(
      database,
      `SELECT ${blockFields}, events, carried FROM block WHERE last_sequence < ? ORDER BY last_sequence DESC LIMIT 1`,
    )
    this.#data = prepare(database, `SELECT ${blockFields} FROM block WHERE last_sequence = ?`)
    this.#holds = prepare(database, "SELECT 1 FROM block_kind WHERE kind = ? AND last_sequence = ?")
    this.#delete = prepare(database, "DELETE FROM block WHERE last_sequence = ?")
  }

  /** Frees the first block after `position` and up to `through`. One with carried-over events stays as it is unless most of them are not needed any more. */
  next(which: SweptBlocks, position: number, through: number, fateOf: Fates): Swept | undefined {
    const row = this.#next[which].get(position, through)
    return row && { key: row.lastSequence, carried: this.#free(row, fateOf, which === "carried over") }
  }

  /** Returns the number of events that were carried over. */
  #free(row: SweptRow, fateOf: Fates, isLenient: boolean): number {
    const { firstSequence, lastSequence } = row
    const table = unlessDamaged(() => tableOf(row, () => this.#data.get(lastSequence)?.data))
    if (table === undefined) return this.#freeDamaged(row, fateOf)
    const parts = table.frames.map((frame) => {
      const fate = fateOf(this.#kinds.idOf(frame.events.gvk), lastSequence)
      return { frame, fate, wanted: fate === "kept" ? 0 : countWanted(frame, fate) }
    })
    const fresh = parts.filter(({ fate }) => typeof fate !== "string")
    if (fresh.length === 0) return 0
    const carried = parts.reduce((sum, { wanted }) => sum + wanted, 0)
    if (isLenient && carried > row.carried / 2) return 0
    const isKept = parts.some(({ fate }) => fate === "kept")
    if (carried === 0 && !isKept) {
      this.#delete.run(lastSequence)
      return 0
    }
    const objects = unlessDamaged(() => {
      const whole = this.#data.get(lastSequence)
      return whole && objectsOf(whole, table)
    })
    // Stays as it is: readers name what they cannot read of it.
    if (objects === undefined) return 0
    const remaining = new MergedBlock(this.#namesOf)
    const { first, joined } = isKept ? { first: firstSequence, joined: 0 } : this.#join(row, remaining)
    for (const { frame, fate } of parts) remaining.add(frame, objects, typeof fate === "string" ? undefined : fate)
    this.#delete.run(lastSequence)
    this.#rows.insertCarried(remaining.pack(first, lastSequence), carried + joined)
    objects.release()
    return fresh.reduce((sum, { wanted }) => sum + wanted, 0)
  }

  /** Takes the block before into the new one if it is small and has nothing but carried-over events. */
  #join(row: SweptRow, into: MergedBlock): { readonly first: number; readonly joined: number } {
    const alone = { first: row.firstSequence, joined: 0 }
    const before = this.#before.get(row.lastSequence)
    if (before === undefined || before.carried !== before.events || before.carried === 0) return alone
    if (before.tocSize + before.dataSize > JOINED_BYTES) return alone
    const content = unlessDamaged(() => {
      const table = tableOf(before, () => before.data)
      return { table, objects: objectsOf(before, table) }
    })
    if (content === undefined) return alone
    for (const frame of content.table.frames) into.add(frame, content.objects)
    this.#delete.run(before.lastSequence)
    return { first: before.firstSequence, joined: before.carried }
  }

  /** What it contains is unknown: it stays if it may be needed, so that readers name it. */
  #freeDamaged({ firstSequence, lastSequence }: SweptRow, fateOf: Fates): number {
    for (const { id } of this.#kinds.all()) {
      const fate = fateOf(id, lastSequence)
      if (typeof fate === "string") continue
      for (let sequence = firstSequence; sequence <= lastSequence; sequence++) if (fate(sequence)) return 0
    }
    if (!this.#kinds.all().some(({ id }) => this.#holds.get(id, lastSequence) !== undefined))
      this.#delete.run(lastSequence)
    return 0
  }
}

const countWanted = (frame: BlockFrame, fate: Fate): number => {
  if (typeof fate === "string") return frame.events.count
  let count = 0
  for (let index = 0; index < frame.events.count; index++) if (fate(frame.sequence(index))) count++
  return count
}

// Events that were carried over: how many there are, and when those of them that are superseded are removed, so that they stay in proportion to what is alive and
// to the limit of bytes.
//
// Each step is one transaction, some ms.

export class CarriedOver {
  readonly #sweeping: Sweeping
  readonly #collectAfter: number
  /** Carried over, or ended, since superseded events were last looked for; and what was alive then. */
  #uncollected: number
  #alive = 0
  #carried = 0
  /** How many had been carried over when superseded ones were last removed alone; `undefined`: never. */
  #supersededThrough: number | undefined

  /** `earlier`: events that earlier processes carried over. `collectAfter`: least number of events after which superseded ones are looked for. */
  constructor(sweeping: Sweeping, earlier: number, collectAfter: number) {
    this.#sweeping = sweeping
    this.#uncollected = earlier
    this.#collectAfter = collectAfter
  }

  /** Events that this process carried over. */
  get count(): number {
    return this.#carried
  }

  /** So many objects ended before the beginning of the recording. */
  noteEnded(objects: number): void {
    this.#uncollected += objects
  }

  /** Frees the blocks of what was removed. `live`: by kind what lives on of it, as far as it is known. */
  *sweep(live?: ReadonlyMap<number, Sequences>): Generator<void, void, void> {
    yield* this.#counted(this.#sweeping.removed(live))
  }

  /**
   * Removes superseded events once there are as many of them as objects that are alive, and at least `collectAfter`, or `most` if that is less. At high rates
   * frames wait for a commit whenever there is a turn: then the rows of what has ended wait for another time, but superseded events do not.
   */
  *collectIfMany(most: number): Generator<void, void, void> {
    const many = Math.max(Math.min(this.#collectAfter, most), this.#alive)
    if (this.#uncollected <= many) return
    yield* this.collect()
    if (this.#uncollected > many && this.#carried - (this.#supersededThrough ?? 0) > many)
      yield* this.removeSuperseded()
  }

  /** Removes superseded events, and the rows of what has ended. */
  *collect(): Generator<void, void, void> {
    const alive = yield* this.#counted(this.#sweeping.collect())
    if (alive === undefined) return
    this.#alive = alive
    this.#uncollected = 0
  }

  /** Removes superseded events alone. Of blocks whose objects change often nearly all is carried over, and on a full disk that cannot wait until there is a lot of it. */
  *removeSuperseded(): Generator<void, void, void> {
    const carried = this.#carried
    if (this.#supersededThrough === carried) return
    this.#alive = yield* this.#counted(this.#sweeping.superseded())
    this.#supersededThrough = carried
  }

  *#counted<Result>(steps: Generator<number, Result, void>): Generator<void, Result, void> {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value
      this.#carried += step.value
      this.#uncollected += step.value
      yield
    }
  }
}
