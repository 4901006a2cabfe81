/**
 * The threads of modules: some that modules share, and one for each module that has held up others.
 *
 * Of a worker that is removed nothing is left, neither here nor at hub and executor. Its name is used again, so that names are few.
 */
import type { ActorSystem } from "../../../runtime/actor-system.ts"
import type { Supervisor } from "../../../runtime/supervisor.ts"
import type { ExecutorConfig, ExecutorControl, ExecutorReport } from "../../executor/actor/definition.ts"
import type { HubConfig, HubControl, HubReport } from "../../hub/definition.ts"
import { failureOf } from "../actor-calls.ts"
import type { ModuleWorkerReport } from "../worker/definition.ts"
import { subscriptionMemory } from "../worker/subscription-numbers.ts"
import { type PlaceOptions, WorkerPlace } from "../worker-place.ts"

export interface WorkerPoolOptions
  extends Pick<PlaceOptions, "start" | "clock" | "imageDirectory" | "unloadAfterMs" | "deadlineMs" | "restart"> {
  readonly system: ActorSystem
  readonly hub: Supervisor<HubConfig, HubControl, HubReport>
  readonly executor: Supervisor<ExecutorConfig, ExecutorControl, ExecutorReport>
  /** Workers that modules share; at least 1. */
  readonly shared: number
  readonly onReport: (worker: WorkerPlace, report: ModuleWorkerReport) => void
  /** A thread has ended, for the fault of the module of that slot, if it was in one. It is started again soon. */
  readonly onGone: (worker: WorkerPlace, slot: number | undefined, reason: string) => void
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #workers = new Map<string, WorkerPlace>()
  readonly #subscriptions = subscriptionMemory()
  #lastLife = 0
  readonly shared: ReadonlyArray<WorkerPlace>

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.shared = Array.from({ length: options.shared }, () => this.spawn())
  }

  /** All that are there. */
  get all(): ReadonlyArray<WorkerPlace> {
    return [...this.#workers.values()]
  }

  get(name: string): WorkerPlace | undefined {
    return this.#workers.get(name)
  }

  isShared(worker: WorkerPlace): boolean {
    return this.shared.includes(worker)
  }

  /** A further worker, for one module alone. */
  spawn(): WorkerPlace {
    const { onReport, onGone, shared: _, ...options } = this.#options
    let number = 1
    while (this.#workers.has(`modules ${number}`)) number++
    const name = `modules ${number}`
    const worker: WorkerPlace = new WorkerPlace({
      ...options,
      name,
      subscriptions: this.#subscriptions,
      nextLife: () => ++this.#lastLife,
      onReport: (report) => onReport(worker, report),
      onGone: (slot, reason) => onGone(worker, slot, reason),
    })
    this.#workers.set(name, worker)
    return worker
  }

  /** Ends a worker that is not shared. Resolves when nothing is left of it. */
  async remove(worker: WorkerPlace): Promise<void> {
    const { system, hub, executor } = this.#options
    const { name } = worker
    await system.remove(name)
    worker.close()
    // One that is gone has forgotten it already.
    await failureOf(hub.call("forget", { receiver: name }))
    await failureOf(executor.call("forgetWorker", name))
    this.#workers.delete(name)
  }

  /** Stops watching. The system stops the threads. */
  close(): void {
    for (const worker of this.#workers.values()) worker.close()
  }
}
