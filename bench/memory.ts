/**
 * Scenario *memory*: resident memory after the lists and over many changes (docs/reference/architecture.md#budgets).
 *
 * Resident memory is what the kernel counts (VmRSS), of the whole process, its program files included; MB are 10^6 bytes.
 */
import { baseKinds, gvkOf } from "./load/bench-kinds.ts"
import { BenchCluster } from "./load/generator-process.ts"
import { describeWorkload, generatorOptionsOf } from "./load/workload.ts"
import { type ChangesMemory, followChanges } from "./measuring/changes-memory.ts"
import { listOnce } from "./measuring/list-memory.ts"
import type { Curve } from "./report/chart/chart.ts"
import type { Bound, Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"
import { startInformer, startNullReader } from "./subjects/counting-subject.ts"
import { startRecorder } from "./subjects/recorder-subject.ts"
import type { StartSubject } from "./subjects/subject.ts"

const megabyte = 1e6
/** `retainBytes` of the run under a limit: a sixth of what 6 million changes take. A recorder takes none below 64 MiB. */
const limitBytes = 80 * megabyte
/** Changes a second of that run, so that it lasts as long on every machine. */
const limitedRate = 40_000
/** What a recording may have on disk beyond its limit (docs/guides/recordings.md#bounds-on-disk). */
const beyondLimitBytes = 32 * 1024 * 1024
/** ms for the rounds of lists. */
const listsLimitMs = 60_000

const atMost = (value: number): Bound => ({ relation: "at most", value })

export const memory: Scenario = {
  name: "memory",
  description: "resident memory after the lists and along millions of changes",
  takes: ["rate", "heartbeatShare", "objectBytes", "objects", "pods"],
  takesPeer: false,
  run: async (settings) => {
    const lists = await measureLists(settings)
    const changes = await measureChanges(settings)
    return {
      measures: [...changes.measures, ...lists.measures],
      notes: [...changes.notes, ...lists.notes],
      curves: changes.curves ?? [],
    }
  },
}

/** After the lists of the three kinds. */
const measureLists = async (settings: ScenarioSettings): Promise<ScenarioReport> => {
  const names = baseKinds.map(gvkOf)
  const cluster = generatorOptionsOf(settings.workload)
  const runs: Record<"nullReader" | "informer" | "ours", Array<number>> = { nullReader: [], informer: [], ours: [] }
  const subjects = { nullReader: startNullReader, informer: startInformer, ours: startRecorder } as const
  const rounds = await inRounds(settings.rounds ?? (settings.isQuick ? 1 : 3), listsLimitMs, async (round) => {
    for (const [name, start] of Object.entries(subjects)) {
      const { settledBytes } = await listOnce(`round ${round}: ${name}`, start, cluster, names, settings)
      runs[name as keyof typeof subjects].push(settledBytes / megabyte)
    }
  })
  return {
    measures: [
      {
        name: "after the lists",
        unit: "MB",
        digits: 0,
        ...runs,
        ...(isOfTheBudgets(settings) && { must: atMost(190), aim: atMost(150) }),
      },
    ],
    notes: [
      `After the lists: ${describeWorkload(settings.workload) || "1,000 Deployments, ReplicaSets and Pods"}, ${rounds} ${rounds === 1 ? "start" : "starts"}, seconds after the last was taken. Three informers. The null reader lists nothing: it is a bare Node.`,
    ],
  }
}

const isOfTheBudgets = ({ workload }: ScenarioSettings): boolean => Object.keys(workload).length === 0

/** Over changes at full speed. The informer keeps what it is told to keep, so fewer changes are enough. */
const measureChanges = async (settings: ScenarioSettings): Promise<ScenarioReport> => {
  const changes = settings.events ?? (settings.isQuick ? 120_000 : 9_000_000)
  const ours = await followOnce("ours", startRecorder, changes, settings)
  const informer = await followOnce("informers", startInformer, Math.ceil(changes / 6), settings)
  const limited = await followOnce("ours, under a limit", startLimitedRecorder, Math.ceil((changes * 2) / 3), {
    ...settings,
    workload: { ...settings.workload, rate: settings.workload.rate ?? limitedRate },
  })
  const manyMeasures =
    settings.workload.pods === undefined ? await measureManyObjects(settings, Math.ceil(changes / 6)) : []
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
  const curve: Curve = {
    title: "resident memory along the changes",
    xTitle: "changes",
    yTitle: "MB",
    points: [
      { series: "ours", run: ours },
      { series: `ours, keeping ${limitBytes / megabyte} MB`, run: limited },
      { series: "client-node informer", run: informer },
    ].flatMap(({ series, run }) =>
      run.steps.map((step) => ({ series, x: step.changes, y: step.residentBytes / megabyte })),
    ),
  }
  const { anonymous, file, shared } = ours.last
  return {
    measures: [
      {
        name: `largest along ${of(ours)} changes`,
        unit: "MB",
        digits: 0,
        ours: [ours.peakBytes / megabyte],
        informer: [informer.peakBytes / megabyte],
        ...(isOfTheBudgets(settings) && { must: atMost(300), aim: atMost(220) }),
      },
      ...steps,
      {
        name: "growth per million changes",
        unit: "MB",
        digits: 1,
        ours: [growth(ours)],
        informer: [growth(informer)],
        ...(!settings.isQuick && isOfTheBudgets(settings) && { must: atMost(5) }),
      },
      {
        name: "– afterwards, at rest",
        unit: "MB",
        digits: 0,
        ours: [ours.restingBytes / megabyte],
        informer: [informer.restingBytes / megabyte],
      },
      {
        name: "– – garbage collected",
        unit: "MB",
        digits: 0,
        ours: [ours.collectedBytes / megabyte],
        informer: [informer.collectedBytes / megabyte],
      },
      {
        name: `under a limit of ${limitBytes / megabyte} MB, largest along ${of(limited)} changes`,
        unit: "MB",
        digits: 0,
        ours: [limited.peakBytes / megabyte],
        ...(isOfTheBudgets(settings) && { must: atMost(300), aim: atMost(220) }),
      },
      {
        name: "– growth per million changes",
        unit: "MB",
        digits: 1,
        ours: [growth(limited)],
        ...(!settings.isQuick && isOfTheBudgets(settings) && { must: atMost(5) }),
      },
      {
        name: "– recording in the end",
        unit: "MB",
        digits: 0,
        ours: [limited.storedBytes / megabyte],
      },
      {
        name: "– recording, at most",
        unit: "MB",
        digits: 0,
        ours: [limited.mostStoredBytes / megabyte],
        ...(isOfTheBudgets(settings) && { must: atMost((limitBytes + beyondLimitBytes) / megabyte) }),
      },
      ...manyMeasures,
    ],
    curves: [curve],
    notes: [
      `Along the changes: one run at full speed; growth is the slope from the first sixth on. The informers took ${informer.changes.toLocaleString("en")} changes. Garbage is collected in all threads, by a debugger from outside; its own part of some MB is in that figure.`,
      `At the last change ours had ${Math.round(anonymous / megabyte)} MB anonymous (heaps, buffers), ${Math.round(file / megabyte)} MB of files (the program), ${Math.round(shared / megabyte)} MB shared.`,
    ],
  }
}

/** Removes the beginning of its recording all the time. */
const startLimitedRecorder: StartSubject = async (cluster, options) => {
  const subject = await startRecorder(cluster, options)
  await subject.configure({ retainBytes: String(limitBytes / megabyte).concat("M") })
  return subject
}

/** The same with many objects alive. */
const measureManyObjects = async (settings: ScenarioSettings, changes: number): Promise<ReadonlyArray<Measure>> => {
  const pods = settings.isQuick ? 4000 : 100_000
  const workload = { ...settings.workload, pods }
  const run = await followOnce(`ours, ${pods.toLocaleString("en")} Pods`, startRecorder, changes, {
    ...settings,
    workload,
  })
  const row = (name: string, bytes: number): Measure => ({ name, unit: "MB", digits: 0, ours: [bytes / megabyte] })
  return [
    row(
      `${pods.toLocaleString("en")} Pods alive, largest along ${changes.toLocaleString("en")} changes`,
      run.peakBytes,
    ),
    row("– afterwards, at rest", run.restingBytes),
    row("– – garbage collected", run.collectedBytes),
  ]
}

const followOnce = async (
  what: string,
  start: StartSubject,
  changes: number,
  { profileDirectory, workload, tell }: ScenarioSettings,
): Promise<ChangesMemory> => {
  await using cluster = await BenchCluster.start(generatorOptionsOf(workload))
  await using subject = await start(cluster, { kinds: baseKinds.map(gvkOf), profileDirectory })
  const followed = await cluster.during(followChanges(cluster, subject, changes, workload.rate))
  const slopeText = `${((followed.growthBytesPerChange * 1_000_000) / megabyte).toFixed(1)} MB a million`
  tell(`${what}: ${changes} changes: at most ${Math.round(followed.peakBytes / megabyte)} MB, ${slopeText}`)
  return followed
}
