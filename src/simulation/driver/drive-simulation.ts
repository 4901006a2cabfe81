/**
 * The driver of a Simulation: one repetition, from its trace to its report. Nothing is created before trace,
 * certificate and destination of the report are usable, and nothing is replayed before the API server calls the
 * webhook. However the repetition ends, what it created is removed, or the message says what is left.
 */
import { hash } from "node:crypto"
import { type ApiClient, type ApiObject, kinds, type Metadata } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { derivedNames, simulationLabel } from "../api/derived-names.ts"
import { defaultNamespacePrefix, type Simulation, traceDurationMs } from "../api/simulation.ts"
import { longestHistory, type RepetitionReport, type SimulationProgress } from "../api/status.ts"
import { Fidelity } from "../fidelity/fidelity.ts"
import { type Placement, virtualNodeTaint } from "../objects/pod-templates.ts"
import { ownMetadata } from "../objects/target-object.ts"
import { followRecordedLives } from "../pods/followed-pods.ts"
import { LifeScout } from "../pods/life-source.ts"
import type { StartDelays } from "../pods/pod-lives.ts"
import { Repetitions } from "../replay/repetitions.ts"
import type { ReplayOptions, ReplayProgress } from "../replay/replay-options.ts"
import type { RootKeeper } from "../replay/replay-root.ts"
import type { ReplayReport } from "../report/replay-report.ts"
import { unlessExists } from "../target/target-cluster.ts"
import { DriverFailure, type DriverSetting, type DriverTrace, extentOf, type TraceExtent } from "./driver-setting.ts"
import { DriverHooks, DriverStatus, driverFieldManager } from "./driver-status.ts"
import { DriverWebhook } from "./driver-webhook.ts"
import { beingDeleted, SimulationWatch, simulationRoot } from "./simulation-watch.ts"

// The replay of one repetition: controlled by the Simulation, judged by a recording of the cluster, its progress in the status.

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
const drivenReplay = async (
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

// The ConfigMap with the summaries of a Simulation's repetitions, which lives as long as the Simulation.

/**
 * Adds the summary of a repetition as `<repetition>.json`, and removes that of {@link longestHistory} repetitions before, because an object has room for
 * about 1 MiB. Each repetition manages its own: what others have written stays. Rejects with an ApiError.
 */
const keepSummary = async (
  client: ApiClient,
  { apiVersion, kind, metadata: { name, uid = "" }, spec }: Simulation,
  repetition: number,
  summary: string,
): Promise<void> => {
  const place = { namespace: spec.driver.namespace, name: derivedNames(name).report }
  const apply = (manager: number, metadata: Metadata, data: object): Promise<ApiObject> =>
    client.apply(
      kinds.configMaps,
      place,
      { apiVersion: "v1", kind: "ConfigMap", metadata, data },
      { fieldManager: `${driverFieldManager}-${manager}`, force: true },
    )
  const labels = {
    [simulationLabel]: name,
    "app.kubernetes.io/name": place.name,
    "app.kubernetes.io/managed-by": "kubereel",
  }
  const ownerReferences = [{ apiVersion, kind, name, uid }]
  await apply(repetition, { ...place, labels, ownerReferences }, { [`${repetition}.json`]: summary })
  if (repetition > longestHistory) await apply(repetition - longestHistory, place, {})
}

// What is kept of the report of a repetition: key figures for the status, and a summary for the ConfigMap.

/** `url`: where the full report is. Pure. */
const keyFigures = (report: ReplayReport, repetition: number, url: string | undefined): RepetitionReport => {
  const { seed, events, dispatchErrorMs, fidelity } = report
  const judged = fidelity === undefined || "unknown" in fidelity ? undefined : fidelity
  const objectsEqual = judged?.score.objectsEqual ?? undefined
  const recorded = judged?.pods?.created.recorded ?? 0
  return {
    repetition,
    ...(url !== undefined && { url }),
    // Without a comparison the objects that existed at the start are the ones that can be counted without counting any twice.
    objects: judged?.objects.total ?? seed.accepted,
    ...(objectsEqual !== undefined && { objectsEqual }),
    writesRefused: seed.refused + events.refused,
    ...(events.sent > 0 && { driftP99Ms: Math.round(dispatchErrorMs.p99 * 1000) / 1000 }),
    ...(recorded > 0 && { podsPaired: Math.min(1, (judged?.pods?.paired ?? 0) / recorded) }),
  }
}

/** Causes that a summary names; the full report has all. */
const mostCauses = 5
/** Characters of a sentence in a summary: its ConfigMap has room for a hundred summaries of some kB. */
const longestText = 300

/** The summary of one repetition as JSON, some kB at most. Pure. */
const summaryOf = (report: ReplayReport, figures: RepetitionReport): string => {
  const { replay, speed, startedAt, run, stopped, seed, events, dispatchErrorMs, lagMs, lives, gaps } = report
  const { refused, skipped, warnings, fidelity } = report
  const causes = (all: ReplayReport["refused"]) =>
    all.slice(0, mostCauses).map((cause) => ({ ...cause, example: cause.example.slice(0, longestText) }))
  const judged =
    fidelity === undefined || "unknown" in fidelity
      ? fidelity
      : { score: fidelity.score, objects: fidelity.objects, states: fidelity.states }
  const summary = {
    ...figures,
    replay,
    startedAt,
    speed,
    run,
    stopped,
    seed,
    events,
    dispatchErrorMs,
    lagMs,
    lives,
    gaps,
    refused: causes(refused),
    skipped: causes(skipped),
    warnings: warnings.slice(0, mostCauses).map((text) => text.slice(0, longestText)),
    fidelity: judged,
  }
  return `${JSON.stringify(summary, undefined, 2)}\n`
}

// The name of a repetition's replay: the value of the label of everything that it creates.

/** Characters of a label's value. */
const longest = 63
/** Hexadecimal characters that tell two long names apart. */
const suffix = 8

/** The pod's name, which no other repetition has; a name that is too long for a label, or has dots, ends with a hash of it. Pure. */
export const replayLabelOf = (pod: string): string => {
  if (pod.length <= longest && !pod.includes(".")) return pod
  const start = pod.replaceAll(".", "-").slice(0, longest - suffix - 1)
  return `${start.replace(/-+$/, "")}-${hash("sha256", pod, "hex").slice(0, suffix)}`
}

/** Never aborted: the pod's grace period, or the controller, ends a removal that takes too long. */
const never = new AbortController().signal

/** Longest name of a namespace. */
const longestNamespace = 63

/** Resolves when the repetition has been replayed and removed. Rejects with a {@link DriverFailure} or another error for people, also if it was ended. */
export const driveSimulation = async (setting: DriverSetting): Promise<void> => {
  const { simulation: name, pod, repetition, clients, clock, random, log } = setting
  const stopping = new AbortController()
  let stopReason = ""
  const stop = (reason: string): void => {
    stopReason ||= reason
    stopping.abort()
  }
  const end = (): void => stop("the driver was told to end")
  if (setting.signal.aborted) end()
  else setting.signal.addEventListener("abort", end)
  const { signal } = stopping
  const listeners = new Set<(simulation: Simulation) => void>()
  await using cleanUps = new AsyncDisposableStack()
  cleanUps.defer(() => setting.signal.removeEventListener("abort", end))
  const watch = await SimulationWatch.start({
    client: clients.own,
    clock,
    random,
    name,
    signal,
    onChange: (simulation) => {
      for (const listener of listeners) listener(simulation)
    },
    onDeleted: () => stop(beingDeleted(name)),
    onProblem: log,
  })
  cleanUps.defer(() => watch.stop())
  const simulation = watch.latest
  const { spec } = simulation
  const reportUrl = reportUrlOf(simulation, repetition)
  try {
    if (reportUrl !== undefined) await setting.reports.check(reportUrl, signal)
    const window = { from: undefined, to: undefined, duration: durationOf(simulation) }
    const trace = await setting.openTrace(setting.tracePath, window, signal)
    cleanUps.defer(() => trace.close())
    const replay = replayLabelOf(pod)
    const namespacePrefix = spec.driver.virtualNsPrefix ?? defaultNamespacePrefix
    const placement = { nodeSelector: { type: "virtual" }, taintKey: virtualNodeTaint }
    const whole = { ...window, now: clock.wallMicros() }
    const survey = { name: replay, window: whole, namespacePrefix, placement, included: new Set<string>(), signal }
    const extent = await extentOf(setting, trace, survey)
    const webhook = await DriverWebhook.start({
      ...setting.webhook,
      client: clients.pods,
      clock,
      replay,
      onProblem: log,
    })
    cleanUps.defer(() => webhook.close())
    const status = new DriverStatus({ client: clients.own, clock, simulation, pod, onProblem: log }, repetition)
    cleanUps.defer(() => status.close())
    const hooks = new DriverHooks({ ...setting, client: clients.own, signal })
    cleanUps.defer(() => hooks.close())
    const keeper = simulationRoot({ client: clients.own, clock, simulation, pod, replay, signal })
    const report = await removing(keeper, async () => {
      const root = await keeper.create()
      const gate = `${namespacePrefix}-${pod}`.slice(0, longestNamespace).replace(/-+$/, "")
      // A namespace for whose pods the controller has registered the webhook; it is removed with the root.
      const metadata = { name: gate, ...ownMetadata({ replay, root, simulation: name }) }
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata }
      await unlessExists(clients.replay.create(kinds.namespaces, namespace, { signal }))
      await webhook.reached(gate, signal)
      await hooks.run("preRun", watch.latest)
      log(`replaying ${trace.name} as repetition ${repetition} of the Simulation ${name}`)
      const settings = { replay, namespacePrefix, placement, window: whole, extent, signal, cleanUpSignal: never }
      return drivenReplay(setting, settings, { trace, webhook, status, keeper, watch, listeners })
    })
    if (signal.aborted || report.stopped !== null)
      throw new DriverFailure({ problem: `the repetition was stopped: ${stopReason || report.stopped}` })
    await keepReport(setting, simulation, report, reportUrl, status)
    await hooks.run("postRun", watch.latest)
  } catch (error) {
    // What fails because it was aborted would only say so.
    if (stopReason === "" || error instanceof DriverFailure) throw error
    throw new DriverFailure({ problem: `the repetition was stopped: ${stopReason}` })
  }
}

/** Removes what `work` created, whatever happens. Its own failure does not hide that of `work`. */
const removing = async <Result>(keeper: RootKeeper, work: () => Promise<Result>): Promise<Result> => {
  let result: Result
  try {
    result = await work()
  } catch (error) {
    try {
      await keeper.remove({ signal: never })
    } catch (left) {
      if (left === error) throw error
      throw new DriverFailure({ problem: `${messageOf(error)}; besides, ${messageOf(left)}` })
    }
    throw error
  }
  await keeper.remove({ signal: never })
  return result
}

const keepReport = async (
  { clients, repetition, reports }: DriverSetting,
  simulation: Simulation,
  report: ReplayReport,
  url: string | undefined,
  status: DriverStatus,
): Promise<void> => {
  const figures = keyFigures(report, repetition, url)
  if (url !== undefined) await reports.write(url, `${JSON.stringify(report, undefined, 2)}\n`)
  await keepSummary(clients.own, simulation, repetition, summaryOf(report, figures))
  await status.finished(figures)
}

const reportUrlOf = ({ metadata, spec }: Simulation, repetition: number): string | undefined => {
  const folder = spec.report?.url
  return folder === undefined ? undefined : `${folder.replace(/\/+$/, "")}/${metadata.name}-${repetition}.json`
}

/** In µs. */
const durationOf = ({ metadata, spec }: Simulation): number | undefined => {
  if (spec.duration === undefined || spec.duration === null) return undefined
  const ms = traceDurationMs(spec.duration)
  if (ms !== undefined) return ms * 1000
  throw new DriverFailure({
    problem: `spec.duration of the Simulation ${metadata.name} is ${JSON.stringify(spec.duration)}, which is no duration; write one such as +5m or 1h30m`,
  })
}
