/** `reel replay` on a terminal: shows progress, and prints what happened. */

import { systemClock } from "../../clock.ts"
import type { WebhookAddress } from "../../host/index.ts"
import { messageOf } from "../../message-of.ts"
import {
  followRecordedLives,
  LifeScout,
  PassingLives,
  RemovalIncomplete,
  RemovalUnchecked,
  Repetitions,
  type RepetitionsOptions,
  type RepetitionsReport,
  type ReplayReport,
  type ReplaySurvey,
  refuseLacking,
  registeredWebhook,
  reportPage,
  surveyReplay,
} from "../../simulation/index.ts"

import { visible } from "../../text/index.ts"
import type { CommandTerminal, Say } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { webhookAddressOf } from "../command-line/webhook-address.ts"
import { progressLine } from "../terminal/live-line.ts"
import { isLive, type Terminal } from "../terminal/terminal.ts"
import { serveControl } from "./control/control-server.ts"
import { metricsOf, stateOf } from "./control/control-state.ts"
import { keysHelp, listenForKeys, listenForSignals } from "./control/replay-control.ts"
import type { ReplayOrder } from "./replay-order.ts"
import { judgedBy } from "./replay-reports.ts"
import type { ReplaySource } from "./replay-source.ts"
import { listenForInterrupts, type ReplayStage, withStage } from "./replay-stage.ts"
import { describeRepetition, describeReplay, describeReplayProgress } from "./replay-summary.ts"

// Lets a replay be controlled while it runs: by keys, by signals, and over HTTP if that was requested.

interface ControlSurroundings {
  readonly terminal: Terminal
  /** Ends the replay as Ctrl-C does. */
  readonly interrupt: () => void
  readonly tell: Say
}

/** Rejects with AddressUnavailable or TokenFileError before `work` is called, or with what that rejects with. */
const controlled = async <Result>(
  order: ReplayOrder,
  run: Repetitions,
  { terminal, interrupt, tell }: ControlSurroundings,
  work: () => Promise<Result>,
): Promise<Result> => {
  const control = { run, stop: interrupt }
  await using server =
    order.control === undefined
      ? undefined
      : await serveControl(order.control, {
          control,
          state: () => stateOf(order.name, run),
          metrics: () => metricsOf(run),
          onTrouble: tell,
        })
  if (server !== undefined) tell(`control and metrics: ${server.url}/replay, ${server.url}/metrics`)
  const stopSignals = listenForSignals(terminal, control)
  // Standard input may be the trace, and keys without a progress line would have no visible effect.
  const hasKeys = order.trace !== "-" && isLive(terminal.standardError, terminal.environment)
  const stopKeys = hasKeys ? listenForKeys(terminal, control) : undefined
  if (stopKeys !== undefined) tell(`keys: ${keysHelp}`)
  try {
    return await work()
  } finally {
    stopKeys?.()
    stopSignals()
  }
}

// Whether the pods of a replay follow their recorded lives, and how the cluster reaches the webhook that tells them.

/** The trace as each run reads it, and what gives the run's pods their lives. */
const podsOf = (
  { pods, webhookAddress }: Pick<ReplayOrder, "pods" | "webhookAddress">,
  { source, target }: Pick<ReplayStage<unknown>, "source" | "target">,
  say: Say,
): Pick<RepetitionsOptions, "open" | "followPods"> => {
  const { open } = source
  if (pods === "cluster") return { open }
  let passing = new PassingLives()
  const address = addressOf(webhookAddress, target.isHere)
  const followPods = followRecordedLives({
    client: target.podsClient,
    source: () => (source.isReadOnce ? passing : new LifeScout(open)),
    webhook: address && registeredWebhook(target.podsClient, address),
    random: Math.random,
    onProblem: say,
  })
  if (!source.isReadOnce) return { open, followPods }
  const openOnce: ReplaySource["open"] = async (signal) => {
    passing = new PassingLives()
    return passing.items(await open(signal))
  }
  return { open: openOnce, followPods }
}

const loopback = "127.0.0.1"

const addressOf = (given: ReplayOrder["webhookAddress"], isHere: boolean): WebhookAddress | undefined => {
  if (given === undefined) return isHere ? { host: loopback, listen: { address: loopback, port: 0 } } : undefined
  return webhookAddressOf(given)
}

// What can be known before a replay creates anything.

/** ms that reading may take before the replay starts. */
const checkMs = 1000

/**
 * Reads a trace once, for as long as {@link checkMs}; `undefined` for a pipe, which can be read only once. Damage that lies further back, and what
 * the cluster lacks for it, is found when the replay gets there. Rejects with the error of the source.
 */
const surveySource = async (
  order: ReplayOrder,
  source: ReplaySource,
  signal: AbortSignal,
): Promise<ReplaySurvey | undefined> => {
  if (source.isPipe) return undefined
  const deadline = performance.now() + checkMs
  const window = { ...order.window, now: systemClock.wallMicros() }
  return surveyReplay({ ...order, items: await source.open(), window, signal }, () => performance.now() > deadline)
}

/** Replays a trace. */
export const runReplay = async (requested: ReplayOrder, terminal: CommandTerminal): Promise<ExitCode> => {
  const { say } = terminal
  const line = progressLine(terminal)
  const tell: Say = (text) => line.around(() => say(text))
  const interrupts = listenForInterrupts(terminal, tell)
  const print = (text: string): void => void terminal.standardOutput.write(`${visible(text)}\n`)
  const left: unknown[] = []
  let begun: Repetitions | undefined
  const { signal } = interrupts.first
  const surroundings = { environment: terminal.environment, signal }
  const check = (source: ReplaySource, order: ReplayOrder): ReturnType<typeof surveySource> =>
    surveySource(order, source, signal)
  try {
    return await withStage(requested, surroundings, check, async ({ order, source, target, checked, reports }) => {
      const followsLives = order.pods === "recorded"
      if (checked !== undefined) target.serveKinds(checked.planner.undefinedKinds)
      if (checked !== undefined && !order.isPartial)
        await refuseLacking(target.client, checked, { ...order, followsLives })
      tell(`replaying ${source.name} as ${order.name} into ${target.description}`)
      const run: Repetitions = new Repetitions({
        ...order,
        ...podsOf(order, { source, target }, (problem) => line.around(() => say(problem))),
        isPipe: source.isPipe,
        window: { ...order.window, now: systemClock.wallMicros() },
        client: target.client,
        clock: systemClock,
        onUndefinedKind: (gvk, isNamespaced) => {
          if (checked?.planner.defines(gvk) !== true) target.serveKinds(new Map([[gvk, isNamespaced]]))
        },
        signal,
        cleanUpSignal: interrupts.second.signal,
        onProgress: (progress) =>
          line.show(() => describeRepetition(run.number, order.repetitions) + describeReplayProgress(progress)),
        onRemovalFailed: (error) => left.push(error),
        ...(order.isJudged && { judged: judgedBy(order, target.endpoints, tell) }),
        onRepetition: (report) =>
          line.around(() => {
            if (order.repetitions > 1) print(`repetition ${run.number}`)
            for (const text of describeReplay(report)) print(text)
          }),
      })
      begun = run
      const done = await controlled(order, run, { terminal, interrupt: interrupts.interrupt, tell }, () => run.run())
      line.close()
      const [only] = done
      if (order.repetitions === 1 && only !== undefined) await reports.write(only, () => reportPage(only))
      else await reports.write(all(order.name, done))
      const isLeft = left.length > 0 && done.every(({ stopped }) => stopped === null)
      return isLeft ? exitCodes.failed : exitCodeOf(done, done.length < order.repetitions)
    })
  } finally {
    line.close()
    const { name, keep, target } = requested
    // What failed before has created nothing, and the name may be that of another replay.
    const hasCreated = begun?.current?.outcomes !== undefined
    if (keep && hasCreated && (target.kubeconfig ?? target.context) !== undefined)
      say(`what was created was left in the cluster; remove it with reel replay --clean ${name}`)
    for (const error of left) say(describeLeft(error, name))
    interrupts.stop()
  }
}

/** Why something may be left in the cluster, and what to do. */
const describeLeft = (error: unknown, name: string): string => {
  if (error instanceof RemovalIncomplete || error instanceof RemovalUnchecked) return error.message
  return `not everything was removed: ${messageOf(error)}; try again with reel replay --clean ${name}`
}

const all = (replay: string, repetitions: ReadonlyArray<ReplayReport>): RepetitionsReport => ({
  version: 1,
  replay,
  repetitions,
})

/** `isCut`: repetitions are missing, of which none before failed. */
const exitCodeOf = (reports: ReadonlyArray<ReplayReport>, isCut: boolean): ExitCode => {
  const stops = reports.map(({ stopped }) => stopped)
  if (stops.includes("interrupted")) return exitCodes.interrupted
  if (stops.some((stopped) => stopped !== null)) return exitCodes.failed
  // Ctrl-C during the removal between two of them.
  if (isCut) return exitCodes.interrupted
  const isIncomplete = reports.some(
    ({ seed, events, gaps, lives, fidelity }) =>
      seed.refused + events.refused + gaps > 0 || (lives?.unasked ?? null) !== null || hasUnasked(fidelity),
  )
  return isIncomplete ? exitCodes.incomplete : exitCodes.ok
}

/** The recording shows pods about which the webhook was not asked, although each look found that it was asked. */
const hasUnasked = (fidelity: ReplayReport["fidelity"]): boolean =>
  fidelity !== undefined && !("unknown" in fidelity) && (fidelity.pods?.unasked ?? 0) > 0
