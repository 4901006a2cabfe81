/**
 * The driver of a Simulation: one repetition, from its trace to its report. Nothing is created before trace,
 * certificate and destination of the report are usable, and nothing is replayed before the API server calls the
 * webhook. However the repetition ends, what it created is removed, or the message says what is left.
 */
import { hash } from "node:crypto"
import { kinds } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { defaultNamespacePrefix, type Simulation, traceDurationMs } from "../api/simulation.ts"
import { virtualNodeTaint } from "../objects/pod-templates.ts"
import { ownMetadata } from "../objects/target-object.ts"
import type { RootKeeper } from "../replay/replay-root.ts"
import type { ReplayReport } from "../report/replay-report.ts"
import { unlessExists } from "../target/target-cluster.ts"
import { drivenReplay } from "./driven-replay.ts"
import { DriverFailure, type DriverSetting, extentOf } from "./driver-setting.ts"
import { DriverHooks, DriverStatus } from "./driver-status.ts"
import { DriverWebhook } from "./driver-webhook.ts"
import { keepSummary, keyFigures, summaryOf } from "./repetition-summary.ts"
import { beingDeleted, SimulationWatch, simulationRoot } from "./simulation-watch.ts"

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
