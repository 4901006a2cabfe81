/** One subject of scenario *ingest*: started, warmed up, measured. */
import { baseKinds, deployments, gvkOf } from "../load/bench-kinds.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { generatorOptionsOf } from "../load/workload.ts"
import { readCpuSeconds, readMemory } from "../processes/process-watch.ts"
import type { ScenarioSettings } from "../scenario.ts"
import type { StartSubject } from "../subjects/subject.ts"
import { type ChangesRun, runChanges } from "./changes-run.ts"

/** ms that one step of a subject may take. */
const patienceMs = 120_000
/** Beyond it, what V8 goes on compiling is the same for every length of a run. */
const longestWarmUp = 30_000

export interface IngestRun extends ChangesRun {
  readonly storedBytesPerEvent: number
  /** Largest of the samples, ms. */
  readonly commitMs: number
  readonly waitMs: number
  readonly peakBytes: number
  /** Of the generator, for the same events. */
  readonly generatorCpuSeconds: number
}

export interface IngestSubject {
  readonly name: string
  readonly start: StartSubject
  /** Follows Deployments alone. */
  readonly isOfDeployments: boolean
}

/** Unmeasured events before `events`: a tenth. */
export const warmUpOf = (events: number): number => Math.min(longestWarmUp, Math.ceil(events / 10))

export const measureIngest = async (
  { name, start, isOfDeployments }: IngestSubject,
  round: number,
  events: number,
  { profileDirectory, workload, tell }: Pick<ScenarioSettings, "profileDirectory" | "workload" | "tell">,
): Promise<IngestRun> => {
  await using cluster = await BenchCluster.start(generatorOptionsOf(workload))
  const kinds = isOfDeployments ? [gvkOf(deployments)] : baseKinds.map(gvkOf)
  await using subject = await start(cluster, { kinds, profileDirectory })
  await cluster.during(subject.listed(patienceMs))
  const timeoutMs = patienceMs + (workload.rate === undefined ? 0 : (events / workload.rate) * 1000)
  await runChanges(cluster, subject, warmUpOf(events), patienceMs)
  const looksBefore = subject.progress?.length ?? 0
  const bytesBefore = (await subject.storedBytes?.()) ?? 0
  const generatorCpu = readCpuSeconds(cluster.pid)
  const run = await runChanges(cluster, subject, events, timeoutMs, workload.rate)
  const generatorCpuSeconds = readCpuSeconds(cluster.pid) - generatorCpu
  const stored = ((await subject.storedBytes?.()) ?? 0) - bytesBefore
  const looks = subject.progress?.slice(looksBefore) ?? []
  const cost = `${((run.cpuSeconds / events) * 1e6).toFixed(2)} µs CPU an event`
  tell(`round ${round}: ${name}: ${Math.round(events / run.seconds).toLocaleString("en")} events/s, ${cost}`)
  return {
    ...run,
    storedBytesPerEvent: stored / events,
    commitMs: Math.max(0, ...looks.map((look) => look.longestCommitMs)),
    waitMs: Math.max(0, ...looks.map((look) => look.lagMs)),
    peakBytes: (subject.processes?.() ?? [subject.pid]).reduce((sum, pid) => sum + readMemory(pid).peak, 0),
    generatorCpuSeconds,
  }
}

/** Events a second. */
export const paceOf = ({ events, seconds }: IngestRun): number => events / seconds
/** µs an event, of the whole process. */
export const cpuOf = ({ events, cpuSeconds }: IngestRun): number => (cpuSeconds / events) * 1e6
