import type { Simulation } from "../api/simulation.ts"
import type { SimulationProgress } from "../api/status.ts"
import { Fidelity } from "../fidelity/fidelity.ts"
import type { Placement } from "../objects/pod-templates.ts"
import { followRecordedLives } from "../pods/followed-pods.ts"
import { LifeScout } from "../pods/life-source.ts"
import type { StartDelays } from "../pods/pod-lives.ts"
import { Repetitions } from "../replay/repetitions.ts"
import type { ReplayOptions, ReplayProgress } from "../replay/replay-options.ts"
import type { RootKeeper } from "../replay/replay-root.ts"
import type { ReplayReport } from "../report/replay-report.ts"
import type { DriverSetting, DriverTrace, TraceExtent } from "./driver-setting.ts"
import type { DriverStatus } from "./driver-status.ts"
import type { DriverWebhook } from "./driver-webhook.ts"
import type { SimulationWatch } from "./simulation-watch.ts"

/** What has been decided about the replay. */
interface DrivenOptions extends Pick<ReplayOptions, "window" | "signal" | "cleanUpSignal"> {
  readonly replay: string
  readonly namespacePrefix: string
  readonly placement: Placement
  readonly extent: TraceExtent
}

/** What stands around the replay. */
interface DrivenSurroundings {
  readonly trace: DriverTrace
  readonly webhook: DriverWebhook
  readonly status: DriverStatus
  readonly keeper: RootKeeper
  readonly watch: SimulationWatch
  /** Called with each new state of the Simulation. */
  readonly listeners: Set<(simulation: Simulation) => void>
}

/** Real ms by which an event may be late before the rest of the trace is delayed: as `reel replay` has it. */
const maximumLagMs = 30_000

/** Resolves with the report once everything has been removed. Rejects with the errors of the replay, or with that of the removal. */
export const drivenReplay = async (
  setting: DriverSetting,
  options: DrivenOptions,
  { trace, webhook, status, keeper, watch, listeners }: DrivenSurroundings,
): Promise<ReplayReport> => {
  const { clients, clock, random, repetition, log } = setting
  const { spec, metadata } = watch.latest
  const left: unknown[] = []
  const followPods = followRecordedLives({
    client: clients.pods,
    source: () => new LifeScout(trace.open),
    webhook: webhook.reviewing,
    // A pod of a Simulation has SimKube's labels and annotations, whatever the trace knows of it.
    isUnconditional: true,
    delays: delaysOf(spec.lifecycleParams),
    recreatesBarePods: spec.rescheduleInterruptedBarePods === true,
    random,
    onProblem: log,
  })
  const run: Repetitions = new Repetitions({
    ...options,
    name: options.replay,
    simulation: metadata.name,
    root: keeper,
    repetitions: 1,
    open: trace.open,
    isPipe: false,
    followPods,
    client: clients.replay,
    clock,
    speed: speedOf(watch.latest),
    concurrency: setting.concurrency,
    maximumLagMs,
    onLag: "slow",
    onConflict: "force",
    isStrict: false,
    keep: false,
    included: new Set(),
    intoRecordedCluster: setting.intoRecordedCluster,
    onProgress: (progress) => {
      if (progress.phase !== "cleaning up") status.progressed(progressOf(progress, run, repetition, options.extent))
    },
    onRemovalFailed: (error) => left.push(error),
    judged: async (replay) => {
      // The root of a simulation is no namespace.
      const ordinaryNamespace = "default"
      await using judge = new Fidelity({ ...setting, ...options, ordinaryNamespace, directory: undefined })
      const report = await replay(judge)
      const fidelity = judge.compare(report.lives !== undefined)
      return fidelity === undefined ? report : { ...report, fidelity }
    },
    onRepetition: () => undefined,
  })
  let applied = { isPaused: false, speed: run.speed }
  const control = (simulation: Simulation): void => {
    const wanted = { isPaused: isPaused(simulation), speed: speedOf(simulation) }
    if (wanted.speed !== applied.speed) {
      log(`the speed is ${wanted.speed} from now on`)
      run.setSpeed(wanted.speed)
    }
    if (wanted.isPaused !== applied.isPaused) {
      log(wanted.isPaused ? "paused" : "resumed")
      if (wanted.isPaused) run.pause()
      else run.resume()
    }
    applied = wanted
  }
  await using _surroundings = await setting.onRun?.(run)
  control(watch.latest)
  listeners.add(control)
  try {
    const [report] = await run.run()
    if (left.length > 0) throw left[0]
    // Of one repetition there is one report.
    return report as ReplayReport
  } finally {
    listeners.delete(control)
  }
}

const isPaused = ({ spec }: Simulation): boolean => spec.pausedTime !== undefined && spec.pausedTime !== null

const speedOf = ({ spec }: Simulation): number => spec.speed ?? 1

const delaysOf = (params: Simulation["spec"]["lifecycleParams"]): StartDelays | undefined => {
  if (params === undefined || params === null) return undefined
  const { imagePullDelay, imagePullJitter, podStartupDelay, podStartupJitter } = params
  return {
    createMs: imagePullDelay ?? undefined,
    createJitterMs: imagePullJitter ?? undefined,
    readyMs: podStartupDelay ?? undefined,
    readyJitterMs: podStartupJitter ?? undefined,
  }
}

const progressOf = (
  { phase, position }: ReplayProgress,
  run: Repetitions,
  repetition: number,
  { start, end, events }: TraceExtent,
): SimulationProgress => {
  const eventsSent = run.current?.outcomes?.events.counts.sent ?? 0
  const whole = (end ?? start) - start
  const share = phase === "settling" || whole <= 0 ? 1 : Math.min(1, Math.max(0, (position - start) / whole))
  const isStarted = phase !== "seeding"
  return {
    repetition,
    eventsSent,
    ...(events !== undefined && { eventsTotal: events }),
    ...(isStarted && position > 0 && { traceTime: new Date(position / 1000).toISOString() }),
    ...(isStarted && end !== undefined && { percent: Math.floor(share * 100) }),
  }
}
