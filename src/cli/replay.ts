/** `reel replay`: its arguments. The work is in src/simulation, what is printed in replay/. */
import { randomBytes } from "node:crypto"
import { readSourcePath } from "../blob/index.ts"
import { systemClock } from "../clock.ts"
import { cleanUp, forecastReplay, RemovalUnchecked, virtualNodeTaint } from "../simulation/index.ts"
import { visible } from "../text/index.ts"
import { type CommandSyntax, type OptionValues, optionName } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { withoutFile } from "./command-line/failures.ts"
import { mirrorVariables, storeVariables } from "./command-line/shared-options.ts"
import { faultOfControl } from "./replay/control/control-server.ts"
import { keysHelp } from "./replay/control/replay-control.ts"
import { replayOptions } from "./replay/replay-options.ts"
import type { ReplayOrder } from "./replay/replay-order.ts"
import { runReplay } from "./replay/replay-run.ts"
import { listenForInterrupts, withStage } from "./replay/replay-stage.ts"
import { describeForecast } from "./replay/replay-summary.ts"
import { openTarget } from "./replay/replay-target.ts"
import { kindsIn, namesIn } from "./replay/trace-kinds.ts"

// `reel replay --clean NAME`: removes what a replay created.

const runCleanUp = async (
  name: string,
  target: ReplayOrder["target"],
  terminal: CommandTerminal,
): Promise<ExitCode> => {
  const interrupts = listenForInterrupts(terminal)
  try {
    await using open = await openTarget({ ...target, concurrency: 16 })
    const { signal } = interrupts.first
    const { removed, unchecked } = await cleanUp({ client: open.client, clock: systemClock, replay: name, signal })
    terminal.standardOutput.write(
      removed === 0
        ? `nothing of replay ${name} is in ${open.description}\n`
        : `removed ${removed} labelled objects of replay ${name}, and what was in its namespaces\n`,
    )
    if (unchecked.length === 0) return exitCodes.ok
    terminal.say(new RemovalUnchecked({ replay: name, unchecked }).message)
    return exitCodes.incomplete
  } finally {
    interrupts.stop()
  }
}

// `reel replay --dry-run`: prints what a replay would do.

const runForecast = async (requested: ReplayOrder, terminal: CommandTerminal): Promise<ExitCode> => {
  const interrupts = listenForInterrupts(terminal)
  const { signal } = interrupts.first
  const surroundings = { environment: terminal.environment, signal }
  const unchecked = (): Promise<void> => Promise.resolve()
  try {
    return await withStage(requested, surroundings, unchecked, async ({ order, source, target, reports }) => {
      const items = await source.open()
      const window = { ...order.window, now: systemClock.wallMicros() }
      const followsLives = order.pods === "recorded"
      const { client, serveKinds } = target
      const forecast = await forecastReplay({ ...order, followsLives, items, window, client, serveKinds, signal })
      for (const text of describeForecast(forecast)) terminal.standardOutput.write(`${visible(text)}\n`)
      await reports.write(forecast)
      return forecast.lacking.length + forecast.gaps > 0 ? exitCodes.incomplete : exitCodes.ok
    })
  } finally {
    interrupts.stop()
  }
}

const syntax: CommandSyntax<typeof replayOptions> = {
  name: "reel replay",
  summary: "Replays a trace into another cluster, on time, and removes what it created.",
  description: [
    "Creates the state at the start, then sends each change when it is due. Objects get namespaces of their own (virtual-shop for shop) " +
      "and the label kubereel.dev/replay; everything is removed at the end, also after a failure or Ctrl-C.",
    `On a terminal, ${keysHelp}. SIGUSR1 pauses and resumes, SIGUSR2 steps; --control does so over HTTP.`,
    "docs/guides/replay.md says what is replayed and what is not.",
  ],
  options: replayOptions,
  operand: {
    placeholder: "TRACE",
    help: "a trace of any format: a file, s3://BUCKET/KEY (also gs:// and azure://), or - for standard input; the data directory of a recorder; or the address of a stream",
  },
  exitCodes: {
    failed: "stopped early, or nothing was created because the cluster lacks kinds",
    incomplete:
      "done, but the cluster refused objects, the trace has gaps, or the webhook for the lives of pods was not asked; with --dry-run: the cluster lacks something",
    notPermitted: "only permissions are missing, or the server refuses the credentials",
    interrupted: "Ctrl-C or SIGTERM; what was created is removed",
  },
  environment: [
    ["KUBEREEL_TOKEN", "token to present to the recorder of --recorder, if --token-file is not given"],
    ...storeVariables,
    ...mirrorVariables,
  ],
  examples: [
    "reel replay day.ndjson.zst --speed 10",
    "reel replay day.sktrace --kubeconfig staging.kubeconfig --report replay.json",
    "reel replay day.ndjson --from 2026-11-20T03:10:00Z --duration 5m",
    "reel replay /var/lib/kubereel --from 2026-11-20T03:10:00Z --repetitions 3",
    "reel replay --clean NAME --kubeconfig staging.kubeconfig",
  ],
  seeAlso: ["reel compare", "reel run", "reel validate", "docs/guides/replay.md", "docs/reference/replay-report.md"],
}

type Options = OptionValues<typeof replayOptions>

export const replayCommand = (): Command =>
  command(syntax, async (given, terminal, [trace]) => {
    const problem = wrongCombination(given, trace)
    if (problem !== undefined) return problem
    const target = { kubeconfig: given.kubeconfig, context: given.context }
    if (given.clean !== undefined) return runCleanUp(given.clean, target, terminal)
    const order = orderOf(given, trace ?? "", target)
    return withoutFile(() => (given.dryRun ? runForecast(order, terminal) : runReplay(order, terminal)))
  })

/** Checks that involve more than one option. */
const wrongCombination = (given: Options, trace: string | undefined): string | undefined => {
  const namesCluster = given.kubeconfig !== undefined || given.context !== undefined
  if (given.sandbox && namesCluster) return "--sandbox excludes --kubeconfig and --context"
  if (given.clean !== undefined) {
    if (trace !== undefined) return "--clean takes no TRACE"
    return namesCluster ? undefined : "--clean needs --kubeconfig or --context; a sandbox keeps nothing"
  }
  if (given.webhookAddress !== undefined && (!namesCluster || given.pods === "cluster"))
    return "--webhook-address is for --pods recorded in a cluster that --kubeconfig or --context names"
  if (given.noFidelity && given.recording !== undefined) return "--no-fidelity excludes --recording"
  if (given.dryRun && given.html !== undefined) return "--dry-run excludes --html"
  if (given.report !== undefined && given.report === given.html) return "--report and --html name the same file"
  if (given.repetitions !== 1 && (given.html ?? given.recording) !== undefined)
    return "--html and --recording are for a single repetition"
  const faultOfAccess = faultOfControl(given.control, given.controlTokenFile)
  if (faultOfAccess !== undefined) return faultOfAccess
  const { from, to, recorder } = given
  if (given.keep && given.repetitions === Number.POSITIVE_INFINITY) return "--repetitions forever excludes --keep"
  const faultOfSource = recorder === undefined ? wrongTrace(given, trace) : wrongRecorder(given, trace)
  if (faultOfSource !== undefined) return faultOfSource
  return from !== undefined && to !== undefined && from >= to ? "--from must be before --to" : undefined
}

const wrongTrace = (given: Options, trace: string | undefined): string | undefined => {
  const idle = recorderOptions.find((name) => given[name] !== undefined)
  if (idle !== undefined) return `--${optionName(idle)} requires --recorder`
  if (trace === undefined || trace === "") return "missing argument: expected TRACE"
  const place = readSourcePath(trace)
  return place.tag === "refused" ? `TRACE ${place.path}: ${place.reason}` : undefined
}

const wrongRecorder = (given: Options, trace: string | undefined): string | undefined => {
  if (trace !== undefined) return "--recorder takes no TRACE"
  if (given.from === undefined) return "--recorder needs --from: the start of the window to replay"
  if (given.format !== undefined) return "--recorder excludes --format"
  const isUrl = given.recorder?.tag === "url"
  return isUrl && (given.recorderKubeconfig ?? given.recorderContext) !== undefined
    ? "--recorder-kubeconfig and --recorder-context are for --recorder NAMESPACE/SERVICE"
    : undefined
}

const recorderOptions = ["recorderKubeconfig", "recorderContext", "tokenFile"] as const

const orderOf = (given: Options, trace: string, target: ReplayOrder["target"]): ReplayOrder => ({
  trace,
  target,
  recorder: given.recorder && {
    place: given.recorder,
    kubeconfig: given.recorderKubeconfig,
    context: given.recorderContext,
    tokenFile: given.tokenFile,
  },
  repetitions: given.repetitions,
  name: given.name ?? randomBytes(3).toString("hex"),
  format: given.format,
  window: { from: given.from, to: given.to, duration: given.duration },
  speed: given.speed,
  concurrency: given.concurrency,
  maximumLagMs: given.maxLag / 1000,
  onLag: given.onLag,
  onConflict: given.onConflict,
  isStrict: given.strict,
  isPartial: given.partial,
  keep: given.keep,
  namespacePrefix: given.namespacePrefix,
  placement: {
    nodeSelector: given.nodeSelector === undefined ? {} : { [given.nodeSelector[0]]: given.nodeSelector[1] },
    taintKey: virtualNodeTaint,
  },
  included: kindsIn(given.include),
  intoRecordedCluster: given.intoRecordedCluster,
  pods: given.pods,
  webhookAddress: given.webhookAddress,
  control: given.control && { ...given.control, tokenFile: given.controlTokenFile },
  seededStatus: kindsIn(given.seedStatus),
  names: { included: namesIn(given.include), seededStatus: namesIn(given.seedStatus) },
  report: given.report,
  html: given.html,
  force: given.force,
  settleMs: given.settle / 1000,
  recording: given.recording,
  isJudged:
    !given.noFidelity && (given.report !== undefined || given.html !== undefined || given.recording !== undefined),
})
