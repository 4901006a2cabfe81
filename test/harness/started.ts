/**
 * What tests start: child processes, worker threads and servers, observed through Node's diagnostics channels, so that no test has to
 * register anything. Each belongs to the test in whose asynchronous context it was started, and to its file.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { ChildProcess } from "node:child_process"
import { subscribe } from "node:diagnostics_channel"
import type { Server } from "node:net"
import type { Worker } from "node:worker_threads"

/** Something that runs until it is ended. */
interface Startable {
  readonly isRunning: () => boolean
  /** For people: what it is. */
  readonly name: () => string
  readonly end: () => void
}

/** What one test, or one file, has started and not yet ended. */
export class Started {
  #started: Startable[] = []
  readonly #closers = new Set<() => unknown>()
  #isOver = false

  /** Names of what is still running, for people. */
  get names(): ReadonlyArray<string> {
    return this.#running().map(({ name }) => name())
  }

  add(started: Startable): void {
    this.#started.push(started)
    // An actor system would restart threads that are ended.
    if (this.#isOver) setImmediate(started.end)
  }

  /** Registers an orderly close in case the test fails before it closes by itself. Returns a function that cancels this. */
  closeWith(close: () => unknown): () => void {
    this.#closers.add(close)
    return () => this.#closers.delete(close)
  }

  /**
   * Ends everything, even what is started later: in order if the test has registered a close, otherwise by force. Resolves once everything
   * is gone.
   *
   * @param patienceMs how long an orderly end may take, and after that the end of killed processes.
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

/** Starts a new file: what it starts outside its tests belongs only to the file. */
export const beginFile = (): Started => {
  ofFile = new Started()
  return ofFile
}

/** Runs a test, so that what it starts belongs to `started` and to its file. */
export const startedBy = <Value>(started: Started, run: () => Promise<Value>): Promise<Value> =>
  ofTest.run(started, run)

/**
 * Registers a close in case the current test fails before it closes by itself, for instance at its time limit; outside a test: at the end
 * of the file. Returns a function that cancels this.
 */
export const closeIfTestFails = (close: () => unknown): (() => void) => (ofTest.getStore() ?? ofFile).closeWith(close)

const note = (started: Startable): void => {
  ofFile.add(started)
  ofTest.getStore()?.add(started)
}

/**
 * Observes what is started in this process. Call it once per process: files that share one share this module.
 *
 * @param spawned is called with each process once it runs.
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
