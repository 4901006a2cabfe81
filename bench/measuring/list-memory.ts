/** The cost of listing everything, from the start of a subject's process. */
import { setTimeout as sleep } from "node:timers/promises"
import type { GeneratorOptions } from "../load/generator.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { readCpuSeconds, readMemory } from "../processes/process-watch.ts"
import type { ScenarioSettings } from "../scenario.ts"
import type { StartSubject } from "../subjects/subject.ts"

/** ms for the longest of lists on a busy machine. */
const patienceMs = 180_000
/** ms after the lists, for memory of the start to be released if it ever is. */
const settleMs = 3000
const megabyte = 1e6

export interface ListMemory {
  /** From the start of the process until everything was listed (ours: and committed), s. */
  readonly readySeconds: number
  /** CPU of the process when everything was listed. */
  readonly cpuSeconds: number
  /** Resident memory `settleMs` later. */
  readonly settledBytes: number
  /** Largest until then. */
  readonly peakBytes: number
}

/** A start against a separate cluster. `what` is shown to the user. */
export const listOnce = async (
  what: string,
  start: StartSubject,
  options: GeneratorOptions,
  kinds: ReadonlyArray<string>,
  { profileDirectory, isQuick, tell }: ScenarioSettings,
): Promise<ListMemory> => {
  await using cluster = await BenchCluster.start(options)
  const startedAt = performance.now()
  await using subject = await start(cluster, { kinds, profileDirectory })
  const readySeconds = ((await cluster.during(subject.listed(patienceMs))) - startedAt) / 1000
  const processes = subject.processes?.() ?? [subject.pid]
  const sum = (read: (pid: number) => number): number => processes.reduce((total, pid) => total + read(pid), 0)
  const cpuSeconds = sum(readCpuSeconds)
  await cluster.during(sleep(isQuick ? 500 : settleMs))
  const settledBytes = sum((pid) => readMemory(pid).resident)
  const peakBytes = sum((pid) => readMemory(pid).peak)
  const megabytes = `${Math.round(settledBytes / megabyte)} MB, at most ${Math.round(peakBytes / megabyte)} MB`
  tell(`${what}: ready after ${readySeconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s CPU, ${megabytes}`)
  return { readySeconds, cpuSeconds, settledBytes, peakBytes }
}
