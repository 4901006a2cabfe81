/** One subject, one cluster, a number of changes: their cost, measured from outside. */
import type { BenchCluster } from "../load/generator-process.ts"
import { readCpuSeconds, readThreads, threadTimes } from "../processes/process-watch.ts"
import type { RunningSubject } from "../subjects/subject.ts"

/** Names that threads have in the tables; all others are `other`. */
const threadGroups: Readonly<Record<string, string>> = {
  "watcher.js": "watchers",
  "store.js": "store",
  "node-MainThread": "main",
  "node-V8Worker": "V8",
}

export interface ChangesRun {
  /** Events sent, heartbeats included. */
  readonly events: number
  /** From the order to send until the last was taken. */
  readonly seconds: number
  /** Of the whole process in that time. */
  readonly cpuSeconds: number
  /** The same by group of threads: watchers, store, main, V8 (garbage collection, compilers), other. */
  readonly threadSeconds: ReadonlyMap<string, number>
  /** Of the busiest thread: the share of time in which it ran, and in which it was ready but others ran. */
  readonly busiest: { readonly running: number; readonly waiting: number }
  /** From the time the server's program sent the last change until it was taken, ms: what was in flight. */
  readonly behindMs: number
}

/** Sends `events` events, including heartbeats, and waits until the subject has taken them. */
export const runChanges = async (
  cluster: BenchCluster,
  subject: RunningSubject,
  events: number,
  timeoutMs: number,
  perSecond?: number,
): Promise<ChangesRun> => {
  const processes = subject.processes?.() ?? [subject.pid]
  const threadsOf = () => new Map(processes.flatMap((pid) => [...readThreads(pid)]))
  const cpuOf = () => processes.reduce((sum, pid) => sum + readCpuSeconds(pid), 0)
  const threads = threadsOf()
  const cpu = cpuOf()
  const start = performance.now()
  const sent = cluster.change(events, timeoutMs, perSecond)
  const { ordered } = cluster
  const [sentAtMs, takenAtMs] = await Promise.all([sent, subject.taken(ordered.events, timeoutMs)])
  const cpuSeconds = cpuOf() - cpu
  const seconds = (takenAtMs - start) / 1000
  const groups = new Map<string, number>()
  let busiest = { running: 0, waiting: 0 }
  for (const thread of threadTimes(threads, threadsOf())) {
    const group = threadGroups[thread.name] ?? "other"
    groups.set(group, (groups.get(group) ?? 0) + thread.seconds)
    if (thread.running > busiest.running) busiest = thread
  }
  return {
    events,
    seconds,
    cpuSeconds,
    threadSeconds: groups,
    busiest: { running: busiest.running / seconds, waiting: busiest.waiting / seconds },
    behindMs: performance.timeOrigin + takenAtMs - sentAtMs,
  }
}
