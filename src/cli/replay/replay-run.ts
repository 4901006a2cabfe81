/** `reel replay` on a terminal: opens trace, cluster and report, shows progress, and prints what happened. */
import { randomBytes } from "node:crypto"
import { backgroundClock, systemClock } from "../../clock.ts"
import { isCredentialsError } from "../../kube/credentials/errors.ts"
import { visible } from "../../recorder/configuration/quoted.ts"
import { withConnectionAdvice } from "../../recorder/notices/trouble-advice.ts"
import { ReplayExists, TargetUnusable } from "../../simulation/replay/errors.ts"
import { forecastReplay } from "../../simulation/replay/forecast.ts"
import { Replay, type ReplayOptions } from "../../simulation/replay/replay.ts"
import type { ReplayReport } from "../../simulation/replay/replay-report.ts"
import { CleanUpIncomplete, cleanUp } from "../../simulation/target/clean-up.ts"
import { ExportInterrupted, OutputExists, OutputFailed } from "../../trace/files/output-errors.ts"
import { type OutputSink, openOutputFile } from "../../trace/files/output-file.ts"
import { InputUnreadable, openTraceFile } from "../../trace/files/trace-input.ts"
import { openTraceItems, type TraceItemsOptions } from "../../trace/files/trace-items.ts"
import { DecompressionError } from "../../trace/formats/compression.ts"
import { BadTraceError } from "../../trace/formats/format.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { createLiveLine } from "../terminal/live-line.ts"
import { isLive, type Terminal } from "../terminal/terminal.ts"
import { describeForecast, describeReplay, describeReplayProgress } from "./replay-summary.ts"
import { type OpenTarget, openTarget, type TargetRequest } from "./replay-target.ts"

/** The request of the command line. */
export interface ReplayOrder
  extends Pick<
    ReplayOptions,
    | "name"
    | "speed"
    | "concurrency"
    | "maximumLagMs"
    | "onLag"
    | "onConflict"
    | "isStrict"
    | "keep"
    | "namespacePrefix"
    | "placement"
    | "included"
  > {
  /** A path, or `-`. */
  readonly trace: string
  readonly format: TraceFormatName | undefined
  readonly window: Omit<ReplayOptions["window"], "now">
  readonly target: Omit<TargetRequest, "concurrency">
  readonly report: string | undefined
  readonly force: boolean
}

type Say = (line: string) => void

/** Replays a trace. Rejects only for defects. */
export const runReplay = (order: ReplayOrder, terminal: Terminal, say: Say): Promise<ExitCode> =>
  reported(say, async () => {
    const inputName = order.trace === "-" ? "standard input" : visible(order.trace)
    const interrupts = listen(terminal, say)
    const line = createLiveLine({
      stream: terminal.standardError,
      isEnabled: isLive(terminal.standardError, terminal.environment),
      clock: backgroundClock,
    })
    let sink: OutputSink | undefined
    try {
      const opening = { inputName, from: order.format, signal: interrupts.first.signal }
      await checkSmallTrace(order.trace, opening)
      const { items } = await openTraceItems(await openTraceFile(order.trace), opening)
      sink = await openReport(order)
      await using target = await openTarget({ ...order.target, concurrency: order.concurrency })
      line.around(() => say(`replaying ${inputName} as ${order.name} into ${target.description}`))
      const replay = new Replay({
        ...order,
        items,
        window: { ...order.window, now: systemClock.wallMicros() },
        client: target.client,
        clock: systemClock,
        signal: interrupts.first.signal,
        cleanUpSignal: interrupts.second.signal,
        onProgress: (progress) => line.show(() => describeReplayProgress(progress)),
      })
      const report = await replay.run()
      line.close()
      if (order.keep && order.target.kubeconfig !== undefined)
        say(`everything was left in the cluster; remove it with reel replay --clean ${order.name}`)
      for (const text of describeReplay(report)) terminal.standardOutput.write(`${visible(text)}\n`)
      await sink?.write(Buffer.from(`${JSON.stringify(report, undefined, 2)}\n`))
      await sink?.commit()
      sink = undefined
      return exitCodeOf(report)
    } finally {
      line.close()
      interrupts.stop()
      await sink?.discard()
    }
  })

/** Prints what a replay would do. Rejects only for defects. */
export const runForecast = (order: ReplayOrder, terminal: Terminal, say: Say): Promise<ExitCode> =>
  reported(say, async () => {
    const inputName = order.trace === "-" ? "standard input" : visible(order.trace)
    const interrupts = listen(terminal, () => undefined)
    let sink: OutputSink | undefined
    try {
      const { signal } = interrupts.first
      const { items } = await openTraceItems(await openTraceFile(order.trace), {
        inputName,
        from: order.format,
        signal,
      })
      sink = await openReport(order)
      await using target = await openTarget({ ...order.target, concurrency: order.concurrency })
      const window = { ...order.window, now: systemClock.wallMicros() }
      const forecast = await forecastReplay({ ...order, items, window, client: target.client, signal })
      for (const text of describeForecast(forecast)) terminal.standardOutput.write(`${visible(text)}\n`)
      await sink?.write(Buffer.from(`${JSON.stringify(forecast, undefined, 2)}\n`))
      await sink?.commit()
      sink = undefined
      return forecast.lacking.length + forecast.gaps > 0 ? exitCodes.incomplete : exitCodes.ok
    } finally {
      interrupts.stop()
      await sink?.discard()
    }
  })

/** Removes what a replay created. Rejects only for defects. */
export const runCleanUp = (
  name: string,
  target: ReplayOrder["target"],
  terminal: Terminal,
  say: Say,
): Promise<ExitCode> =>
  reported(say, async () => {
    const interrupts = listen(terminal, () => undefined)
    try {
      await using open: OpenTarget = await openTarget({ ...target, concurrency: 16 })
      const { signal } = interrupts.first
      const { removed } = await cleanUp({ client: open.client, clock: systemClock, replay: name, signal })
      terminal.standardOutput.write(
        removed === 0
          ? `nothing of replay ${name} is in ${open.description}\n`
          : `removed ${removed} labelled objects of replay ${name}, and what was in its namespaces\n`,
      )
      return exitCodes.ok
    } finally {
      interrupts.stop()
    }
  })

/** Bytes up to which a file is read once before anything is created: half a second at most. */
const smallTrace = 64_000_000

/** A small file that is damaged somewhere is rejected before anything is created; a larger one when the damage is reached. */
const checkSmallTrace = async (path: string, options: TraceItemsOptions): Promise<void> => {
  if (path === "-") return
  const input = await openTraceFile(path)
  if (input.size === undefined || input.size > smallTrace) return
  const { items } = await openTraceItems(input, options)
  for await (const chunk of items) for (const _ of chunk);
}

const openReport = async ({ report, force }: ReplayOrder): Promise<OutputSink | undefined> =>
  report === undefined ? undefined : openOutputFile(report, { force, token: randomBytes(8).toString("hex") })

interface Interrupts {
  /** Aborted by the first Ctrl-C. */
  readonly first: AbortController
  /** Aborted by the second. */
  readonly second: AbortController
  readonly stop: () => void
}

const listen = (terminal: Terminal, say: Say): Interrupts => {
  const [first, second] = [new AbortController(), new AbortController()]
  const stop = terminal.onInterrupt(() => {
    if (first.signal.aborted) return second.abort()
    say("interrupted: removing what was created; press Ctrl-C again to leave it")
    first.abort()
  })
  return { first, second, stop }
}

const exitCodeOf = ({ stopped, seed, events, gaps }: ReplayReport): ExitCode => {
  if (stopped === "interrupted") return exitCodes.interrupted
  if (stopped !== null) return exitCodes.failed
  return seed.refused + events.refused + gaps > 0 ? exitCodes.incomplete : exitCodes.ok
}

/** Failures that a person can do something about become a line and an exit code. */
const reported = async (say: Say, run: () => Promise<ExitCode>): Promise<ExitCode> => {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ExportInterrupted) return exitCodes.interrupted
    const isKnown =
      error instanceof BadTraceError ||
      error instanceof DecompressionError ||
      error instanceof InputUnreadable ||
      error instanceof OutputExists ||
      error instanceof OutputFailed ||
      error instanceof ReplayExists ||
      error instanceof TargetUnusable ||
      error instanceof CleanUpIncomplete ||
      isCredentialsError(error) ||
      isApiError(error)
    if (!isKnown) throw error
    say(withConnectionAdvice(error.message))
    if (error instanceof OutputExists) return exitCodes.usage
    return error instanceof TargetUnusable && error.isForbidden ? exitCodes.notPermitted : exitCodes.failed
  }
}

/** Every error of the API client has the question that it is about. */
const isApiError = (error: unknown): error is Error =>
  error instanceof Error && "_tag" in error && "verb" in error && "kind" in error
