/**
 * A program that mutants are fed to, in a thread of its own: one that never comes to an end, or fills the memory, is ended there and counts as
 * a failure of its mutant.
 */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { patient } from "../harness/patience.ts"

/** The message of a thread for each of its tasks: what is wrong, and the processor time that the task took. */
export interface Finding {
  /** Empty if nothing is wrong. */
  readonly problems: ReadonlyArray<string>
  readonly cpuMs: number
}

/** Real time after which a task is ended, on an idle machine. */
const longestMs = 15_000
/** Heap of the thread. A mutant has at most a few hundred kilobytes. */
const heapMegabytes = 300

/** Feeds tasks to a program, one at a time. */
export class Subject<Task> {
  readonly #program: URL
  #worker: Worker | undefined
  #found: (finding: Finding) => void = () => undefined
  /** Processor time of all tasks, in ms. */
  cpuMs = 0

  constructor(program: URL) {
    this.#program = program
  }

  /** What the program finds about the task. Never rejects: a thread that dies or hangs is a finding as well, and the next task gets a new one. */
  async try(task: Task): Promise<Finding> {
    const worker = await this.#started()
    const limit = patient(longestMs)
    let timer: NodeJS.Timeout | undefined
    const finding = await new Promise<Finding>((resolve) => {
      this.#found = resolve
      timer = setTimeout(() => {
        this.#worker = undefined
        void worker.terminate()
        resolve({ problems: [`no end after ${limit} ms`], cpuMs: 0 })
      }, limit)
      worker.postMessage(task)
    })
    clearTimeout(timer)
    this.cpuMs += finding.cpuMs
    return finding
  }

  async #started(): Promise<Worker> {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(this.#program, { resourceLimits: { maxOldGenerationSizeMb: heapMegabytes } })
    await once(worker, "message")
    worker.on("message", (finding: Finding) => this.#found(finding))
    worker.on("error", (error) => {
      this.#worker = undefined
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#found({ problems: [`the thread died: ${detail}`], cpuMs: 0 })
    })
    this.#worker = worker
    return worker
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }
}
