/**
 * Part of scenario *retention*: a recorder continues a large recording and takes in events at a steady rate, for a while without removing anything. Then it is
 * given a limit, and goes on until it has removed what is beyond it.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { fillRecording } from "../load/filled-recording.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { SteadyLoad, type StretchLatency, sharedMs } from "../load/steady-load.ts"
import { generatorOptionsOf } from "../load/workload.ts"
import { PeakMemory } from "../processes/peak-memory.ts"
import type { ScenarioSettings } from "../scenario.ts"
import { startRecorder } from "../subjects/recorder-subject.ts"

const patienceMs = 120_000
/** s of the load before anything is measured, in which V8 compiles. */
const settlingSeconds = 5
/** ms between two looks at how much has been removed. */
const lookMs = 250
/** Events of orders; the load goes on until the removal is done. */
const orderSeconds = 2

export const retentionSizes = {
  full: { filledBytes: 1.3e9, keptBytes: 250e6, calmSeconds: 15 },
  quick: { filledBytes: 130e6, keptBytes: 80e6, calmSeconds: 2 },
} as const

export interface RetentionRun {
  /** Bytes of the recording in use when it was given the limit, less those when it had removed everything. */
  readonly removedBytes: number
  /** s from the limit until then. */
  readonly seconds: number
  readonly before: StretchLatency
  readonly during: StretchLatency
  /** Bytes by which resident memory grew, at its peak. */
  readonly growthBefore: number
  readonly growthDuring: number
  /** ms of the longest turn. */
  readonly longestTurnMs: number
  /** Bytes of the files in the end. */
  readonly storedBytes: number
}

export const runRetention = async (
  perSecond: number,
  { isQuick, profileDirectory }: Pick<ScenarioSettings, "isQuick" | "profileDirectory">,
): Promise<RetentionRun> => {
  const { filledBytes, keptBytes, calmSeconds } = isQuick ? retentionSizes.quick : retentionSizes.full
  await using cluster = await BenchCluster.start(generatorOptionsOf({}))
  const fill = (directory: string): void => fillRecording(directory, filledBytes)
  await using subject = await startRecorder(cluster, { kinds: [gvkOf(deployments)], profileDirectory, fill })
  await cluster.during(subject.listed(patienceMs))
  using steady = new SteadyLoad(cluster, subject, perSecond)
  let isRemoving = true
  const arriving = (async () => {
    await steady.during(settlingSeconds + calmSeconds)
    while (isRemoving) await steady.during(orderSeconds)
  })()
  const used = async (): Promise<number> => (await subject.metric("kubereel_store_used_bytes")) ?? Number.NaN
  const removing = (async () => {
    await sleep(settlingSeconds * 1000)
    const calm = new PeakMemory(subject.pid)
    const beforeMs = sharedMs()
    await sleep(calmSeconds * 1000)
    const growthBefore = calm.growth()
    const busy = new PeakMemory(subject.pid)
    const usedBefore = await used()
    const limitedMs = sharedMs()
    await subject.configure({ retainBytes: String(keptBytes / 1e6).concat("M") })
    let usedAfter = await used()
    // For a while also while the room is given back to the file system.
    const longEnoughMs = limitedMs + 1000 * calmSeconds
    while (usedAfter > keptBytes || sharedMs() < longEnoughMs) {
      if (sharedMs() > limitedMs + patienceMs) throw new Error(`${usedAfter} bytes are still used`)
      await sleep(lookMs)
      usedAfter = await used()
    }
    const endedMs = sharedMs()
    return {
      beforeMs,
      limitedMs,
      endedMs,
      removedBytes: usedBefore - usedAfter,
      growthBefore,
      growthDuring: busy.growth(),
    }
  })().finally(() => {
    isRemoving = false
  })
  const [{ beforeMs, limitedMs, endedMs, ...removed }] = await cluster.during(Promise.all([removing, arriving]))
  const longestTurnMs = 1000 * ((await subject.metric("kubereel_store_longest_retention_seconds")) ?? Number.NaN)
  const storedBytes = await subject.storedBytes()
  const load = await steady.end()
  return {
    ...{ ...removed, longestTurnMs, storedBytes, seconds: (endedMs - limitedMs) / 1000 },
    before: load.latency(beforeMs, limitedMs),
    during: load.latency(limitedMs, endedMs),
  }
}
