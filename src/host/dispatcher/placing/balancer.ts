/**
 * Watches how busy the modules of a host are, and has them moved when the workers are loaded unequally for some time (placement.ts). Reads
 * counters in shared memory, so that no worker is woken for it.
 */
import type { Clock, Timer } from "../../../clock.ts"
import type { BusyWindow } from "./busy-time.ts"
import { type ModuleLoad, MovePlanner, type MovePolicy, type PlannedMove } from "./placement.ts"

/** How load is measured, and when modules move. */
export interface BalancePolicy {
  /** ms between two looks. Default 1000: a look costs a microsecond for each module. */
  readonly everyMs: number
  /** ms over which load is measured. Default 5000. */
  readonly windowMs: number
  readonly move: MovePolicy
}

/** A module that runs on a shared worker. */
export interface BalancedModule {
  readonly name: string
  readonly worker: string
  readonly busy: BusyWindow
  readonly isMovable: boolean
}

export interface BalancerOptions {
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly policy: BalancePolicy
  /** Names of the shared workers whose threads run. */
  readonly workers: () => ReadonlyArray<string>
  readonly modules: () => ReadonlyArray<BalancedModule>
  readonly move: (plan: PlannedMove) => void
}

export class Balancer {
  readonly #options: BalancerOptions
  readonly #planner: MovePlanner
  #timer: Timer

  /** Looks until {@link close}. */
  constructor(options: BalancerOptions) {
    this.#options = options
    this.#planner = new MovePlanner(options.policy.move)
    this.#timer = this.#schedule()
  }

  /** Of all modules on shared workers, as they were measured last. */
  loads(): ReadonlyArray<ModuleLoad> {
    return this.#options.modules().map(({ name, worker, busy, isMovable }) => ({
      module: name,
      worker,
      share: busy.share,
      // What a module needs is not known before.
      isMovable: isMovable && busy.isFull,
    }))
  }

  close(): void {
    this.#timer.cancel()
  }

  #schedule(): Timer {
    const { clock, policy } = this.#options
    return clock.after(policy.everyMs, () => {
      this.#timer = this.#schedule()
      this.#look()
    })
  }

  #look(): void {
    const { clock, workers, modules, move } = this.#options
    const now = clock.monotonicMs()
    for (const { busy } of modules()) busy.sample(now)
    const plan = this.#planner.observe(now, workers(), this.loads())
    if (plan !== undefined) move(plan)
  }
}
