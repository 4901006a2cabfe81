/** One subject of scenario *host*, on a cluster of its own, from its start through all that is measured. */
import { setTimeout as sleep } from "node:timers/promises"
import { percentile } from "../report/statistics.ts"
import { HostCluster, type HostKind } from "./host-cluster.ts"
import { HostedSubject, type SubjectSort } from "./hosted-subject.ts"

export interface HostRunOptions {
  readonly sort: SubjectSort
  readonly controllers: number
  /** Of each: its own of the cluster's ten, in turn, or all of them. */
  readonly kindsEach: "one" | "all"
  readonly kinds: ReadonlyArray<HostKind>
  /** The built program of `managers`, which they need. */
  readonly managerPath: string | undefined
  /** Events/s, one after another. */
  readonly paces: ReadonlyArray<number>
  /** Shortest time of a pace, s. */
  readonly seconds: number
  /** Fewest events of a pace. */
  readonly events: number
  /** ms from the lists until memory is read: longer than a host keeps the thread that compiles modules. */
  readonly restMs: number
  /** ms from the last delivery until memory is read again. */
  readonly settleMs: number
  /** ms in which the CPU at rest is measured. */
  readonly idleMs: number
}

export interface PaceRun {
  readonly perSecond: number
  /** ms from sending to the entry. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU of the subject for each change that entered one controller, µs. */
  readonly cpuMicros: number
  /** Changes that entered, through those that could. Below 1 where states were folded. */
  readonly share: number
  /** Bytes just after the last delivery: what the deliveries have left is not yet collected. */
  readonly pss: number
  /** Of the bench's own sender, ms. */
  readonly lateMs: number
}

export interface HostRun {
  /** Bytes. */
  readonly pss: number
  /** Share of a CPU. */
  readonly idleShare: number
  readonly paces: ReadonlyArray<PaceRun>
  /** Bytes after all that. */
  readonly pssAfter: number
  /** Of modules: ms until the first entry of each. */
  readonly startedMs: ReadonlyArray<number>
}

const watchedBy = ({ controllers, kindsEach, kinds }: Pick<HostRunOptions, "controllers" | "kindsEach" | "kinds">) =>
  Array.from({ length: controllers }, (_, index) =>
    kindsEach === "all" ? kinds : kinds.slice(index % kinds.length, (index % kinds.length) + 1),
  )

export const runHost = async (options: HostRunOptions): Promise<HostRun> => {
  const { sort, kinds, managerPath, paces, seconds, events, restMs, settleMs, idleMs } = options
  await using cluster = await HostCluster.start(kinds)
  const watched = watchedBy(options)
  const hosted = { sort, watched, managerPath }
  await using subject = await HostedSubject.start(cluster, hosted)
  await sleep(restMs)
  const { pss } = subject
  const idleFrom = subject.cpuSeconds
  await sleep(idleMs)
  const idleShare = ((subject.cpuSeconds - idleFrom) * 1000) / idleMs
  // Unmeasured, until V8 has compiled the hot code.
  await changeAndMeasure(cluster, subject, watched, paces[0] ?? 1, seconds / 3)
  const measured: Array<PaceRun> = []
  for (const perSecond of paces) {
    const duration = Math.max(seconds, events / perSecond)
    measured.push(await changeAndMeasure(cluster, subject, watched, perSecond, duration))
  }
  await sleep(settleMs)
  return { pss, idleShare, paces: measured, pssAfter: subject.pss, startedMs: subject.startedMs }
}

const changeAndMeasure = async (
  cluster: HostCluster,
  subject: HostedSubject,
  watched: ReadonlyArray<ReadonlyArray<HostKind>>,
  perSecond: number,
  seconds: number,
): Promise<PaceRun> => {
  const cpuFrom = subject.cpuSeconds
  const { ofKind, lateMs } = await cluster.change(Math.ceil(perSecond * seconds), perSecond)
  const latencies = await subject.measured(() => cluster.mark())
  const cpuSeconds = subject.cpuSeconds - cpuFrom
  const { pss } = subject
  const sentOf = new Map(cluster.kinds.map((kind, index) => [kind, ofKind[index] ?? 0]))
  const possible = watched.flat().reduce((sum, kind) => sum + (sentOf.get(kind) ?? 0), 0)
  return {
    perSecond,
    p50Ms: percentile(latencies, 0.5) / 1000,
    p99Ms: percentile(latencies, 0.99) / 1000,
    cpuMicros: (cpuSeconds / latencies.length) * 1e6,
    share: latencies.length / possible,
    pss,
    lateMs,
  }
}
