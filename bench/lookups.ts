/**
 * Scenario *lookups*: what recording costs while owners are being asked for, by how long the API server takes to answer.
 *
 * Pods are recorded and their ReplicaSets are not, so that each pod's owner is a question; there are more of them than can be
 * asked in the time measured. Meanwhile Deployments change: first at a steady pace, then as fast as they are read. An event's
 * latency is from its receipt, which stands in the recording, until a reader beside the recorder finds it committed.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../src/runtime/clock.ts"
import { ArchiveReader } from "../src/trace/archive/archive-reader.ts"
import { deployments, gvkOf, pods } from "./bench-kinds.ts"
import { BenchCluster } from "./generator-process.ts"
import { type RunningRecorder, startRecorder } from "./recorder-subject.ts"
import { inRounds, type Scenario, type ScenarioReport, type ScenarioSettings } from "./scenario.ts"
import { percentile } from "./statistics.ts"
import type { Measure } from "./table.ts"

/** ms after which the API server answers a look-up. */
const delays = [0, 50, 500] as const
/** Each owned by a ReplicaSet of its own; 50 a second are asked for, after 100 at once. */
const ownedPods = 4000
/** The steady pace: changes a second, in portions. */
const steadyPerSecond = 5000
const portionMs = 10
/** ms between two looks at what is committed: the precision of a latency. */
const lookMs = 2
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
  /** Changes sent that the recording does not hold. */
  readonly missing: number
}

export const lookups: Scenario = {
  name: "lookups",
  description: "receipt to commit while owners are looked up, answered after 0, 50 and 500 ms",
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
  /** Sends and waits until all was committed. */
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
  const steadyCommits = await phase(steadyChanges, () => paced(cluster, steadyChanges))
  const fastCommits = await phase(changes, () => cluster.change(changes, patienceMs))
  const unknown = (await subject.metric("kubereel_owners_pending")) ?? Number.NaN
  const answered = (await subject.metric("kubereel_owner_requests_total")) ?? Number.NaN
  // Last, because it takes seconds in which no question can be asked.
  const received = receivedChanges(subject)
  const missing = sent - (received.size - listed.Deployment)
  const steady = steadyCommits.latencies(received)
  const fast = { ...fastCommits.latencies(received), perSecond: changes / fastCommits.seconds }
  tell(
    `round ${round}: answers after ${delayMs} ms: steady ${steady.p50Ms.toFixed(0)} / ${steady.p99Ms.toFixed(0)} ms, ` +
      `fast ${fast.p50Ms.toFixed(0)} / ${fast.p99Ms.toFixed(0)} ms at ${Math.round(fast.perSecond).toLocaleString("en")} events/s, ` +
      `${unknown} owners unknown at the end`,
  )
  return { steady, fast, unknown, answered, missing }
}

const paced = async (cluster: BenchCluster, count: number): Promise<void> => {
  const startedAt = performance.now()
  const portion = (steadyPerSecond * portionMs) / 1000
  for (let sent = 0; sent < count; sent += portion) {
    await cluster.change(Math.min(portion, count - sent), patienceMs)
    await sleep(Math.max(0, startedAt + ((sent + portion) / steadyPerSecond) * 1000 - performance.now()))
  }
}

/** Looks again and again at how far the recording is. */
class CommitWatch {
  readonly #reader: ArchiveReader
  readonly #from: number
  readonly #startedAt = performance.now()
  #endedAt = 0
  /** Rising in both. */
  readonly #looks: Array<{ readonly atMicros: number; readonly cut: number }> = []
  readonly #timer: NodeJS.Timeout

  constructor(directory: string) {
    this.#reader = ArchiveReader.open(directory)
    this.#from = this.#reader.cut()
    this.#timer = setInterval(() => this.#look(), lookMs)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#endedAt = performance.now()
    this.#look()
    this.#reader.close()
  }

  get seconds(): number {
    return (this.#endedAt - this.#startedAt) / 1000
  }

  /** `received`: when each event was, µs since the Unix epoch, by its sequence number; rising. */
  latencies(received: ReadonlyMap<number, number>): Latencies {
    const latencies: Array<number> = []
    let look = 0
    const last = this.#looks.at(-1)?.cut ?? 0
    for (const [sequence, time] of received) {
      if (sequence <= this.#from || sequence > last) continue
      while ((this.#looks[look]?.cut ?? last) < sequence) look++
      latencies.push(((this.#looks[look]?.atMicros ?? Number.NaN) - time) / 1000)
    }
    return { p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99) }
  }

  #look(): void {
    const cut = this.#reader.cut()
    if (cut > (this.#looks.at(-1)?.cut ?? this.#from)) this.#looks.push({ atMicros: systemClock.wallMicros(), cut })
  }
}

/** The events of Deployments in the recording: when each was received, by its sequence number, in order. */
const receivedChanges = ({ dataDirectory }: RunningRecorder): ReadonlyMap<number, number> => {
  const reader = ArchiveReader.open(dataDirectory)
  try {
    const received: Array<readonly [sequence: number, time: number]> = []
    for (const event of reader.events({ kinds: [gvkOf(deployments)] })) {
      if (event.type === "object") received.push([event.sequence, event.time])
    }
    return new Map(received.sort(([left], [right]) => left - right))
  } finally {
    reader.close()
  }
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
      row("– p99", "ms", (run) => run.steady.p99Ms, { relation: "at most", value: 250 }),
      row("receipt → commit as fast as it goes, p50", "ms", (run) => run.fast.p50Ms),
      row("– p99", "ms", (run) => run.fast.p99Ms),
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
      `A commit is noticed up to ${lookMs} ms late. The store gathers for up to 100 ms before it commits (architecture §5).`,
    ],
  }
}
