/**
 * What a controller with a checkpoint knows, over the lives of its process.
 *
 * Guaranteed: an object is in the checkpoint before a run begins that could see it; while the file cannot be written, no run begins. A deletion stays in
 * it until all the runs that it woke have succeeded or were given up, so it is delivered at least once, whatever ends the process meanwhile.
 */
import type { Clock, Timer } from "../../../clock.ts"
import type { ApiObject } from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import type { ObjectChange } from "../../cache/change-feed.ts"
import { keyOf } from "../../cache/object-cache.ts"
import { Checkpoint } from "../../checkpoint/checkpoint.ts"
import { type KnownObjects, StateComparison } from "../../checkpoint/known-objects.ts"
import type { Selection } from "../define-controller.ts"

/** Where the controllers of a process keep their checkpoints. */
export interface CheckpointLocation {
  /** Made if it does not exist. For one process at a time. */
  readonly directory: string
  /** Upper limit of each controller's file in bytes. Default: the disk's. */
  readonly maximumBytes?: number | undefined
}

interface ProgressOptions extends CheckpointLocation {
  readonly controller: string
  /** Those that wake the controller, in the order of its sources. */
  readonly selections: ReadonlyArray<Selection>
  readonly clock: Clock
  readonly say: (detail: string) => void
}

/** A deletion that the controller has not dealt with. */
interface OwedDeletion {
  readonly known: KnownObjects
  readonly uid: string
  readonly generation: number
  /** Those of which no run has succeeded or was given up since. */
  readonly keys: Set<string>
}

/** A change of which a checkpoint has taken note. */
export interface EnteredChange {
  readonly change: ObjectChange<ApiObject>
  /** Of a deletion: which one of the object it is. */
  readonly generation: number | undefined
}

/** ms between two attempts to write: a full disk is noticed to be free again within a second. */
const retryMs = 1000
/** ms for which removals are gathered: they are not urgent, and one commit for all costs as much as one for each. */
const gatherMs = 50

export class DurableProgress {
  readonly #options: ProgressOptions
  readonly #checkpoint: Checkpoint
  readonly #known: ReadonlyArray<KnownObjects>
  readonly #owed = new Map<string, Set<OwedDeletion>>()
  /** Resolves when the file can be written again. */
  #written = Promise.withResolvers<void>()
  #timer: Timer | undefined
  #problem: string | undefined
  #isClosed = false

  /** Throws `CheckpointUnavailable`. */
  constructor(options: ProgressOptions) {
    const { directory, maximumBytes, controller, selections, clock, say } = options
    this.#options = options
    this.#checkpoint = new Checkpoint({ directory, name: `controller-${controller}`, clock, maximumBytes, say })
    this.#known = namesOf(selections).map((name) => this.#checkpoint.selection(name))
  }

  /** The file cannot be written. */
  get isWaiting(): boolean {
    return this.#problem !== undefined
  }

  /** What was deleted since the last term, with the last state known: apiVersion, kind, and of the metadata names, labels and owners. */
  deletedMeanwhile(source: number, present: Iterable<ApiObject>): ReadonlyArray<ObjectChange<ApiObject>> {
    const known = this.#of(source)
    const comparison = new StateComparison(known.all())
    const gone: ApiObject[] = []
    for (const object of present) gone.push(...comparison.seen(keyOf(object), object.metadata.uid ?? ""))
    gone.push(...comparison.completed())
    return gone.map((previous) => ({ previous, current: undefined, isFinalStateUnknown: true }))
  }

  /** Enters changes of a source, before the controller gets them. */
  enter(source: number, changes: ReadonlyArray<ObjectChange<ApiObject>>): ReadonlyArray<EnteredChange> {
    const known = this.#of(source)
    const entered = changes.map((change) => {
      const { previous, current } = change
      if (current !== undefined) known.know(current)
      const uid = current === undefined ? previous?.metadata.uid : undefined
      return { change, generation: uid === undefined ? undefined : known.gone(uid) }
    })
    this.#write()
    return entered
  }

  /** A change has woken these keys; none if it concerns nothing. Only deletions matter. */
  woke(source: number, { change, generation }: EnteredChange, keys: ReadonlySet<string>): void {
    const known = this.#of(source)
    const uid = change.previous?.metadata.uid
    if (uid === undefined || generation === undefined) return
    const owed: OwedDeletion = { known, uid, generation, keys: new Set(keys) }
    for (const key of keys) this.#owed.set(key, (this.#owed.get(key) ?? new Set()).add(owed))
    if (keys.size === 0) this.#forget(owed)
  }

  /** The deletions that a run of the key deals with which begins now. */
  owedTo(key: string): ReadonlyArray<OwedDeletion> {
    return [...(this.#owed.get(key) ?? [])]
  }

  /** That run has succeeded or was given up. */
  dealtWith(key: string, deletions: ReadonlyArray<OwedDeletion>): void {
    const ofKey = this.#owed.get(key)
    for (const owed of deletions) {
      ofKey?.delete(owed)
      owed.keys.delete(key)
      if (owed.keys.size === 0) this.#forget(owed)
    }
    if (ofKey?.size === 0) this.#owed.delete(key)
  }

  /** Resolves when everything that was entered is on disk. Rejects with the reason of the signal if that is aborted first. */
  async durable(signal: AbortSignal): Promise<void> {
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
    const listener = (): void => stop()
    // Removed afterwards: the signal lives as long as the term, and each run waits here.
    signal.addEventListener("abort", listener)
    try {
      while (this.isWaiting && !signal.aborted) await Promise.race([this.#written.promise, stopped])
    } finally {
      signal.removeEventListener("abort", listener)
    }
    signal.throwIfAborted()
  }

  /** The term is over. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#checkpoint.close()
  }

  #of(source: number): KnownObjects {
    const known = this.#known[source]
    if (known === undefined) throw new RangeError(`there is no source ${source}`)
    return known
  }

  #forget({ known, uid, generation }: OwedDeletion): void {
    known.forget(uid, generation)
    if (!this.#isClosed) this.#timer ??= this.#options.clock.after(gatherMs, () => this.#write())
  }

  #write(): void {
    const { controller, clock, say } = this.#options
    this.#timer?.cancel()
    this.#timer = undefined
    try {
      this.#checkpoint.commit()
    } catch (cause) {
      const problem = messageOf(cause)
      if (problem !== this.#problem) say(`${controller} waits: ${problem}`)
      this.#problem = problem
      this.#timer = clock.after(retryMs, () => this.#write())
      return
    }
    if (this.#problem === undefined) return
    this.#problem = undefined
    say(`${controller} continues: its checkpoint is written`)
    this.#written.resolve()
    this.#written = Promise.withResolvers()
  }
}

/** Stable over releases of the controller: by what is selected. Equal ones are numbered, because each has its own map or predicate. */
const namesOf = (selections: ReadonlyArray<Selection>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  return selections.map(({ kind, namespace, labelSelector, fieldSelector }) => {
    const name = JSON.stringify([kind, namespace ?? "", labelSelector ?? "", fieldSelector ?? ""])
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return count === 1 ? name : `${name} ${count}`
  })
}
