/** `reel run`: creates a Simulation, in a cluster or in one of its own. */

import { readFile } from "node:fs/promises"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { parse, stringify, YAMLError } from "yaml"
import type { ApiClient } from "../kube/client/api-client.ts"
import { simulationKind } from "../simulation/api/derived-names.ts"
import { type Simulation, SimulationHooks } from "../simulation/api/simulation.ts"

import { codeOf } from "../trace/files/output-errors.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { clusterVariables } from "./command-line/shared-options.ts"
import { awaitEnd } from "./simulation/await-end.ts"
import { runOptions } from "./simulation/run-options.ts"
import { inCluster, reporting, SimulationProblem } from "./simulation/simulation-cluster.ts"
import { type RunChoices, simulationOf } from "./simulation/simulation-manifest.ts"
import type { Terminal } from "./terminal/terminal.ts"

// Files with hooks: YAML with the four lists of `spec.hooks`; several files are concatenated, list by list.

const phases = ["preStartHooks", "preRunHooks", "postRunHooks", "postStopHooks"] as const

/** SimKube's files, in its checkout. Elsewhere there are none, which is no mistake (unlike in SimKube). */
const usualFiles = ["config/hooks/default.yml", "config/hooks/autoscaler.yml"]

/**
 * `given`: paths with colons between them; an empty text means no hooks, `undefined` those of SimKube's usual files that exist. Returns `undefined` if there are no
 * hooks. Rejects with {@link SimulationProblem}.
 */
const readHookFiles = async (given: string | undefined): Promise<SimulationHooks | undefined> => {
  const files = given === undefined ? usualFiles : given.split(":").filter((file) => file !== "")
  const hooks: { -readonly [Phase in keyof SimulationHooks]: SimulationHooks[Phase] } = {}
  for (const file of files) {
    const read = await hooksOf(file, given === undefined)
    for (const phase of phases) if (read[phase]) hooks[phase] = [...(hooks[phase] ?? []), ...read[phase]]
  }
  return Object.keys(hooks).length === 0 ? undefined : hooks
}

const hooksOf = async (file: string, isOptional: boolean): Promise<SimulationHooks> => {
  const wrong = (problem: string): never => {
    throw new SimulationProblem(`--hooks ${file}: ${problem}`)
  }
  let text = ""
  try {
    text = await readFile(file, "utf8")
  } catch (error) {
    const code = codeOf(error)
    if (code === "ENOENT" && isOptional) return {}
    wrong(code === "ENOENT" ? "it does not exist; for no hooks, write --hooks ''" : `it cannot be read (${code})`)
  }
  let value: unknown
  try {
    // An empty file has no hooks.
    value = parse(text) ?? {}
  } catch (error) {
    if (!(error instanceof YAMLError)) throw error
    wrong(`it is not YAML: ${error.message.split("\n", 1)[0]}`)
  }
  const decoded = Schema.decodeUnknownResult(SimulationHooks)(value, { onExcessProperty: "error" })
  if (Result.isSuccess(decoded)) return decoded.success
  return wrong(decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; "))
}

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
    if (problem !== undefined) return problem
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
