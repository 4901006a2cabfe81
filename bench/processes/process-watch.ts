/** Observes a process from outside, through /proc: it is not queried, so observing adds nothing to its cost. */
import { readdirSync, readFileSync } from "node:fs"
import {
  type CpuTime,
  parsePss,
  parseSchedstat,
  parseStat,
  parseStatus,
  type ResidentMemory,
  type Scheduling,
} from "./process-files.ts"

/** ms between two samples of the memory. */
const sampleIntervalMs = 200

export const readMemory = (pid: number): ResidentMemory => parseStatus(readFileSync(`/proc/${pid}/status`, "utf8"))

/** Proportional set size, bytes. */
export const readPss = (pid: number): number => parsePss(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))

/** User and system time since the start, threads that have ended included; s. */
export const readCpuSeconds = (pid: number): number => parseStat(readFileSync(`/proc/${pid}/stat`, "utf8")).seconds

/** A thread's time so far. */
export interface ThreadTime extends CpuTime, Scheduling {}

/** Times of the threads alive, by thread id. Node gives its own threads and workers names. */
export const readThreads = (pid: number): ReadonlyMap<string, ThreadTime> => {
  const threads = new Map<string, ThreadTime>()
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const directory = `/proc/${pid}/task/${id}`
    try {
      const stat = parseStat(readFileSync(`${directory}/stat`, "utf8"))
      threads.set(id, { ...stat, ...parseSchedstat(readFileSync(`${directory}/schedstat`, "utf8")) })
    } catch (cause) {
      // Ended since the directory was read; ENOENT or, in the middle of the read, ESRCH.
      if (!["ENOENT", "ESRCH"].includes((cause as NodeJS.ErrnoException).code ?? "")) throw cause
    }
  }
  return threads
}

/** The time that each thread of `after` took since `before`. */
export const threadTimes = (
  before: ReadonlyMap<string, ThreadTime>,
  after: ReadonlyMap<string, ThreadTime>,
): ReadonlyArray<ThreadTime> =>
  [...after].map(([id, { name, seconds, running, waiting }]) => {
    const start = before.get(id)
    return {
      name,
      seconds: seconds - (start?.seconds ?? 0),
      running: running - (start?.running ?? 0),
      waiting: waiting - (start?.waiting ?? 0),
    }
  })

/** Whether it has memory of its own: a process that is ending has none from before its end until its exit code is collected. */
const hasMemory = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8").includes("VmRSS:")
  } catch (cause) {
    // It has ended; ENOENT or, in the middle of the read, ESRCH.
    if (!["ENOENT", "ESRCH"].includes((cause as NodeJS.ErrnoException).code ?? "")) throw cause
    return false
  }
}

/** Resident memory at a moment, ms as `performance.now`. */
export interface MemorySample extends ResidentMemory {
  readonly atMs: number
}

/** Samples the memory of a process until it is disposed of, or the process ends, which is reported elsewhere. */
export class MemoryWatch implements Disposable {
  readonly samples: Array<MemorySample> = []
  readonly #pid: number
  readonly #timer: NodeJS.Timeout

  constructor(pid: number) {
    this.#pid = pid
    this.sample()
    this.#timer = setInterval(() => {
      try {
        this.sample()
      } catch (cause) {
        if (hasMemory(pid)) throw cause
      }
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
