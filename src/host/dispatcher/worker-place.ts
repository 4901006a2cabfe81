/** One worker thread and the modules in it: an actor, its mailboxes, and the watch on how long its modules run. */
import type { Clock } from "../../clock.ts"
import type { ActorSystem } from "../../runtime/actor-system.ts"
import type { ActorState, RestartPolicy, Supervisor } from "../../runtime/supervisor.ts"
import type { StartThread } from "../../runtime/thread/thread.ts"
import { completionsMailbox, operationsMailbox } from "../executor/actor/definition.ts"
import { deliveriesMailbox } from "../hub/definition.ts"
import { ask } from "./actor-calls.ts"
import { EntryWatch, entryMarkBytes, takeLastEntry } from "./entry-mark.ts"
import {
  type ModuleWorkerConfig,
  type ModuleWorkerControl,
  type ModuleWorkerReport,
  moduleWorkerDefinition,
} from "./worker/definition.ts"

export interface PlaceOptions {
  readonly name: string
  readonly system: ActorSystem
  readonly hub: { readonly name: string }
  readonly executor: { readonly name: string }
  readonly start: StartThread
  readonly clock: Clock
  readonly imageDirectory: string
  readonly unloadAfterMs: number | undefined
  readonly deadlineMs: (slot: number) => number
  /** Of all workers of the host ({@link subscriptionMemory}). */
  readonly subscriptions: SharedArrayBuffer
  readonly restart: RestartPolicy
  /** Gives a number above all former ones: the name of a worker that has ended is used again. */
  readonly nextLife: () => number
  readonly onReport: (report: ModuleWorkerReport) => void
  /** The thread has ended, for the fault of the module of that slot, if it was in one. It is started again soon. */
  readonly onGone: (slot: number | undefined, reason: string) => void
}

export class WorkerPlace {
  readonly name: string
  readonly supervisor: Supervisor<ModuleWorkerConfig, ModuleWorkerControl, ModuleWorkerReport>
  readonly #watch: EntryWatch
  /** The module for which this life was ended: the thread may have left it, and entered another, before its end. */
  #overrun: number | undefined

  constructor(options: PlaceOptions) {
    const { name, system, hub, executor, start, clock, imageDirectory, unloadAfterMs, subscriptions } = options
    const { deadlineMs, restart, nextLife, onReport } = options
    this.name = name
    const entryMark = new SharedArrayBuffer(entryMarkBytes)
    this.supervisor = system.spawn({
      definition: moduleWorkerDefinition,
      name,
      start,
      config: () => ({ entryMark, imageDirectory, unloadAfterMs, subscriptions }),
      incarnation: nextLife,
      restart,
      onReport,
      onStateChange: (state: ActorState, reason) => {
        if (state !== "backing-off") return
        const entered = takeLastEntry(entryMark)
        const slot = this.#overrun ?? entered
        this.#overrun = undefined
        options.onGone(slot, reason)
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
