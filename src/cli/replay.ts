/** `reel replay`: its arguments. The work is in src/simulation, what is printed in replay/replay-run.ts. */
import { randomBytes } from "node:crypto"
import type { CommandSyntax, OptionValues } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"
import { UsageError } from "./command-line/usage-error.ts"
import { replayOptions } from "./replay/replay-options.ts"
import { type ReplayOrder, runCleanUp, runForecast, runReplay } from "./replay/replay-run.ts"

const syntax: CommandSyntax<typeof replayOptions> = {
  name: "reel replay",
  summary: "Replays a trace into another cluster, on time, and removes what it created.",
  description: [
    "Creates the state at the start, then sends each change when it is due. Objects get namespaces of their own (virtual-shop for shop) " +
      "and the label kubereel.dev/replay; everything is removed at the end, also after a failure or Ctrl-C.",
    "docs/guides/replay.md says what is replayed and what is not.",
  ],
  options: replayOptions,
  operand: { placeholder: "TRACE", help: "a trace of any format; - means standard input" },
  examples: [
    "reel replay day.ndjson.zst --speed 10",
    "reel replay day.sktrace --kubeconfig staging.kubeconfig --report replay.json",
    "reel replay day.ndjson --from 2026-11-20T03:10:00Z --duration 5m",
    "reel replay --clean NAME --kubeconfig staging.kubeconfig",
  ],
}

type Options = OptionValues<typeof replayOptions>

export const replayCommand = (): Command =>
  command(syntax, async (given, terminal, [trace]) => {
    const problem = wrongCombination(given, trace)
    if (problem !== undefined) {
      terminal.standardError.write(`${new UsageError({ command: syntax.name, problem }).message}\n`)
      return exitCodes.usage
    }
    const say = (line: string): void => void terminal.standardError.write(`${syntax.name}: ${line}\n`)
    const target = { kubeconfig: given.kubeconfig, context: given.context }
    if (given.clean !== undefined) return runCleanUp(given.clean, target, terminal, say)
    const order = orderOf(given, trace ?? "", target)
    return given.dryRun ? runForecast(order, terminal, say) : runReplay(order, terminal, say)
  })

/** Checks that involve more than one option. */
const wrongCombination = (given: Options, trace: string | undefined): string | undefined => {
  const namesCluster = given.kubeconfig !== undefined || given.context !== undefined
  if (given.sandbox && namesCluster) return "--sandbox excludes --kubeconfig and --context"
  if (given.clean !== undefined) {
    if (trace !== undefined) return "--clean takes no TRACE"
    return namesCluster ? undefined : "--clean needs --kubeconfig or --context; a sandbox keeps nothing"
  }
  if (trace === undefined || trace === "") return "missing argument: expected TRACE"
  const { from, to } = given
  return from !== undefined && to !== undefined && from >= to ? "--from must be before --to" : undefined
}

const orderOf = (given: Options, trace: string, target: ReplayOrder["target"]): ReplayOrder => ({
  trace,
  target,
  name: given.name ?? randomBytes(3).toString("hex"),
  format: given.format,
  window: { from: given.from, to: given.to, duration: given.duration },
  speed: given.speed,
  concurrency: given.concurrency,
  maximumLagMs: given.maxLag / 1000,
  onLag: given.onLag,
  onConflict: given.onConflict,
  isStrict: given.strict,
  keep: given.keep,
  namespacePrefix: given.namespacePrefix,
  placement: {
    nodeSelector: given.nodeSelector === undefined ? {} : { [given.nodeSelector[0]]: given.nodeSelector[1] },
    taintKey: "kwok-provider",
  },
  included: new Set(given.include),
  report: given.report,
  force: given.force,
})
