/**
 * The parts of scenario *export* with a running recorder, which has recorded 100,000 events by then, while 5,000 more arrive each second
 * from before the request until after its end. Each begins with a stretch without a request, which is the baseline.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { deployments, gvkOf, replicaSets } from "../load/bench-kinds.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { type EndedLoad, SteadyLoad, type StretchLatency, sharedMs } from "../load/steady-load.ts"
import { generatorOptionsOf, type Workload } from "../load/workload.ts"
import type { Launch } from "../processes/another-machine.ts"
import { listeningPort } from "../processes/listening-port.ts"
import { PeakMemory } from "../processes/peak-memory.ts"
import type { Bound, Measure } from "../report/table.ts"
import type { ScenarioSettings } from "../scenario.ts"
import { type RunningRecorder, startRecorder } from "../subjects/recorder-subject.ts"
import { ExportClient } from "./export-client.ts"
import type { TraceFormat } from "./export-trace-count.ts"

export const perSecond = 5000
export const megabyte = 1e6
const patienceMs = 120_000
/**
 * No Pods: each of the generator's has an owner that does not exist, and a trace in SimKube's format waits until the recorder has looked it
 * up, which scenario *lookups* measures.
 */
const recordedKinds = [deployments, replicaSets]
/** Objects that are listed before the changes. */
export const listedOfKind = 1000
export const listedObjects = recordedKinds.length * listedOfKind
/** Minimum number of changes at full speed, in which V8 compiles. */
const leastFilled = 5000

/** s of the load before an export. */
const stretches = {
  full: { settling: 1, before: 5 },
  quick: { settling: 0.5, before: 2 },
} as const

export interface LoadedExport {
  readonly format: TraceFormat
  readonly workload: Workload
  /** Approximate number of recorded events at the request. */
  readonly events: number
  /** s of the load from the request on; more follow if the export takes longer. */
  readonly seconds: number
  /** s of the load before the request, for comparison. Default: long enough for a percentile. */
  readonly before?: number
  /** How the generator is started. Default: as any process. */
  readonly launch?: Launch
}

/** The result of an export. */
export interface ExportSituation {
  readonly client: ExportClient
  readonly subject: RunningRecorder
}

export interface LoadedRun<Answer> {
  readonly answer: Answer
  /** During the export, bytes. */
  readonly peakGrowth: number
  /** During the baseline, bytes. */
  readonly peakGrowthBefore: number
  readonly before: StretchLatency
  readonly during: StretchLatency
  readonly load: EndedLoad
}

/**
 * Runs one export under the load.
 *
 * @param ask what is measured; its last moment is when it resolves
 * @param after with the client and everything recorded, when nothing is measured any more
 */
export const exportUnderLoad = async <Answer extends { readonly askedMs: number; readonly endedMs: number }, More>(
  { format, workload, events, seconds, launch, ...given }: LoadedExport,
  { isQuick, profileDirectory }: Pick<ScenarioSettings, "isQuick" | "profileDirectory">,
  ask: (situation: ExportSituation) => Promise<Answer>,
  after: (client: ExportClient, answer: Answer, load: EndedLoad) => Promise<More>,
): Promise<LoadedRun<Answer> & More> => {
  const { settling, before } = { ...(isQuick ? stretches.quick : stretches.full), ...given }
  await using cluster = await BenchCluster.start(generatorOptionsOf(workload), launch)
  await using subject = await startRecorder(cluster, { kinds: recordedKinds.map(gvkOf), profileDirectory })
  await cluster.during(subject.listed(patienceMs))
  await using client = await ExportClient.start(`http://127.0.0.1:${listeningPort(subject.pid)}`, format)
  const filled = Math.max(leastFilled, events - listedObjects - (settling + before) * perSecond)
  await cluster.change(filled, patienceMs)
  await subject.taken(filled, patienceMs)

  using steady = new SteadyLoad(cluster, subject, perSecond)
  let isExporting = true
  const arriving = (async () => {
    await steady.during(settling + before + seconds)
    while (isExporting) await steady.during(seconds)
  })()
  const asking = (async () => {
    await sleep(settling * 1000)
    const beforeMs = sharedMs()
    const quiet = new PeakMemory(subject.pid)
    await sleep(before * 1000)
    const peakGrowthBefore = quiet.growth()
    const peak = new PeakMemory(subject.pid)
    const answer = await ask({ client, subject })
    return { beforeMs, answer, peakGrowth: peak.growth(), peakGrowthBefore }
  })().finally(() => {
    isExporting = false
  })
  const [{ beforeMs, answer, peakGrowth, peakGrowthBefore }] = await cluster.during(Promise.all([asking, arriving]))
  const load = await steady.end()
  return {
    answer,
    peakGrowth,
    peakGrowthBefore,
    before: load.latency(beforeMs, answer.askedMs),
    during: load.latency(answer.askedMs, answer.endedMs),
    load,
    ...(await after(client, answer, load)),
  }
}

export const atMost = (value: number): Bound => ({ relation: "at most", value })

/** The effect on ingest, and the memory: rows of both parts. */
export const loadMeasures = (name: string, runs: ReadonlyArray<LoadedRun<unknown>>): ReadonlyArray<Measure> => {
  const row = (
    what: string,
    unit: string,
    digits: number,
    value: (run: LoadedRun<unknown>) => number,
    must?: Bound,
  ): Measure => ({ name: what, unit, digits, ours: runs.map(value), ...(must !== undefined && { must }) })
  return [
    row(`${name}: memory, growth at its peak`, "MB", 0, (run) => run.peakGrowth / megabyte, atMost(64)),
    row("– of ingest alone, before", "MB", 0, (run) => run.peakGrowthBefore / megabyte),
    row(`${name}: due → received, p99`, "ms", 1, ({ during }) => during.receivedMs, atMost(50)),
    row("– before", "ms", 1, ({ before }) => before.receivedMs),
    row("– during ÷ before", "", 2, ({ before, during }) => during.receivedMs / before.receivedMs, atMost(2)),
    row(`${name}: due → committed, p99`, "ms", 1, ({ during }) => during.committedMs, atMost(50)),
    row("– before", "ms", 1, ({ before }) => before.committedMs),
    row("– during ÷ before", "", 2, ({ before, during }) => during.committedMs / before.committedMs, atMost(2)),
    row("– generator late, at most", "ms", 1, ({ load }) => load.lateMs),
  ]
}
