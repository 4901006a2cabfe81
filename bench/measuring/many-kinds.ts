/** A recorder of many kinds, of which one changes now and then: its memory without changes and under that light load, and how late it is. */
import { setTimeout as sleep } from "node:timers/promises"
import { gvkOf } from "../load/bench-kinds.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { SteadyLoad, sharedMs } from "../load/steady-load.ts"
import { generatorOptionsOf, kindsOf, type Workload } from "../load/workload.ts"
import { readMemory, readPss, readThreads } from "../processes/process-watch.ts"
import type { ScenarioSettings } from "../scenario.ts"
import { startRecorder } from "../subjects/recorder-subject.ts"

/** Events a second, and s for which they come. */
export const lightRate = 50
const loadSeconds = { full: 10, quick: 2 } as const
/** ms after the lists before memory is read, as for few kinds. */
const settleMs = 3000
const patienceMs = 180_000

export interface ManyKinds {
  readonly readySeconds: number
  /** Bytes. */
  readonly idle: { readonly resident: number; readonly proportional: number }
  readonly loaded: { readonly resident: number; readonly proportional: number }
  /** 99th percentiles from when an event was due, ms. */
  readonly receivedMs: number
  readonly committedMs: number
  readonly threads: number
}

export const measureManyKinds = async (
  count: number,
  workload: Workload,
  { isQuick, profileDirectory }: Pick<ScenarioSettings, "isQuick" | "profileDirectory">,
): Promise<ManyKinds> => {
  await using cluster = await BenchCluster.start(generatorOptionsOf({ ...workload, kinds: count }))
  const startedAt = performance.now()
  const kinds = kindsOf({ kinds: count }).map(gvkOf)
  await using subject = await startRecorder(cluster, { kinds, profileDirectory })
  const readySeconds = ((await cluster.during(subject.listed(patienceMs))) - startedAt) / 1000
  await cluster.during(sleep(isQuick ? 500 : settleMs))
  const memory = () => ({ resident: readMemory(subject.pid).resident, proportional: readPss(subject.pid) })
  const idle = memory()
  const threads = readThreads(subject.pid).size
  using load = new SteadyLoad(cluster, subject, lightRate)
  const fromMs = sharedMs()
  await load.during(isQuick ? loadSeconds.quick : loadSeconds.full)
  const loaded = memory()
  const { receivedMs, committedMs } = (await load.end()).latency(fromMs, Number.POSITIVE_INFINITY)
  return { readySeconds, idle, loaded, receivedMs, committedMs, threads }
}
