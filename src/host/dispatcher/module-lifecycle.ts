/**
 * The life of one module, as a state machine: when it is started, where, and what its end means.
 *
 * - One that ends by itself (a trap, an exit, its memory limit) is started again after a back-off, in the same worker.
 * - One in which its worker ended, usually because it did not return within its deadline, is started again after a back-off in a worker of
 *   its own, and stays alone until its file is replaced.
 * - One whose worker ended for another's fault is started again at once.
 */
import { BackOff, type BackOffPolicy } from "../../runtime/index.ts"
import type { InstanceStatistics } from "./worker/module-worker-interface.ts"

/** As Kubernetes restarts containers, but sooner at first: 1 s doubling to 5 min, forgotten after 10 min without an end. */
export const moduleBackOff: BackOffPolicy = {
  initialMs: 1000,
  maximumMs: 300_000,
  factor: 2,
  jitter: 0.2,
  resetAfterMs: 600_000,
}

export type ModulePhase = "new" | "running" | "waiting" | "removed"

/** What an operator can see of a WebAssembly module. */
export interface ModuleStatus {
  readonly name: string
  /** `refused`: its file is no module that can run. */
  readonly phase: ModulePhase | "refused"
  /** Why the last instance ended, or why the module is refused. */
  readonly reason: string
  readonly restarts: number
  readonly isAlone: boolean
  readonly worker: string
  /** Rows of its watches that have not arrived, in all its instances: 0, or there is a bug. Each time its watch was ended, so it lists again. */
  readonly missed: number
  /** Absent while it is not running, or its worker does not answer. */
  readonly instance?: InstanceStatistics
}

/** A thread of modules. */
export interface WorkerStatus {
  readonly name: string
  readonly modules: number
}

export type LifecycleInput =
  | { readonly type: "start" }
  /** The guest has ended: why, for people. */
  | { readonly type: "ended"; readonly reason: string }
  /** Its worker ended while it was in it: it did not return within its deadline, or the thread could not bear it. */
  | { readonly type: "worker-lost"; readonly reason: string }
  /** Its worker ended while another module was in it, or none. */
  | { readonly type: "worker-gone" }
  /** The back-off is over. */
  | { readonly type: "retry" }
  | { readonly type: "remove" }

type LifecycleCommand =
  /** Make an instance: `incarnation` tells its results from those of former ones. */
  | { readonly type: "place"; readonly incarnation: number }
  /** End the instance and everything that it asked for. */
  | { readonly type: "release"; readonly incarnation: number }
  | { readonly type: "retry-after"; readonly delayMs: number }

const nothing: ReadonlyArray<LifecycleCommand> = []

export class ModuleLifecycle {
  readonly #backOff: BackOff
  readonly #nowMs: () => number
  readonly #nextIncarnation: () => number
  #phase: ModulePhase = "new"
  #incarnation = 0
  #isAlone = false
  #restarts = 0
  #reason = ""

  /**
   * `random` returns a number in [0, 1), `nowMs` monotonic ms. `nextIncarnation` returns numbers above 0 that increase, also from one module
   * to the next of its name: what the former left under way, at its worker or the executor, must not be taken for the next one's.
   */
  constructor(
    nowMs: () => number,
    random: () => number,
    nextIncarnation: () => number,
    policy: BackOffPolicy = moduleBackOff,
  ) {
    this.#nowMs = nowMs
    this.#nextIncarnation = nextIncarnation
    this.#backOff = new BackOff(policy, random)
  }

  get phase(): ModulePhase {
    return this.#phase
  }

  /** It has a worker of its own, because it held one up. */
  get isAlone(): boolean {
    return this.#isAlone
  }

  /** Of the present or the last instance; 0 before the first. */
  get incarnation(): number {
    return this.#incarnation
  }

  /** Instances that have replaced others. */
  get restarts(): number {
    return this.#restarts
  }

  /** Why the last instance ended; the empty string if none has. */
  get reason(): string {
    return this.#reason
  }

  /** Returns what to do now, in that order. An input that does not fit the phase changes nothing: it concerns an earlier instance. */
  step(input: LifecycleInput): ReadonlyArray<LifecycleCommand> {
    switch (input.type) {
      case "start":
        return this.#phase === "new" ? this.#place() : nothing
      case "retry":
        return this.#phase === "waiting" ? this.#place() : nothing
      case "worker-gone":
        if (this.#phase !== "running") return nothing
        return [this.#release(), ...this.#place()]
      case "ended":
        return this.#phase === "running" ? this.#wait(input.reason) : nothing
      case "worker-lost":
        if (this.#phase !== "running") return nothing
        this.#isAlone = true
        return this.#wait(input.reason)
      case "remove": {
        const wasRunning = this.#phase === "running"
        this.#phase = "removed"
        return wasRunning ? [this.#release()] : nothing
      }
    }
  }

  #place(): ReadonlyArray<LifecycleCommand> {
    if (this.#incarnation > 0) this.#restarts++
    this.#phase = "running"
    this.#incarnation = this.#nextIncarnation()
    return [{ type: "place", incarnation: this.#incarnation }]
  }

  #wait(reason: string): ReadonlyArray<LifecycleCommand> {
    this.#phase = "waiting"
    this.#reason = reason
    return [this.#release(), { type: "retry-after", delayMs: this.#backOff.next(this.#nowMs()) }]
  }

  #release(): LifecycleCommand {
    return { type: "release", incarnation: this.#incarnation }
  }
}
