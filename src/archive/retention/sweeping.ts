/**
 * Frees blocks of what was removed, from where rows say that it was interrupted, and later of carried-over events that are superseded, with the rows
 * of what had ended.
 *
 * Each step is one transaction, some ms, and yields how many events it carried over.
 *
 * Memory: 8 bytes for each live object, and one unpacked block.
 */
import { podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import { BlockSweep, type Fate } from "./block-sweep.ts"
import { DeadRows } from "./dead-rows.ts"
import type { RetainedKinds } from "./retained-kinds.ts"
import { includes, joined, liveSequences, type Sequences } from "./sequences.ts"
import type { WriterParts } from "./writer-parts.ts"

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
