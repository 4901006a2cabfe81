/** `reel replay` on a terminal: shows progress, and prints what happened. */
import { backgroundClock, systemClock } from "../../clock.ts"
import { visible } from "../../recorder/configuration/quoted.ts"
import { reportPage } from "../../simulation/page/report-page.ts"
import { refuseLacking } from "../../simulation/replay/forecast.ts"
import { Repetitions } from "../../simulation/replay/repetitions.ts"
import type { RepetitionsReport, ReplayReport } from "../../simulation/replay/replay-report.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { createLiveLine } from "../terminal/live-line.ts"
import { isLive, type Terminal } from "../terminal/terminal.ts"
import { controlled } from "./control/controlled-run.ts"
import { describeLeft, reported } from "./replay-failures.ts"
import { listenForInterrupts } from "./replay-interrupts.ts"
import type { ReplayOrder, Say } from "./replay-order.ts"
import { podsOf } from "./replay-pods.ts"
import { judgedBy } from "./replay-reports.ts"
import { withStage } from "./replay-stage.ts"
import { describeRepetition, describeReplay, describeReplayProgress } from "./replay-summary.ts"
import { surveySource } from "./source/replay-check.ts"
import type { ReplaySource } from "./source/replay-source.ts"

/** Replays a trace. Rejects only for defects. */
export const runReplay = (requested: ReplayOrder, terminal: Terminal, say: Say): Promise<ExitCode> =>
  reported(say, async () => {
    const line = createLiveLine({
      stream: terminal.standardError,
      isEnabled: isLive(terminal.standardError, terminal.environment),
      clock: backgroundClock,
    })
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
  })

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

/** The recording shows pods of which the webhook was not told although it was asked at every look. */
const hasUnasked = (fidelity: ReplayReport["fidelity"]): boolean =>
  fidelity !== undefined && !("unknown" in fidelity) && (fidelity.pods?.unasked ?? 0) > 0
