/** One subject, one cluster, a number of changes: what that took, as seen from outside. */
import type { BenchCluster } from "./generator-process.ts"
import { readCpuSeconds, readThreads, threadTimes } from "./process-watch.ts"
import type { RunningSubject } from "./subject.ts"

/** Names that threads have in the tables; all others are `other`. */
const threadGroups: Readonly<Record<string, string>> = {
  "watcher.js": "watchers",
  "store.js": "store",
  "node-MainThread": "main",
  "node-V8Worker": "V8",
}

export interface ChangesRun {
  readonly changes: number
  /** From the order to send until the last was taken. */
  readonly seconds: number
  /** Of the whole process in that time. */
  readonly cpuSeconds: number
  /** The same by group of threads: watchers, store, main, V8 (garbage collection, compilers), other. */
  readonly threadSeconds: ReadonlyMap<string, number>
  /** Of the thread that ran most: shares of the time in which it ran, and in which it could have but others did. */
  readonly busiest: { readonly running: number; readonly waiting: number }
  /** From the last change's leaving the server's program until it was taken, ms: what was under way then. */
  readonly behindMs: number
}

/** Sends `changes` changes and waits until the subject, which has taken `takenBefore`, has taken them too. */
export const runChanges = async (
  cluster: BenchCluster,
  subject: RunningSubject,
  takenBefore: number,
  changes: number,
  timeoutMs: number,
): Promise<ChangesRun> => {
  const threads = readThreads(subject.pid)
  const cpu = readCpuSeconds(subject.pid)
  const start = performance.now()
  const taken = subject.taken(takenBefore + changes, timeoutMs)
  const [sentAtMs, takenAtMs] = await Promise.all([
    cluster.change(changes, timeoutMs),
    taken.then(() => performance.timeOrigin + performance.now()),
  ])
  const cpuSeconds = readCpuSeconds(subject.pid) - cpu
  const seconds = (takenAtMs - performance.timeOrigin - start) / 1000
  const groups = new Map<string, number>()
  let busiest = { running: 0, waiting: 0 }
  for (const thread of threadTimes(threads, readThreads(subject.pid))) {
    const group = threadGroups[thread.name] ?? "other"
    groups.set(group, (groups.get(group) ?? 0) + thread.seconds)
    if (thread.running > busiest.running) busiest = thread
  }
  return {
    changes,
    seconds,
    cpuSeconds,
    threadSeconds: groups,
    busiest: { running: busiest.running / seconds, waiting: busiest.waiting / seconds },
    behindMs: takenAtMs - sentAtMs,
  }
}
