/**
 * Frees blocks of what was removed, from where rows say that it was interrupted, and later of carried-over events that are superseded, with the rows
 * of what had ended.
 *
 * Each step is one transaction, some ms, and yields how many events it carried over.
 *
 * Memory: 8 bytes for each live object, and one unpacked block.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import { podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import { BlockRows, objectsOf, tableOf } from "../blocks/block-rows.ts"
import { MergedBlock, type NamesOf } from "../blocks/merged-block.ts"
import { includes, joined, liveSequences, type Sequences } from "../checkpoints/object-states.ts"
import { isDamage } from "../directory/archive-errors.ts"
import type { RetainedKinds } from "../rows/beginnings.ts"
import type { KindTable } from "../rows/kind-table.ts"
import { knownNamesOf } from "../rows/object-rows.ts"
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
    this.#dead = new DeadRows(parts.database.shared, (write) => this.#transaction(write))
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
        const swept = this.#sweep.sweep(position, through, fateOf)
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
    const { history, kinds, ownerSets, isPending } = this.#parts
    // What waits for a commit may name owners that nothing else names.
    if (isPending()) return undefined
    ownerSets.forget()
    const lastOwnerSet = this.#dead.lastOwnerSet()
    const named = new Set<number>()
    const all: Array<Sequences> = []
    for (const kind of kinds.all()) {
      const { throughSequence } = this.#retained.of(kind.id)
      const alive = history.aliveAt(kind, { throughSequence })
      all.push(liveSequences(alive))
      yield 0
      yield* counting(this.#dead.objects(kind.id, alive.numbers.subarray(0, alive.count), named))
    }
    const live = joined(all)
    const through = this.#retained.lastSequence()
    yield* this.#sweepCarried(live, through)
    const lives = kinds.get(podLivesKind)
    const podRow = lives && this.#retained.get(lives.id)
    if (podRow !== undefined)
      yield* counting(this.#dead.pods({ throughSequence: through, removedThrough: podRow.removedThrough }))
    yield* counting(this.#dead.owners(named, lastOwnerSet))
    return live.length
  }

  /** The same without the rows, so it need not wait for a commit: for a disk on which none finds room, and while frames wait all the time. */
  *superseded(): Steps<number> {
    const { history, kinds } = this.#parts
    const all: Array<Sequences> = []
    for (const kind of kinds.all()) {
      all.push(liveSequences(history.aliveAt(kind, { throughSequence: this.#retained.of(kind.id).throughSequence })))
      yield 0
    }
    const live = joined(all)
    yield* this.#sweepCarried(live, this.#retained.lastSequence())
    return live.length
  }

  /** `live`: events that the states at the beginnings need. */
  *#sweepCarried(live: Sequences, through: number): Steps<void> {
    const fateOf = (kind: number, last: number): Fate => {
      const row = this.#retained.get(kind)
      if (row === undefined || row.throughSequence < last) return "kept"
      return (sequence) => includes(live, sequence)
    }
    for (let position = 0; position < through; ) {
      let next = through
      this.#transaction(() => {
        next = this.#sweep.sweepCarried(position, through, fateOf)?.key ?? through
      })
      position = next
      yield 0
    }
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
