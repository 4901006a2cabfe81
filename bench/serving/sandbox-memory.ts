/** Memory of a sandbox with many Pods: put one by one while ten watchers follow, then each changed once. */
import type { LedgerMode } from "../../src/sandbox/index.ts"
import { pods } from "../load/bench-kinds.ts"
import { readMemory } from "../processes/process-watch.ts"
import { watcherCount } from "./sandbox-rates.ts"
import { BenchServer, BenchWatchers } from "./sandbox-server.ts"

/** Pods between two waits for the watchers: unread events stay in the server's memory. */
const stepPods = 2000

export interface SandboxMemory {
  /** Resident when all Pods are there and garbage has been collected, bytes. */
  readonly created: number
  /** Largest until then. */
  readonly createdPeak: number
  /** Resident when each has been changed once more, and garbage collected. */
  readonly changed: number
  readonly changedPeak: number
  /** From the first Pod until the last watcher had the last one, s. */
  readonly seconds: number
}

export const measureMemory = async (count: number, ledger: LedgerMode): Promise<SandboxMemory> => {
  await using server = await BenchServer.start({ server: "sandbox", ledger, historyLimit: count })
  await using watchers = await BenchWatchers.start(server, `/api/v1/${pods.plural}?watch=1`, watcherCount)
  const start = performance.now()
  await putAll(server, watchers, count, 0)
  const seconds = (performance.now() - start) / 1000
  const { resident: created, peak: createdPeak } = await collected(server)
  await putAll(server, watchers, count, count)
  const { resident: changed, peak: changedPeak } = await collected(server)
  return { created, createdPeak, changed, changedPeak, seconds }
}

const putAll = async (
  server: BenchServer,
  watchers: BenchWatchers,
  count: number,
  eventsBefore: number,
): Promise<void> => {
  for (let from = 0; from < count; from += stepPods) {
    const step = Math.min(stepPods, count - from)
    await Promise.all([watchers.taken(eventsBefore + from + step), server.perform({ pods: step, from })])
  }
}

const collected = async (server: BenchServer): Promise<{ readonly resident: number; readonly peak: number }> => {
  // Before the collection, which moves objects and may briefly need more memory than anything else.
  const { peak } = readMemory(server.pid)
  await server.perform({ collect: true })
  return { resident: readMemory(server.pid).resident, peak }
}
