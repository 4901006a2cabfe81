/**
 * The modules of one worker, entered in turn.
 *
 * Guaranteed: a module with much to do delays the others of its worker by at most its slice per round, apart from one call that takes
 * longer itself; between two rounds the event loop runs, so that frames are received. While nothing waits, nothing runs but one timer for
 * modules that may be unloaded.
 */
import type { Clock, Timer } from "../../../clock.ts"
import type { ModuleRunner } from "./module-runner.ts"

interface TableOptions {
  readonly clock: Pick<Clock, "after">
  /** Calls `action` soon, after what the event loop has waiting: setImmediate. */
  readonly soon: (action: () => void) => void
  /** ms in which one module may be entered again and again before it is the next one's turn. Default 5. */
  readonly sliceMs?: number
  /** ms without an entry after which a module is unloaded. `undefined`: never. */
  readonly unloadAfterMs: number | undefined
  /** Called after each round in which modules may have run. */
  readonly afterRound?: () => void
}

export class RunnerTable {
  readonly #options: TableOptions
  readonly #sliceMs: number
  readonly #runners = new Map<number, ModuleRunner>()
  #isScheduled = false
  #idleTimer: Timer | undefined

  constructor(options: TableOptions) {
    this.#options = options
    this.#sliceMs = options.sliceMs ?? 5
  }

  /** `slot` identifies the module within its host. */
  add(slot: number, runner: ModuleRunner): void {
    if (this.#runners.has(slot)) throw new Error(`slot ${slot} is taken`)
    this.#runners.set(slot, runner)
    this.schedule()
  }

  /** Ends the module; it is not entered again. */
  remove(slot: number): void {
    this.#runners.get(slot)?.close()
    this.#runners.delete(slot)
  }

  /** Something may wait for a module. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.soon(() => this.#round())
  }

  close(): void {
    this.#idleTimer?.cancel()
    for (const slot of [...this.#runners.keys()]) this.remove(slot)
  }

  #round(): void {
    this.#isScheduled = false
    let isMore = false
    for (const runner of [...this.#runners.values()]) if (runner.run(this.#sliceMs)) isMore = true
    this.#options.afterRound?.()
    if (isMore) this.schedule()
    this.#watchIdleness()
  }

  #watchIdleness(): void {
    const { clock, unloadAfterMs } = this.#options
    if (unloadAfterMs === undefined || this.#idleTimer !== undefined) return
    if (![...this.#runners.values()].some(({ isLoaded }) => isLoaded)) return
    // Half the time: a module is unloaded after one to one and a half times of it, with few wake-ups.
    this.#idleTimer = clock.after(unloadAfterMs / 2, () => {
      this.#idleTimer = undefined
      for (const runner of this.#runners.values()) runner.unloadIfIdle(unloadAfterMs)
      this.#watchIdleness()
    })
  }
}
