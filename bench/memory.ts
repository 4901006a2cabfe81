/**
 * Scenario *memory*: resident memory after the lists, along changes, per kind, and while many Pods are listed
 * (architecture §7).
 *
 * Resident memory is what the kernel counts (VmRSS), of the whole process, its program files included; MB are 10^6 bytes.
 */
import { baseKinds, furtherKinds, gvkOf } from "./bench-kinds.ts"
import { type ChangesMemory, followChanges } from "./changes-memory.ts"
import { startInformer, startNullReader } from "./counting-subject.ts"
import type { GeneratorOptions } from "./generator.ts"
import { BenchCluster } from "./generator-process.ts"
import { type ListMemory, listObjects } from "./list-memory.ts"
import { startRecorder } from "./recorder-subject.ts"
import type { Scenario, ScenarioReport, ScenarioSettings } from "./scenario.ts"
import { slope } from "./statistics.ts"
import type { StartSubject } from "./subject.ts"
import type { Bound, Measure } from "./table.ts"

const megabyte = 1e6
/** ms after the lists in which what a start leaves behind is given back or will not be. */
const settleMs = 3000
/** Kinds beyond the three, in turn: their cost is the slope. */
const furtherKindCounts = (isQuick: boolean): ReadonlyArray<number> => (isQuick ? [0, 5] : [0, 5, 10])

const atMost = (value: number): Bound => ({ relation: "at most", value })

export const memory: Scenario = {
  name: "memory",
  description: "resident memory after the lists, along millions of changes, per kind, and with 100,000 Pods",
  run: async (settings) => {
    const rounds = settings.rounds ?? (settings.isQuick ? 1 : 3)
    const kinds = await measureKinds(settings, rounds)
    const pods = await measurePods(settings, Math.min(2, rounds))
    const changes = await measureChanges(settings)
    return {
      measures: [...changes.measures, ...kinds.measures, ...pods.measures],
      notes: [...changes.notes, ...kinds.notes, ...pods.notes],
    }
  },
}

const listOnce = async (
  what: string,
  start: StartSubject,
  options: GeneratorOptions,
  kinds: ReadonlyArray<string>,
  { profileDirectory, isQuick, tell }: ScenarioSettings,
): Promise<ListMemory> => {
  await using cluster = await BenchCluster.start(options)
  await using subject = await start(cluster, { kinds, profileDirectory })
  const measured = await cluster.during(listObjects(subject, isQuick ? 500 : settleMs))
  const { cpuSeconds, settledBytes, peakBytes } = measured
  const megabytes = `${Math.round(settledBytes / megabyte)} MB, at most ${Math.round(peakBytes / megabyte)} MB`
  tell(`${what}: ${cpuSeconds.toFixed(1)} s CPU, ${megabytes}`)
  return measured
}

/** After the lists, with more and more kinds. */
const measureKinds = async (settings: ScenarioSettings, rounds: number): Promise<ScenarioReport> => {
  const furtherCounts = furtherKindCounts(settings.isQuick)
  const settled = new Map<number, Array<number>>(furtherCounts.map((count) => [count, []]))
  const nullReader: Array<number> = []
  const informer: Array<number> = []
  const names = baseKinds.map(gvkOf)
  for (let round = 1; round <= rounds; round++) {
    nullReader.push((await listOnce(`round ${round}: null reader`, startNullReader, {}, names, settings)).settledBytes)
    informer.push((await listOnce(`round ${round}: informers`, startInformer, {}, names, settings)).settledBytes)
    for (const count of furtherCounts) {
      const all = [...names, ...furtherKinds(count).map(gvkOf)]
      const what = `round ${round}: ours, ${all.length} kinds`
      const listed = await listOnce(what, startRecorder, { furtherKinds: count }, all, settings)
      settled.get(count)?.push(listed.settledBytes)
    }
  }
  const inMegabytes = (values: ReadonlyArray<number>): ReadonlyArray<number> => values.map((value) => value / megabyte)
  const perKind = Array.from({ length: rounds }, (_, round) =>
    slope(furtherCounts.map((count) => ({ x: count, y: settled.get(count)?.[round] ?? Number.NaN }))),
  )
  const measures: ReadonlyArray<Measure> = [
    {
      name: "after the lists",
      unit: "MB",
      digits: 0,
      ours: inMegabytes(settled.get(0) ?? []),
      nullReader: inMegabytes(nullReader),
      informer: inMegabytes(informer),
      must: atMost(190),
      aim: atMost(150),
    },
    {
      name: "each further kind",
      unit: "MB",
      digits: 1,
      ours: inMegabytes(perKind),
      must: atMost(18),
      aim: atMost(14),
    },
  ]
  const counts = furtherCounts.map((count) => count + baseKinds.length).join(", ")
  return {
    measures,
    notes: [
      `After the lists: 1,000 Deployments, ReplicaSets and Pods, ${rounds} ${rounds === 1 ? "start" : "starts"}, seconds after the last was taken. Three informers. The null reader lists nothing: it is a bare Node.`,
      `Each further kind: slope over recorders of ${counts} kinds, the further ones with 10 objects.`,
    ],
  }
}

/** Many Pods, as a stream and in pages. */
const measurePods = async (settings: ScenarioSettings, rounds: number): Promise<ScenarioReport> => {
  const count = settings.isQuick ? 10_000 : 100_000
  const names = baseKinds.map(gvkOf)
  const cluster = { listed: { Pod: count } }
  const streamed: Array<ListMemory> = []
  const paged: Array<ListMemory> = []
  const informer: Array<ListMemory> = []
  for (let round = 1; round <= rounds; round++) {
    const what = `round ${round}: ${count} Pods`
    streamed.push(await listOnce(`${what}, streamed`, startRecorder, cluster, names, settings))
    const old = { ...cluster, isStreamingListKnown: false }
    paged.push(await listOnce(`${what}, in pages`, startRecorder, old, names, settings))
    // Once is enough to compare with: it takes gigabytes.
    if (round === 1) informer.push(await listOnce(`${what}, informers`, startInformer, cluster, names, settings))
  }
  const title = `${count.toLocaleString("en")} Pods`
  const cpu = (runs: ReadonlyArray<ListMemory>): ReadonlyArray<number> => runs.map(({ cpuSeconds }) => cpuSeconds)
  const peak = (runs: ReadonlyArray<ListMemory>): ReadonlyArray<number> =>
    runs.map(({ peakBytes }) => peakBytes / megabyte)
  // The budgets are of 100,000 Pods.
  const cpuBounds = settings.isQuick ? {} : { must: atMost(6), aim: atMost(5) }
  const peakBounds = settings.isQuick ? {} : { must: atMost(450), aim: atMost(350) }
  return {
    measures: [
      { name: `${title} streamed: CPU`, unit: "s", digits: 1, ours: cpu(streamed), ...cpuBounds },
      { name: `${title} in pages: CPU`, unit: "s", digits: 1, ours: cpu(paged), informer: cpu(informer), ...cpuBounds },
      { name: `${title} streamed: peak`, unit: "MB", digits: 0, ours: peak(streamed), ...peakBounds },
      {
        name: `${title} in pages: peak`,
        unit: "MB",
        digits: 0,
        ours: peak(paged),
        informer: peak(informer),
        ...peakBounds,
      },
    ],
    notes: [
      `${title} of 4.3 kB beside 1,000 Deployments and ReplicaSets: from the start of the process until everything is recorded and committed. The informers ask for all in one page, as the library does unless told otherwise.`,
    ],
  }
}

/** Along changes at full speed. The informer keeps what it is told to keep, so fewer changes show as much. */
const measureChanges = async (settings: ScenarioSettings): Promise<ScenarioReport> => {
  const changes = settings.events ?? (settings.isQuick ? 120_000 : 3_000_000)
  const ours = await followOnce("ours", startRecorder, changes, settings)
  const informer = await followOnce("informers", startInformer, Math.ceil(changes / 6), settings)
  const growth = (run: ChangesMemory): number => (run.growthBytesPerChange * 1_000_000) / megabyte
  const of = ({ changes: count }: ChangesMemory): string =>
    count >= 1_000_000 ? `${count / 1_000_000} million` : count.toLocaleString("en")
  const steps = ours.steps.map(
    (step): Measure => ({
      name: `– after ${step.changes.toLocaleString("en")}`,
      unit: "MB",
      digits: 0,
      ours: [step.residentBytes / megabyte],
    }),
  )
  const { anonymous, file, shared } = ours.last
  return {
    measures: [
      {
        name: `largest along ${of(ours)} changes`,
        unit: "MB",
        digits: 0,
        ours: [ours.peakBytes / megabyte],
        informer: [informer.peakBytes / megabyte],
        must: atMost(300),
        aim: atMost(220),
      },
      ...steps,
      {
        name: "growth per million changes",
        unit: "MB",
        digits: 1,
        ours: [growth(ours)],
        informer: [growth(informer)],
        ...(!settings.isQuick && { must: atMost(5) }),
      },
      {
        name: "– afterwards, at rest",
        unit: "MB",
        digits: 0,
        ours: [ours.restingBytes / megabyte],
        informer: [informer.restingBytes / megabyte],
      },
    ],
    notes: [
      `Along the changes: one run at full speed; growth is the slope from the first sixth on. The informers took ${informer.changes.toLocaleString("en")} changes.`,
      `At the last change ours had ${Math.round(anonymous / megabyte)} MB anonymous (heaps, buffers), ${Math.round(file / megabyte)} MB of files (the program), ${Math.round(shared / megabyte)} MB shared.`,
    ],
  }
}

const followOnce = async (
  what: string,
  start: StartSubject,
  changes: number,
  { profileDirectory, tell }: ScenarioSettings,
): Promise<ChangesMemory> => {
  await using cluster = await BenchCluster.start()
  await using subject = await start(cluster, { kinds: baseKinds.map(gvkOf), profileDirectory })
  const followed = await cluster.during(followChanges(cluster, subject, changes))
  const slopeText = `${((followed.growthBytesPerChange * 1_000_000) / megabyte).toFixed(1)} MB a million`
  tell(`${what}: ${changes} changes: at most ${Math.round(followed.peakBytes / megabyte)} MB, ${slopeText}`)
  return followed
}
