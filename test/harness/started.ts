/**
 * What tests start: child processes, worker threads and servers, seen through Node's diagnostics channels, so that no test has to
 * register anything. Each belongs to the test in whose asynchronous context it was started, and to its file.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { ChildProcess } from "node:child_process"
import { subscribe } from "node:diagnostics_channel"
import type { Server } from "node:net"
import type { Worker } from "node:worker_threads"

/** A thing that runs until it is ended. */
interface Startable {
  readonly isRunning: () => boolean
  /** For people: what it is. */
  readonly name: () => string
  readonly end: () => void
}

/** What one test, or one file, has started and not ended. */
export class Started {
  #started: Startable[] = []
  readonly #closers = new Set<() => unknown>()
  #isOver = false

  /** What still runs, for people. */
  get names(): ReadonlyArray<string> {
    return this.#running().map(({ name }) => name())
  }

  add(started: Startable): void {
    this.#started.push(started)
    // An actor system whose threads are ended starts them again.
    if (this.#isOver) setImmediate(started.end)
  }

  /** Has something closed in order if the test fails before it does so. Returns what takes that back. */
  closeWith(close: () => unknown): () => void {
    this.#closers.add(close)
    return () => this.#closers.delete(close)
  }

  /**
   * Ends everything, also what is started later, in order where the test has said how and by force otherwise. Resolves once it is gone.
   *
   * @param patienceMs how long an orderly end may take, and after that the end of what was killed.
   */
  async end(patienceMs: number): Promise<void> {
    const closed = Promise.allSettled([...this.#closers].map(async (close) => close()))
    this.#closers.clear()
    await Promise.race([closed, later(patienceMs)])
    this.#isOver = true
    const startedMs = performance.now()
    for (let left = this.#running(); left.length > 0; left = this.#running()) {
      if (performance.now() - startedMs > patienceMs) return
      for (const { end } of left) end()
      await later(20)
    }
  }

  #running(): ReadonlyArray<Startable> {
    this.#started = this.#started.filter(({ isRunning }) => isRunning())
    return this.#started
  }
}

/** Timers that a test replaced would never fire. */
const { setTimeout: realTimeout } = globalThis
const later = (ms: number): Promise<void> => new Promise((resolve) => void realTimeout(resolve, ms))

const ofTest = new AsyncLocalStorage<Started>()
let ofFile = new Started()

/** Starts a new file: what it starts outside of its tests belongs to it alone. */
export const beginFile = (): Started => {
  ofFile = new Started()
  return ofFile
}

/** Runs a test, so that what it starts belongs to `started` and to its file. */
export const startedBy = <Value>(started: Started, run: () => Promise<Value>): Promise<Value> =>
  ofTest.run(started, run)

/**
 * Has something closed when the present test fails before it does so itself, for instance because its time is up; started outside
 * of a test: at the end of the file. Returns what takes that back.
 */
export const closeIfTestFails = (close: () => unknown): (() => void) => (ofTest.getStore() ?? ofFile).closeWith(close)

const note = (started: Startable): void => {
  ofFile.add(started)
  ofTest.getStore()?.add(started)
}

/**
 * Begins to see what is started in this process. Once per process: files that share one share this module.
 *
 * @param spawned is told of each process once it runs.
 */
export const seeWhatIsStarted = (spawned: (child: ChildProcess) => void): void => {
  subscribe("child_process", (message) => {
    const child = (message as { readonly process: ChildProcess }).process
    child.once("spawn", () => spawned(child))
    note({
      isRunning: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
      name: () => `process ${child.pid}: ${child.spawnargs.join(" ").slice(0, 300)}`,
      end: () => {
        child.kill("SIGKILL")
        // A pipe that a process of the child's holds open must not keep this one.
        child.stdout?.destroy()
        child.stderr?.destroy()
      },
    })
  })
  subscribe("worker_threads", (message) => {
    const { worker } = message as { readonly worker: Worker }
    note({
      isRunning: () => worker.threadId !== -1,
      name: () => `worker thread ${worker.threadId}`,
      end: () => void worker.terminate(),
    })
  })
  subscribe("tracing:net.server.listen:asyncEnd", (message) => {
    const { server } = message as { readonly server: Server & { closeAllConnections?: () => void } }
    note({
      isRunning: () => server.listening,
      name: () => `server at ${JSON.stringify(server.address())}`,
      end: () => {
        server.close()
        server.closeAllConnections?.()
      },
    })
  })
}
