/**
 * Scenario *catch-up*: the CPU of changes that a recorder receives when they happen, and of as many that it missed while it was stopped, in one run and
 * with the same cluster.
 *
 * Both are read as fast as they come. Those that are missed are made at a pace, so that they happened at the times that their objects say, as in a
 * cluster. Each process first takes a tenth unmeasured, because the budget is for a warm recorder and not for V8's compilers.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { baseKinds, gvkOf } from "./load/bench-kinds.ts"
import { BenchCluster } from "./load/generator-process.ts"
import { generatorOptionsOf } from "./load/workload.ts"
import { warmUpOf } from "./measuring/ingest-run.ts"
import { readCpuSeconds, readThreads, threadTimes } from "./processes/process-watch.ts"
import { quotients } from "./report/ratios.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"
import { type RunningRecorder, startRecorder } from "./subjects/recorder-subject.ts"

/** ms for all rounds, and for one step. */
const limitMs = 170_000
const patienceMs = 120_000
/** Changes a second of the cluster while nothing watches. */
const perSecond = 20_000

/** A stretch of changes that was taken. */
interface Taken {
  /** µs a change, of the whole process. */
  readonly cpu: number
  readonly watchers: number
  readonly store: number
  readonly changesPerSecond: number
}

interface CatchUpRun {
  readonly live: Taken
  readonly missed: Taken
  /** From the start of the process until nothing was missing. */
  readonly seconds: number
  /** Of what was missed, changes that are called late. */
  readonly lateShare: number
}

export const catchUp: Scenario = {
  name: "catch-up",
  description: "changes that were missed while the recorder was stopped: CPU per change, beside that of live ones",
  takes: ["heartbeatShare", "objectBytes", "objects", "pods"],
  takesPeer: false,
  run: async (settings) => {
    const events = settings.events ?? (settings.isQuick ? 30_000 : 300_000)
    const runs: CatchUpRun[] = []
    const wanted = settings.rounds ?? (settings.isQuick || settings.profileDirectory !== undefined ? 1 : 3)
    const rounds = await inRounds(wanted, limitMs, async (round) => {
      const run = await measure(events, settings)
      runs.push(run)
      const costs = `live ${run.live.cpu.toFixed(1)}, missed ${run.missed.cpu.toFixed(1)} µs CPU a change`
      settings.tell(`round ${round}: ${costs}, ${Math.round(run.lateShare * 100)} % called late`)
    })
    return report(runs, events, rounds, settings)
  },
}

const measure = async (events: number, settings: ScenarioSettings): Promise<CatchUpRun> => {
  const { profileDirectory, workload } = settings
  await using cluster = await BenchCluster.start(generatorOptionsOf(workload))
  await using subject = await startRecorder(cluster, { kinds: baseKinds.map(gvkOf), profileDirectory })
  await cluster.during(subject.listed(patienceMs))
  const warmUp = warmUpOf(events)
  const all = warmUp + events
  const liveSent = cluster.change(all, patienceMs)
  const live = await takenAfter(subject, warmUp, cluster.ordered.events)
  await liveSent
  const had = cluster.ordered.events
  await subject.stop()
  const missedSent = cluster.changeAtPace(all, perSecond, patienceMs)
  await sleep((all / perSecond) * 1000 + 1500)
  const start = performance.now()
  await subject.restart()
  const missed = await takenAfter(subject, had + warmUp, cluster.ordered.events)
  const seconds = (performance.now() - start) / 1000
  await missedSent
  const late = await subject.metric(`kubereel_kind_late_total{kind="${gvkOf(baseKinds[0] as (typeof baseKinds)[0])}"}`)
  return { live, missed, seconds, lateShare: (late ?? 0) / (cluster.ordered.events - had) }
}

/** What the changes cost from number `from` on, or a few later, up to `until`. */
const takenAfter = async (subject: RunningRecorder, from: number, until: number): Promise<Taken> => {
  while ((await subject.committed()) < from) await sleep(20)
  const threads = readThreads(subject.pid)
  const cpu = readCpuSeconds(subject.pid)
  const start = performance.now()
  const before = await subject.committed()
  await subject.taken(until, patienceMs)
  const changes = until - before
  const ofThread = (name: string): number =>
    threadTimes(threads, readThreads(subject.pid))
      .filter((thread) => thread.name === name)
      .reduce((sum, thread) => sum + thread.seconds, 0)
  return {
    cpu: ((readCpuSeconds(subject.pid) - cpu) / changes) * 1e6,
    watchers: (ofThread("watcher.js") / changes) * 1e6,
    store: (ofThread("store.js") / changes) * 1e6,
    changesPerSecond: (changes / (performance.now() - start)) * 1000,
  }
}

const report = (
  runs: ReadonlyArray<CatchUpRun>,
  events: number,
  rounds: number,
  { workload }: ScenarioSettings,
): ScenarioReport => {
  const row = (
    name: string,
    unit: string,
    digits: number,
    value: (run: CatchUpRun) => number,
    more: Pick<Measure, "must" | "aim"> = {},
  ): Measure => ({ name, unit, digits, ours: runs.map(value), ...more })
  const isUsual = Object.keys(workload).length === 0
  const most = (value: number) => (isUsual ? { must: { relation: "at most", value } as const } : {})
  return {
    measures: [
      row("CPU per missed change, whole process", "µs", 2, ({ missed }) => missed.cpu, most(12)),
      row("– of it watchers", "µs", 2, ({ missed }) => missed.watchers),
      row("– of it store", "µs", 2, ({ missed }) => missed.store),
      row("CPU per live change, whole process", "µs", 2, ({ live }) => live.cpu),
      row("– of it watchers", "µs", 2, ({ live }) => live.watchers),
      row("– of it store", "µs", 2, ({ live }) => live.store),
      {
        name: "missed ÷ live",
        unit: "",
        digits: 2,
        ours: quotients(
          runs.map(({ missed }) => missed.cpu),
          runs.map(({ live }) => live.cpu),
        ),
        ...most(1.5),
      },
      row("missed changes taken", "events/s", 0, ({ missed }) => missed.changesPerSecond),
      row("from start to caught up", "s", 1, ({ seconds }) => seconds),
      row("called late, of those missed", "%", 1, ({ lateShare }) => lateShare * 100),
    ],
    notes: [
      `${events.toLocaleString("en")} changes live, then as many while the recorder was stopped, made at ${perSecond.toLocaleString("en")} a second; ${warmUpOf(events).toLocaleString("en")} before each unmeasured; ${rounds} ${rounds === 1 ? "round" : "rounds"}.`,
    ],
  }
}
