/**
 * Scenario *lookups*: the cost of recording while owners are being looked up, by the API server's response time.
 *
 * Pods are recorded and their ReplicaSets are not, so that each pod's owner must be looked up; there are more of them than can be looked up
 * in the measured time. Meanwhile Deployments change: first at a steady rate, then as fast as they are read. An event's latency is from its
 * receipt, as recorded, until a separate reader finds it committed.
 */
import { deployments, gvkOf, pods } from "./load/bench-kinds.ts"
import { BenchCluster } from "./load/generator-process.ts"
import { CommitWatch, lookMs, type RecordedChange, recordedChanges, sinceReceipt } from "./measuring/commit-watch.ts"
import { percentile } from "./report/statistics.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"
import { startRecorder } from "./subjects/recorder-subject.ts"

/** ms after which the API server responds to a look-up. */
const delays = [0, 50, 500] as const
/** Each owned by its own ReplicaSet; 50 a second are looked up, after a burst of 100. */
const ownedPods = 4000
/** The steady pace: changes a second. */
const steadyPerSecond = 5000
/** ms for all rounds, and that one thing may take. */
const limitMs = 170_000
const patienceMs = 60_000

interface Latencies {
  readonly p50Ms: number
  readonly p99Ms: number
}

interface LookupsRun {
  readonly steady: Latencies
  readonly fast: Latencies & { readonly perSecond: number }
  /** Owners unknown at the end. */
  readonly unknown: number
  readonly answered: number
  /** Changes sent that are not in the recording. */
  readonly missing: number
}

export const lookups: Scenario = {
  name: "lookups",
  description: "receipt to commit while owners are looked up, answered after 0, 50 and 500 ms",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const changes = settings.events ?? (settings.isQuick ? 10_000 : 100_000)
    const runs = new Map<number, LookupsRun[]>(delays.map((delayMs) => [delayMs, []]))
    const wanted = settings.rounds ?? (settings.isQuick ? 1 : 3)
    const rounds = await inRounds(wanted, limitMs, async (round) => {
      for (const delayMs of delays) runs.get(delayMs)?.push(await measure(delayMs, round, changes, settings))
    })
    return report(runs, changes, rounds)
  },
}

const measure = async (
  delayMs: number,
  round: number,
  changes: number,
  { profileDirectory, isQuick, tell }: ScenarioSettings,
): Promise<LookupsRun> => {
  const listed = { Deployment: 1000, ReplicaSet: 0, Pod: ownedPods }
  await using cluster = await BenchCluster.start({ listed, ownerDelayMs: delayMs })
  await using subject = await startRecorder(cluster, { kinds: [deployments, pods].map(gvkOf), profileDirectory })
  await cluster.during(subject.listed(patienceMs))
  const steadyChanges = steadyPerSecond * (isQuick ? 1 : 5)
  const warmUp = Math.ceil(changes / 10)
  let sent = 0
  /** Sends changes and waits until all are committed. */
  const phase = async (count: number, send: () => Promise<unknown>): Promise<CommitWatch> => {
    const commits = new CommitWatch(subject.dataDirectory)
    try {
      sent += count
      await Promise.all([send(), subject.taken(sent, patienceMs)])
    } finally {
      commits.stop()
    }
    return commits
  }
  await phase(warmUp, () => cluster.change(warmUp, patienceMs))
  const steadyCommits = await phase(steadyChanges, () => cluster.change(steadyChanges, patienceMs, steadyPerSecond))
  const fastCommits = await phase(changes, () => cluster.change(changes, patienceMs))
  const unknown = (await subject.metric("kubereel_owners_pending")) ?? Number.NaN
  const answered = (await subject.metric("kubereel_owner_requests_total")) ?? Number.NaN
  // Last, because it takes seconds in which no look-up can be made.
  const received = recordedChanges(subject.dataDirectory, gvkOf(deployments))
  const missing = sent - (received.length - listed.Deployment)
  const steady = latenciesOf(steadyCommits, received)
  const fast = { ...latenciesOf(fastCommits, received), perSecond: changes / fastCommits.seconds }
  tell(
    `round ${round}: answers after ${delayMs} ms: steady ${steady.p50Ms.toFixed(0)} / ${steady.p99Ms.toFixed(0)} ms, ` +
      `fast ${fast.p50Ms.toFixed(0)} / ${fast.p99Ms.toFixed(0)} ms at ${Math.round(fast.perSecond).toLocaleString("en")} events/s, ` +
      `${unknown} owners unknown at the end`,
  )
  return { steady, fast, unknown, answered, missing }
}

const latenciesOf = (watch: CommitWatch, received: ReadonlyArray<RecordedChange>): Latencies => {
  const latencies = watch.latencies(received, sinceReceipt)
  return { p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99) }
}

const report = (
  runs: ReadonlyMap<number, ReadonlyArray<LookupsRun>>,
  changes: number,
  rounds: number,
): ScenarioReport => {
  const measures = [...runs].flatMap(([delayMs, ofDelay]): ReadonlyArray<Measure> => {
    const row = (name: string, unit: string, value: (run: LookupsRun) => number, must?: Measure["must"]): Measure => ({
      name: `${delayMs} ms: ${name}`,
      unit,
      digits: 0,
      ours: ofDelay.map(value),
      ...(must !== undefined && { must }),
    })
    return [
      row(`receipt → commit at ${steadyPerSecond.toLocaleString("en")} events/s, p50`, "ms", (run) => run.steady.p50Ms),
      row(
        `receipt → commit at ${steadyPerSecond.toLocaleString("en")} events/s, p99`,
        "ms",
        (run) => run.steady.p99Ms,
        { relation: "at most", value: 250 },
      ),
      row("receipt → commit as fast as it goes, p50", "ms", (run) => run.fast.p50Ms),
      row("receipt → commit as fast as it goes, p99", "ms", (run) => run.fast.p99Ms),
      row("sustained", "events/s", (run) => run.fast.perSecond),
      row("changes missing", "", (run) => run.missing, { relation: "at most", value: 0 }),
      row("look-ups made", "", (run) => run.answered),
      row("owners unknown at the end", "", (run) => run.unknown, { relation: "at least", value: 600 }),
    ]
  })
  return {
    measures,
    notes: [
      `${ownedPods.toLocaleString("en")} pods with an owner each that must be asked for, at most 50 a second and 8 at once; ` +
        `${(steadyPerSecond * 5).toLocaleString("en")} changes of Deployments at the steady pace (fewer with --quick), then ` +
        `${changes.toLocaleString("en")}; ${rounds} ${rounds === 1 ? "round" : "rounds"} of all delays in turn.`,
      `A commit is noticed up to ${lookMs} ms late. The store gathers for up to 30 ms before it commits.`,
    ],
  }
}
