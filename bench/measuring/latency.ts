/**
 * Part of scenario *ingest*: how long an event takes from the socket until it is committed, at a steady pace.
 *
 * It begins when the event is due in the generator's schedule, whether or not it could be written then: a recorder that makes its server
 * wait is charged for the waiting (no coordinated omission). It ends when a reader of the database finds the event committed
 * (commit-watch.ts). Both moments are on the kernel's monotonic clock, which all processes share. Every figure includes the generator's
 * timers, up to 1 ms, and the reader's interval.
 */
import { baseKinds, deployments, gvkOf } from "../load/bench-kinds.ts"
import { BenchCluster, type PacedOrder } from "../load/generator-process.ts"
import { generatorOptionsOf, type Workload } from "../load/workload.ts"
import type { Curve } from "../report/chart/chart.ts"
import { percentile } from "../report/statistics.ts"
import type { Measure } from "../report/table.ts"
import { inRounds, type ScenarioReport, type ScenarioSettings } from "../scenario.ts"
import { startRecorder } from "../subjects/recorder-subject.ts"
import { CommitWatch, lookMs, recordedChanges } from "./commit-watch.ts"

/** A quiet cluster, a busy one, and a storm. */
const usualRates: ReadonlyArray<number> = [20, 1000, 20_000]
/** s at a pace, and the fewest and the most events: 400 at the slowest. */
const secondsAtPace = 8
const fewestEvents = 400
const mostEvents = 100_000
/** The storm is 58 MB/s; more would be too much for a loopback that others use, too. */
const mostBytesPerSecond = 100e6
/** Warm-up events at full speed, in which V8 compiles. */
const warmUp = 30_000
const patienceMs = 60_000
const limitMs = 110_000

/** Of receipt to commit at any rate (docs/reference/architecture.md#archive); the path from the socket counts, too. */
const limit = { must: { relation: "at most", value: 250 } } as const

const shares = [
  { name: "p50", share: 0.5 },
  { name: "p99", share: 0.99 },
  { name: "p99.9", share: 0.999 },
] as const

interface PaceLatency {
  /** One for each share. */
  readonly percentilesMs: ReadonlyArray<number>
  readonly events: number
  /** How late the generator wrote an event at most. */
  readonly lateMs: number
}

export const measureLatency = async (settings: ScenarioSettings): Promise<ScenarioReport> => {
  const rates = ratesOf(settings.workload)
  const measured = new Map<number, Array<PaceLatency>>(rates.map((rate) => [rate, []]))
  const wanted = Math.min(settings.rounds ?? 3, settings.isQuick ? 1 : 3)
  const rounds = await inRounds(wanted, limitMs, async (round) => {
    for (const [rate, latency] of await measureRound(rates, settings)) {
      measured.get(rate)?.push(latency)
      const [p50 = Number.NaN, p99 = Number.NaN, p999 = Number.NaN] = latency.percentilesMs
      const text = `${p50.toFixed(1)} / ${p99.toFixed(1)} / ${p999.toFixed(1)} ms`
      settings.tell(
        `round ${round}: ours: ${rate.toLocaleString("en")} events/s: socket → commit p50 / p99 / p99.9 ${text}`,
      )
    }
  })
  return report(measured, rounds)
}

/** The given rate, or the usual ones that a machine can sustain with objects of that size. */
const ratesOf = ({ rate, objectBytes = deployments.lineBytes }: Workload): ReadonlyArray<number> =>
  rate === undefined ? usualRates.filter((usual) => usual * objectBytes <= mostBytesPerSecond) : [rate]

/** Fewer for large objects: the warm-up of the code depends on the bytes. */
const warmUpOf = ({ objectBytes = deployments.lineBytes }: Workload, isQuick: boolean): number =>
  Math.ceil((isQuick ? warmUp / 10 : warmUp) * Math.min(1, deployments.lineBytes / objectBytes))

const eventsAt = (rate: number, isQuick: boolean): number =>
  isQuick ? Math.max(40, Math.min(rate, 20_000)) : Math.max(fewestEvents, Math.min(mostEvents, rate * secondsAtPace))

const measureRound = async (
  rates: ReadonlyArray<number>,
  { isQuick, workload }: ScenarioSettings,
): Promise<ReadonlyMap<number, PaceLatency>> => {
  await using cluster = await BenchCluster.start(generatorOptionsOf(workload))
  await using subject = await startRecorder(cluster, { kinds: baseKinds.map(gvkOf) })
  await cluster.during(subject.listed(patienceMs))
  await cluster.change(warmUpOf(workload, isQuick), patienceMs)
  await subject.taken(cluster.ordered.events, patienceMs)
  const phases: Array<{
    readonly rate: number
    readonly from: number
    readonly watch: CommitWatch
    paced: PacedOrder
  }> = []
  for (const rate of rates) {
    const from = cluster.ordered.events
    const events = eventsAt(rate, isQuick)
    const watch = new CommitWatch(subject.dataDirectory)
    try {
      const paced = await cluster.changeAtPace(events, rate, patienceMs + (events / rate) * 1000)
      await subject.taken(cluster.ordered.events, patienceMs)
      phases.push({ rate, from, watch, paced })
    } finally {
      watch.stop()
    }
  }
  // Last, because it takes a second in which no queries are possible.
  const changes = recordedChanges(subject.dataDirectory, gvkOf(deployments))
  return new Map(
    phases.map(({ rate, from, watch, paced }) => {
      const latencies = watch.latencies(
        changes,
        ({ number }, look) => look.monotonicMs - (paced.startMs + ((number - from) * 1000) / rate),
      )
      const percentilesMs = shares.map(({ share }) => percentile(latencies, share))
      return [rate, { percentilesMs, events: latencies.length, lateMs: paced.lateMs }]
    }),
  )
}

const report = (measured: ReadonlyMap<number, ReadonlyArray<PaceLatency>>, rounds: number): ScenarioReport => {
  const measures = [...measured].flatMap(([rate, runs]): ReadonlyArray<Measure> => {
    const row = (name: string, value: (run: PaceLatency) => number, more: Pick<Measure, "must"> = {}): Measure => ({
      name,
      unit: "ms",
      digits: 1,
      ours: runs.map(value),
      ...more,
    })
    return [
      ...shares.map(({ name }, index) =>
        row(
          `socket → commit at ${rate.toLocaleString("en")} events/s, ${name}`,
          (run) => run.percentilesMs[index] ?? Number.NaN,
          name === "p99" ? limit : {},
        ),
      ),
      row("– generator late, at most", (run) => run.lateMs),
    ]
  })
  const counts = [...measured].map(
    ([rate, runs]) => `${runs[0]?.events.toLocaleString("en")} at ${rate.toLocaleString("en")}/s`,
  )
  const curve: Curve = {
    title: "socket → commit",
    xTitle: "events/s",
    yTitle: "ms",
    isLogarithmic: true,
    points: [...measured].flatMap(([rate, runs]) =>
      shares.flatMap(({ name }, index) =>
        runs.map((run) => ({ series: name, x: rate, y: run.percentilesMs[index] ?? Number.NaN })),
      ),
    ),
  }
  return {
    measures,
    curves: [curve],
    notes: [
      `Socket → commit: from the moment an event is due by the generator's schedule until a reader of the database finds it committed, which it looks for every ${lookMs} ms. ` +
        `Events of a round: ${counts.join(", ")}; ${rounds} ${rounds === 1 ? "round" : "rounds"}, a recorder of its own in each. Below 1,000 events p99.9 is the longest. The store gathers for up to 30 ms before it commits.`,
    ],
  }
}
