/** Looks at a process from outside, through /proc: nothing is asked of it, so nothing is added to what it costs. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { type CpuTime, parseStat, parseStatus, type ResidentMemory } from "./process-files.ts"

/** ms between two looks at the memory. */
const sampleIntervalMs = 200

export const readMemory = (pid: number): ResidentMemory =>
  parseStatus(readFileSync(`/proc/${pid}/status`, "utf8"))

/** User and system time since the start, threads that have ended included; s. */
export const readCpuSeconds = (pid: number): number => parseStat(readFileSync(`/proc/${pid}/stat`, "utf8")).seconds

/** CPU of the threads alive, by thread id. Node gives its own threads and workers names. */
export const readThreads = (pid: number): ReadonlyMap<string, CpuTime> => {
  const threads = new Map<string, CpuTime>()
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    try {
      threads.set(id, parseStat(readFileSync(`/proc/${pid}/task/${id}/stat`, "utf8")))
    } catch (cause) {
      // Ended since the directory was read; ENOENT or, in the middle of the read, ESRCH.
      if (!["ENOENT", "ESRCH"].includes((cause as NodeJS.ErrnoException).code ?? "")) throw cause
    }
  }
  return threads
}

/** CPU seconds between two readings, summed by thread name. */
export const threadSeconds = (
  before: ReadonlyMap<string, CpuTime>,
  after: ReadonlyMap<string, CpuTime>,
): ReadonlyMap<string, number> => {
  const byName = new Map<string, number>()
  for (const [id, { name, seconds }] of after) {
    byName.set(name, (byName.get(name) ?? 0) + seconds - (before.get(id)?.seconds ?? 0))
  }
  return byName
}

/** Resident memory at a moment, ms as `performance.now`. */
export interface MemorySample extends ResidentMemory {
  readonly atMs: number
}

/** Samples the memory of a process until it is disposed of, or the process ends: whoever waits for it reports that. */
export class MemoryWatch implements Disposable {
  readonly samples: Array<MemorySample> = []
  readonly #pid: number
  readonly #timer: NodeJS.Timeout

  constructor(pid: number) {
    this.#pid = pid
    this.sample()
    this.#timer = setInterval(() => {
      if (existsSync(`/proc/${pid}/task`)) this.sample()
    }, sampleIntervalMs)
  }

  /** Takes a sample now. */
  sample(): MemorySample {
    const sample = { atMs: performance.now(), ...readMemory(this.#pid) }
    this.samples.push(sample)
    return sample
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
