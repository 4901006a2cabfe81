/**
 * The threads of modules: some that modules share, and one for each module that has held up others.
 *
 * Of a worker that is removed nothing is left, neither here nor at hub and executor. Its name is used again, so that names are few.
 */
import type { Clock } from "../../clock.ts"
import type { ActorState, ActorSystem, RestartPolicy, StartThread, Supervisor } from "../../runtime/index.ts"
import { completionsMailbox, type Executor, operationsMailbox } from "../executor/executor-interface.ts"
import { deliveriesMailbox, type Hub } from "../hub/hub-interface.ts"
import { ask, failureOf } from "./actor-calls.ts"
import { EntryWatch, entryMarkBytes, takeLastEntry } from "./worker/entry-mark.ts"
import {
  type ModuleWorkerConfig,
  type ModuleWorkerControl,
  type ModuleWorkerReport,
  moduleWorkerDefinition,
} from "./worker/module-worker-interface.ts"

interface WorkerPoolOptions {
  readonly system: ActorSystem
  readonly hub: Hub
  readonly executor: Executor
  /** Workers that modules share; at least 1. */
  readonly shared: number
  readonly start: StartThread
  readonly clock: Clock
  /** ms that a call of the module of that slot may take. */
  readonly deadlineMs: (slot: number) => number
  readonly restart: RestartPolicy
  readonly onReport: (worker: WorkerPlace, report: ModuleWorkerReport) => void
  /** A thread has ended, for the fault of the module of that slot, if it was in one. It is started again soon. */
  readonly onGone: (worker: WorkerPlace, slot: number | undefined, reason: string) => void
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #workers = new Map<string, WorkerPlace>()
  readonly #lastSubscription = new SharedArrayBuffer(4)
  /** The name of a worker that has ended is used again, so its lives are counted with those of all others. */
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
    let number = 1
    while (this.#workers.has(`modules ${number}`)) number++
    const name = `modules ${number}`
    const worker = new WorkerPlace(name, this.#options, this.#lastSubscription, () => ++this.#lastLife)
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

/** One thread: an actor, its mailboxes, and the watch on how long its modules run. */
export class WorkerPlace {
  readonly name: string
  readonly supervisor: Supervisor<ModuleWorkerConfig, ModuleWorkerControl, ModuleWorkerReport>
  readonly #watch: EntryWatch
  /** The module for which this life was ended: the thread may have left it, and entered another, before its end. */
  #overrun: number | undefined

  constructor(name: string, options: WorkerPoolOptions, lastSubscription: SharedArrayBuffer, nextLife: () => number) {
    const { system, hub, executor, start, clock, deadlineMs, restart } = options
    this.name = name
    const entryMark = new SharedArrayBuffer(entryMarkBytes)
    this.supervisor = system.spawn({
      definition: moduleWorkerDefinition,
      name,
      start,
      config: () => ({ entryMark, lastSubscription }),
      incarnation: nextLife,
      restart,
      onReport: (report) => options.onReport(this, report),
      onStateChange: (state: ActorState, reason) => {
        if (state !== "backing-off") return
        const entered = takeLastEntry(entryMark)
        const slot = this.#overrun ?? entered
        this.#overrun = undefined
        options.onGone(this, slot, reason)
      },
    })
    system.link(operationsMailbox, this.supervisor, executor)
    system.link(completionsMailbox(name), executor, this.supervisor, "upstream")
    system.link(deliveriesMailbox(name), hub, this.supervisor)
    this.#watch = new EntryWatch(entryMark, {
      clock,
      deadlineMs,
      onOverrun: (slot) => {
        this.#overrun = slot
        void this.supervisor.kill(`it did not return within ${deadlineMs(slot)} ms`)
      },
    })
  }

  /** Resolves when it runs, and rejects with `ActorGone` if it is being stopped. */
  running(): Promise<void> {
    return ask(this.supervisor.running())
  }

  /** Stops watching. The system stops the thread. */
  close(): void {
    this.#watch.stop()
  }
}
