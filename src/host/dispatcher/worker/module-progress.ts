/**
 * The checkpoint of one module in its worker: rows of its watches are passed on once what they say is on disk.
 *
 * Guaranteed: rows are passed in the order in which they came. While the file cannot be written they wait here, and the module is to be paused
 * at the hub ({@link ModuleProgress.isWaiting}), so that what waits is bounded by what was under way. No other module waits. A deletion is
 * removed some time after the guest has returned from the call with it ({@link removeAfterMs}), so it comes again if the process ends before.
 */
import type { Clock, Timer } from "../../../clock.ts"
import { messageOf } from "../../../message-of.ts"
import { Checkpoint } from "../../checkpoint/checkpoint.ts"
import type { KnownObjects } from "../../checkpoint/known-objects.ts"
import type { WatchRequest } from "../../guest/abi-values.ts"
import { type EnteredRow, selectionName, WatchProgress } from "./watch-progress.ts"

interface ModuleProgressOptions {
  readonly directory: string
  readonly module: string
  readonly clock: Pick<Clock, "after" | "wallMicros">
  /** Upper limit of the file in bytes. Default: the disk's. */
  readonly maximumBytes?: number | undefined
  /** Gets each row for the guest once it is durable. */
  readonly pass: (subscription: number, row: EnteredRow) => void
  /** The module waits for the disk no longer. */
  readonly changed: () => void
  /** Gets what an operator should see. */
  readonly say: (detail: string) => void
}

interface Held {
  readonly subscription: number
  readonly row: EnteredRow
}

/** ms between two attempts to write. */
const retryMs = 1000

/**
 * ms from the return of the guest to the removal: what it asked for in the call has left the process by then, which a removal at once would not
 * wait for. One commit for the removals of a second is also cheaper than one for each.
 */
export const removeAfterMs = 1000

export class ModuleProgress {
  readonly #options: ModuleProgressOptions
  readonly #checkpoint: Checkpoint
  /** Of the open watches, by name. */
  readonly #watches = new Map<string, WatchProgress>()
  #held: Held[] = []
  /** Removals for the deletions from whose calls the guest has returned since the last removal. */
  #returned: Array<() => void> = []
  #removal: Timer | undefined
  #problem: string | undefined
  #retry: Timer | undefined

  /** Throws `CheckpointUnavailable`. */
  constructor(options: ModuleProgressOptions) {
    const { directory, module, clock, maximumBytes, say } = options
    this.#options = options
    this.#checkpoint = new Checkpoint({ directory, name: `module-${module}`, clock, maximumBytes, say })
  }

  /** The file cannot be written. */
  get isWaiting(): boolean {
    return this.#problem !== undefined
  }

  /** For a watch that begins. Several of one selection have a row for each object each. */
  begin(request: WatchRequest): WatchProgress {
    const selection = selectionName(request)
    let name = selection
    for (let number = 2; this.#watches.has(name); number++) name = `${selection} ${number}`
    const watch = new WatchProgress(this.#checkpoint.selection(name))
    this.#watches.set(name, watch)
    return watch
  }

  /** The watch has ended. What it knew is compared with the state with which the next one begins. */
  end(watch: WatchProgress): void {
    for (const [name, open] of this.#watches) if (open === watch) this.#watches.delete(name)
  }

  /** Rows to pass on with the next {@link settle}. */
  hold(subscription: number, rows: ReadonlyArray<EnteredRow>): void {
    // Rows that come while others wait for the disk outlive their frame.
    for (const row of rows) this.#held.push({ subscription, row: this.isWaiting ? kept(row) : row })
  }

  /** Commits, and passes on what was held. */
  settle(): void {
    if (this.#retry !== undefined) return
    const { clock, pass, changed, say } = this.#options
    try {
      this.#checkpoint.commit()
    } catch (cause) {
      const problem = messageOf(cause)
      if (problem !== this.#problem) say(`it waits: ${problem}`)
      if (!this.isWaiting) this.#held = this.#held.map(({ subscription, row }) => ({ subscription, row: kept(row) }))
      this.#problem = problem
      this.#retry = clock.after(retryMs, () => {
        this.#retry = undefined
        this.settle()
      })
      return
    }
    const hadProblem = this.isWaiting
    this.#problem = undefined
    for (const { subscription, row } of this.#held.splice(0)) pass(subscription, row)
    if (!hadProblem) return
    say("it goes on: its checkpoint is written")
    changed()
  }

  /** The guest has returned from the call with a deletion, that of this generation. */
  returned(known: KnownObjects, uid: string, generation: number): void {
    this.#returned.push(() => known.forget(uid, generation))
    this.#removal ??= this.#options.clock.after(removeAfterMs, () => {
      this.#removal = undefined
      for (const forget of this.#returned.splice(0)) forget()
      this.settle()
    })
  }

  /** Frees the file. What is held is not passed on, and what was not removed stays: the next instance gets it. */
  close(): void {
    this.#retry?.cancel()
    this.#removal?.cancel()
    this.#held = []
    this.#checkpoint.close()
  }
}

const kept = (row: EnteredRow): EnteredRow => ({ ...row, bytes: Buffer.from(row.bytes) })
