/** Runs of scenario *replay* that follow the trace's clock: how punctual they are, and what they cost. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { readCpuSeconds } from "../processes/process-watch.ts"
import { percentile } from "../report/statistics.ts"
import { type Arrival, arrivals, driftMs, stretchPercent } from "./lateness.ts"
import { type RunningReplay, type RunOptions, runReplay } from "./replay-run.ts"
import { nameOf } from "./replay-workload.ts"

/** ms by which events were late. */
export interface Lateness {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface TimedRun {
  /** From due to reception, and what follows from it; `undefined` if the target does not tell. */
  readonly received: (Lateness & { readonly driftMs: number; readonly stretchPercent: number }) | undefined
  /** From due to sent, and to the response, as the command reports them. */
  readonly sent: Lateness
  readonly answered: Lateness
  /** Of the whole process, from its start to its end. */
  readonly cpuMsPerWrite: number
  /** CPU of the process in percent of one core, from a quarter of the trace to its last tenth. */
  readonly cpuPercent: number
  /** From the start of the command to the first write received; `undefined` as above. */
  readonly firstWriteSeconds: number | undefined
}

export const measureTimed = async (options: RunOptions & { readonly speed: number }): Promise<TimedRun> => {
  const { workload, speed } = options
  const lengthMs = workload.lengthMs / speed
  let cpuPercent = Promise.resolve(Number.NaN)
  const onStarted = ({ pid }: RunningReplay): void => {
    cpuPercent = cpuPercentOf(pid, lengthMs * 0.25, lengthMs * 0.65)
  }
  const { report, received, cpuSeconds, commandedAt } = await runReplay({ ...options, onStarted })
  const schedule = { changes: workload.changes(), speed, startedAt: Date.parse(report.startedAt) * 1000 }
  const all = received && arrivals(schedule, received, nameOf)
  const first = received?.[0]?.[1]
  return {
    received: all && { ...latenessOf(all), driftMs: driftMs(all), stretchPercent: stretchPercent(all) },
    sent: report.dispatchErrorMs,
    answered: report.lagMs,
    cpuMsPerWrite: (cpuSeconds * 1000) / report.events.accepted,
    cpuPercent: await cpuPercent,
    firstWriteSeconds: first === undefined ? undefined : (first - commandedAt) / 1e6,
  }
}

/** NaN if the process ends before. */
const cpuPercentOf = async (pid: number, fromMs: number, forMs: number): Promise<number> => {
  await sleep(fromMs)
  const before = { ms: performance.now(), seconds: secondsOf(pid) }
  await sleep(forMs)
  return (100_000 * (secondsOf(pid) - before.seconds)) / (performance.now() - before.ms)
}

const secondsOf = (pid: number): number => (existsSync(`/proc/${pid}`) ? readCpuSeconds(pid) : Number.NaN)

const latenessOf = (all: ReadonlyArray<Arrival>): Lateness => {
  const late = all.map(({ lateMs }) => lateMs)
  return { p50: percentile(late, 0.5), p99: percentile(late, 0.99), max: Math.max(...late) }
}
