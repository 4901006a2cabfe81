/** `reel run`: creates a Simulation, in a cluster or in one of its own. */
import { stringify } from "yaml"
import type { ApiClient } from "../kube/client/api-client.ts"
import { simulationKind } from "../simulation/api/derived-names.ts"
import type { Simulation } from "../simulation/api/simulation.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { UsageError } from "./command-line/usage-error.ts"
import { clusterVariables } from "./command-line/variables.ts"
import { awaitEnd } from "./simulation/await-end.ts"
import { readHookFiles } from "./simulation/hook-files.ts"
import { runOptions } from "./simulation/run-options.ts"
import { inCluster, reporting } from "./simulation/simulation-cluster.ts"
import { type RunChoices, simulationOf } from "./simulation/simulation-manifest.ts"
import type { Terminal } from "./terminal/terminal.ts"

const syntax: CommandSyntax<typeof runOptions> = {
  name: "reel run",
  summary: "Runs a Simulation: a replay in a cluster by its controller, or with --sandbox in this process.",
  description: [
    "Creates a Simulation, which the controller of the cluster (reel controller, or SimKube's) carries out. The options are those of skctl run; hooks and metrics are " +
      "optional here.",
  ],
  options: runOptions,
  operand: { placeholder: "NAME", help: "name of the Simulation", count: 1 },
  exitCodes: {
    failed: "with --wait or --sandbox: the Simulation failed, was deleted meanwhile, or took longer than --timeout",
    incomplete: "with --wait or --sandbox: it has finished, but the cluster refused writes",
    interrupted: "Ctrl-C; with --wait the Simulation goes on",
  },
  environment: clusterVariables,
  files: [["config/hooks/", "hooks that are used without --hooks: default.yml, autoscaler.yml"]],
  examples: [
    "reel run monday -f s3://traces/monday.sktrace --speed 10 --wait",
    "reel run monday -f s3://traces/monday.sktrace --dry-run | kubectl apply -f -",
    "reel run look --sandbox -f monday.sktrace --speed 100",
  ],
  seeAlso: [
    "reel status",
    "reel controller",
    "reel replay",
    "docs/guides/simulations.md",
    "docs/reference/simulation-api.md",
  ],
}

export const runCommand = (): Command =>
  command(syntax, async (given, terminal, [name = ""]) => {
    const problem = wrongCombination(given)
    if (problem !== undefined) {
      terminal.standardError.write(`${new UsageError({ command: syntax.name, problem }).message}\n`)
      return exitCodes.usage
    }
    return reporting(syntax.name, terminal, async () => {
      const hooks = await readHookFiles(given.hooks)
      const surroundings = { now: new Date().toISOString(), directory: process.cwd() }
      const simulation = simulationOf(name, given, hooks, surroundings)
      if (given.dryRun) return print(simulation, given.output, terminal)
      if (given.sandbox) {
        const isVerbose = given.driverVerbosity === "debug" || given.driverVerbosity === "trace"
        const { runInSandbox } = await import("./simulation/local-run.ts")
        return runInSandbox(
          simulation,
          { command: syntax.name, port: given.driverPort, timeoutMs: given.timeout, isVerbose },
          terminal,
        )
      }
      return inCluster(syntax.name, given, terminal, (client) => create(client, simulation, given, terminal))
    })
  })

const wrongCombination = (given: RunChoices): string | undefined => {
  if (given.sandbox && (given.kubeconfig ?? given.context) !== undefined)
    return "--sandbox excludes --kubeconfig and --context"
  if (given.sandbox && given.startPaused) return "--sandbox excludes --start-paused: nothing could resume it"
  if (given.sandbox && given.driverSecrets.length > 0)
    return "--sandbox excludes --driver-secrets: the driver has the environment of this process"
  if (given.timeout !== undefined && !given.wait && !given.sandbox) return "--timeout requires --wait or --sandbox"
  return given.dryRun && given.wait ? "--dry-run excludes --wait" : undefined
}

const print = (simulation: Simulation, format: "yaml" | "json", { standardOutput }: Terminal): ExitCode => {
  standardOutput.write(format === "yaml" ? stringify(simulation) : `${JSON.stringify(simulation, undefined, 2)}\n`)
  return exitCodes.ok
}

const create = async (
  client: ApiClient,
  simulation: Simulation,
  given: RunChoices,
  terminal: Terminal,
): Promise<ExitCode> => {
  const created = await client.create<Simulation>(simulationKind, simulation, { fieldValidation: "Strict" })
  const { name } = created.metadata
  terminal.standardError.write(`${syntax.name}: created the Simulation ${name}\n`)
  if (!given.wait) return exitCodes.ok
  const advice = `the simulation goes on; reel status ${name} --watch shows it, reel delete ${name} ends it`
  return awaitEnd(client, { command: syntax.name, simulation: created, timeoutMs: given.timeout, advice }, terminal)
}
