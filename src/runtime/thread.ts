/**
 * The thread an actor lives in, as its supervisor sees it: a worker of its own, or, for tests of logic, the
 * supervisor's own thread with an injected clock. A worker for several: shared-thread.ts.
 */
import { type MessagePort, Worker } from "node:worker_threads"
import type { Clock } from "../clock.ts"
import type { ActorBody, ActorDefinition, MemoryLimits } from "./actor.ts"
import { ActorHost, type HostCommand, type HostEvent, MortalClock } from "./actor-host.ts"
import type { ControlInterface } from "./control.ts"
import { type RunningFunction, runningFunctions } from "./running-code.ts"

export interface Thread {
  send(command: HostCommand, transfer?: ReadonlyArray<MessagePort>): void
  /** Ends the thread at once, whatever it is doing. Resolves when it has ended. */
  kill(reason?: string): Promise<void>
  /** What it runs now, the innermost function first, also in an endless loop; none if that cannot be told. Absent for threads that cannot be asked. */
  runningFunctions?(): Promise<ReadonlyArray<RunningFunction>>
}

export interface ThreadObserver {
  event(event: HostEvent): void
  /**
   * Called exactly once, as the last call. `isShared`: the thread ended with other actors in it (shared-thread.ts), and any of them may be the
   * cause. Default: false.
   */
  ended(reason: string, isShared?: boolean): void
}

export type StartThread = (observer: ThreadObserver) => Thread

/**
 * A worker that runs the bundled entry point at `entry`; it writes to this process's standard output and error. `limits`: for every life,
 * or a function called before each.
 */
export const workerThread =
  (entry: URL, limits: MemoryLimits | (() => MemoryLimits)): StartThread =>
  (observer) => {
    const worker = startWorker(entry, typeof limits === "function" ? limits() : limits)
    let reason = "the thread exited"
    worker.on("message", (event: HostEvent) => {
      if (event.type === "crashed") reason = event.reason
      observer.event(event)
    })
    worker.on("error", (error) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
    })
    worker.on("exit", (code) => observer.ended(reason === "the thread exited" ? `${reason} with code ${code}` : reason))
    return {
      send: (command, transfer = []) => worker.postMessage(command, [...transfer]),
      kill: async (why = "killed") => {
        if (reason === "the thread exited") reason = why
        await worker.terminate()
      },
      runningFunctions: () => runningFunctions(worker),
    }
  }

/** A worker that runs the bundled entry point at `entry`. */
export const startWorker = (entry: URL, { oldGenerationMb, youngGenerationMb }: MemoryLimits): Worker =>
  new Worker(entry, {
    resourceLimits: { maxOldGenerationSizeMb: oldGenerationMb, maxYoungGenerationSizeMb: youngGenerationMb },
    // Workers must not inherit flags meant for the main thread, such as a test runner's loader.
    execArgv: [],
    name: entry.pathname.slice(entry.pathname.lastIndexOf("/") + 1),
  })

/** The same body in the calling thread. A kill drops it without running finalizers, as the end of a thread would. */
export const localThread =
  <Config, Control extends ControlInterface, Report>(
    definition: ActorDefinition<Config, Control, Report>,
    body: ActorBody<Config, Control, Report>,
    clock: Clock,
  ): StartThread =>
  (observer) => {
    let over = false
    const mortal = new MortalClock(clock)
    const end = (reason: string): void => {
      if (over) return
      over = true
      // Those of a dead life must not touch what its successor owns.
      mortal.end()
      queueMicrotask(() => observer.ended(reason))
    }
    let reason = "stopped"
    const host = new ActorHost(
      definition,
      body,
      {
        post: (event) => {
          if (event.type === "crashed") reason = event.reason
          queueMicrotask(() => observer.event(event))
        },
        end: () => end(reason),
      },
      mortal,
    )
    return {
      send: (command) => queueMicrotask(() => host.receive(command)),
      kill: async (why = "killed") => {
        host.kill()
        end(why)
      },
    }
  }
