/** `reel run`: creates a Simulation, in a cluster or in one of its own. */

import { readFile } from "node:fs/promises"
import { isAbsolute, resolve } from "node:path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { parse, stringify, YAMLError } from "yaml"
import type { ApiClient } from "../kube/index.ts"
import {
  type Simulation,
  SimulationHooks,
  type SimulationMetrics,
  simulationKind,
  traceDurationMs,
  traceDurationRule,
} from "../simulation/index.ts"
import { codeOf } from "../trace/index.ts"
import {
  type CommandSyntax,
  flag,
  integerBetween,
  list,
  type OptionValues,
  oneOf,
  optional,
  type Reading,
  refused,
  repeated,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { parseDuration } from "./command-line/instant.ts"
import { clusterOptions, clusterVariables } from "./command-line/shared-options.ts"
import { readVersion } from "./command-line/version.ts"
import { awaitEnd } from "./simulation/await-end.ts"
import { inCluster } from "./simulation/simulation-cluster.ts"
import type { Terminal } from "./terminal/terminal.ts"

// The options of `reel run`: SimKube's, with its short forms and defaults, and ours after them.

const parseSpeed = (given: string): Reading<number> => {
  const speed = /^\d{1,9}(?:\.\d{1,9})?$/.test(given) ? Number(given) : Number.NaN
  return speed > 0 ? value(speed) : refused("must be a number above 0, such as 10 or 0.5")
}

const parseTraceDuration = (given: string): Reading<string> =>
  traceDurationMs(given) === undefined ? refused(traceDurationRule.message) : value(given)

const parseTimeout = (given: string): Reading<number> => {
  const micros = parseDuration(given)
  return micros === undefined || micros === 0 ? refused("must be a duration such as 30s or 10m") : value(micros / 1000)
}

/** Anything, also an empty text: it says that there is nothing. */
const anyText = (given: string): Reading<string> => value(given)

const milliseconds = (help: string) => withDefault("0", "MS", `${help}, in ms`, integerBetween(0, 2 ** 32 - 1))

const names = (placeholder: string, help: string) => list(placeholder, help)

const runOptions = {
  tracePath: withDefault(
    "file:///data/trace",
    "-f TRACE",
    "the trace: a path or file:///PATH on the driver's node, s3://BUCKET/KEY, gs://, azure:// or an https address",
  ),
  duration: optional(
    "-D DURATION",
    "replay only this much of the trace, from its start: +5m, 1h30m",
    parseTraceDuration,
  ),
  speed: withDefault("1", "-s NUMBER", "how many times faster than recorded", parseSpeed),
  repetitions: withDefault(
    "1",
    "-N NUMBER",
    "how often to replay the trace, one after the other",
    integerBetween(1, 2 ** 31 - 1),
  ),
  rescheduleInterruptedBarePods: flag({
    help: "create a pod without an owner again if something else than the replay deletes it",
  }),
  startPaused: flag({ help: "pause the simulation before it begins; reel resume starts it" }),
  hooks: optional(
    "FILES",
    "YAML files with hooks, with colons between them; '' for none; default: config/hooks/default.yml and " +
      "config/hooks/autoscaler.yml, if they exist",
    anyText,
  ),
  driverImage: withDefault(`kubereel:${readVersion()}`, "-I IMAGE", "image of the driver, ours or SimKube's"),
  driverNamespace: withDefault("simkube", "NAME", "namespace of the driver"),
  driverPort: optional(
    "PORT",
    "port of the driver's webhook; default: 8888, with --sandbox any free one",
    integerBetween(1, 65_535),
  ),
  driverSecrets: names("NAME", "Secrets whose keys become environment variables of the driver"),
  driverVerbosity: withDefault("info", "LEVEL", "what the driver logs; with --sandbox, debug shows it"),
  driverArg: repeated("ARGUMENT", "further argument of the driver, such as --driver-arg=--settle=1s"),
  skipLocalVolumeMount: flag({ help: "the trace's path is in the image: do not mount it from the node" }),
  virtualNsPrefix: withDefault("virtual", "TEXT", "namespace shop is replayed as TEXT-shop"),
  imagePullDelay: milliseconds("how long pods of the replay pull images"),
  imagePullJitter: milliseconds("at most so much longer, at random"),
  podStartupDelay: milliseconds("how long pods then take to start"),
  podStartupJitter: milliseconds("at most so much longer, at random"),
  disableMetrics: flag({ help: "no Prometheus, whatever the options below say" }),
  metricsNamespace: optional(
    "NAME",
    "run a Prometheus for the time of the simulation, in this namespace; default if another option of metrics is given: monitoring",
  ),
  metricsServiceAccount: optional("NAME", "its ServiceAccount; default: prometheus-k8s"),
  metricsPodMonitorNamespaces: names("NAME", "namespaces of the PodMonitors that count; default: monitoring-hd"),
  metricsPodMonitorNames: names("NAME", "names of the PodMonitors that count; default: all"),
  metricsServiceMonitorNamespaces: names(
    "NAME",
    "namespaces of the ServiceMonitors that count; default: monitoring-hd",
  ),
  metricsServiceMonitorNames: names("NAME", "names of the ServiceMonitors that count; default: all"),
  prometheusShards: optional("NUMBER", "its shards", integerBetween(0, 1000)),
  remoteWriteEndpoint: optional(
    "URL",
    "where it sends what it has scraped; default: http://prom2parquet-svc:1234/receive",
  ),
  report: optional("ADDRESS", "folder in an object store for the full reports, such as s3://BUCKET/FOLDER"),
  ...clusterOptions,
  sandbox: flag({
    help: "run everything in this process: a cluster in memory, the controller and the driver; TRACE is a path here",
  }),
  wait: flag({ help: "wait until the simulation has ended; the exit code says how" }),
  timeout: optional(
    "DURATION",
    "for --wait and --sandbox: stop waiting after this time; in a cluster the Simulation continues; default: never",
    parseTimeout,
  ),
  dryRun: flag({ help: "only print the manifest, for kubectl apply" }),
  output: withDefault("yaml", "-o FORMAT", "for --dry-run: yaml or json", oneOf("yaml", "json")),
}

// The Simulation that the options of `reel run` describe.

/** The values of `reel run`'s options. */
type RunChoices = OptionValues<typeof runOptions>

/** `now`: RFC 3339. `directory`: what a relative path of the trace is relative to. Pure. */
const simulationOf = (
  name: string,
  given: RunChoices,
  hooks: SimulationHooks | undefined,
  { now, directory }: { readonly now: string; readonly directory: string },
): Simulation => {
  const metrics = metricsOf(given)
  return {
    apiVersion: "simkube.io/v1",
    kind: "Simulation",
    metadata: {
      name,
      ...(given.skipLocalVolumeMount && {
        annotations: { "controller.simkube.io/skip-local-volume-mount": "true" },
      }),
    },
    spec: {
      driver: {
        image: given.driverImage,
        namespace: given.driverNamespace,
        port: given.driverPort ?? defaultPort,
        tracePath: traceAddress(given.tracePath, directory),
        virtualNsPrefix: given.virtualNsPrefix,
        args: ["--verbosity", given.driverVerbosity, ...given.driverArg],
        ...(given.driverSecrets.length > 0 && { secrets: given.driverSecrets }),
      },
      lifecycleParams: {
        imagePullDelay: given.imagePullDelay,
        imagePullJitter: given.imagePullJitter,
        podStartupDelay: given.podStartupDelay,
        podStartupJitter: given.podStartupJitter,
      },
      speed: given.speed,
      repetitions: given.repetitions,
      ...(given.duration !== undefined && { duration: given.duration }),
      ...(given.rescheduleInterruptedBarePods && { rescheduleInterruptedBarePods: true }),
      ...(given.startPaused && { pausedTime: now }),
      ...(hooks !== undefined && { hooks }),
      ...(metrics !== undefined && { metrics }),
      ...(given.report !== undefined && { report: { url: given.report } }),
    },
  }
}

/** SimKube's. */
const defaultPort = 8888

/** A path becomes absolute: the driver has another working directory. */
const traceAddress = (given: string, directory: string): string =>
  /^[a-z0-9]+:/i.test(given) || isAbsolute(given) ? given : resolve(directory, given)

/**
 * SimKube's defaults for what is not given, but only if some option asks for metrics: without the Prometheus operator,
 * metrics that the user did not ask for would only add a condition to a simulation.
 */
const metricsOf = (given: RunChoices): SimulationMetrics | undefined => {
  const lists = [
    given.metricsPodMonitorNamespaces,
    given.metricsPodMonitorNames,
    given.metricsServiceMonitorNamespaces,
    given.metricsServiceMonitorNames,
  ]
  const { metricsNamespace, metricsServiceAccount, prometheusShards, remoteWriteEndpoint } = given
  const isAsked =
    lists.some((all) => all.length > 0) ||
    [metricsNamespace, metricsServiceAccount, prometheusShards, remoteWriteEndpoint].some((one) => one !== undefined)
  if (given.disableMetrics || !isAsked) return undefined
  const monitored = (namespaces: readonly string[]): readonly string[] =>
    namespaces.length === 0 ? ["monitoring-hd"] : namespaces
  return {
    namespace: metricsNamespace ?? "monitoring",
    serviceAccount: metricsServiceAccount ?? "prometheus-k8s",
    podMonitorNamespaces: monitored(given.metricsPodMonitorNamespaces),
    serviceMonitorNamespaces: monitored(given.metricsServiceMonitorNamespaces),
    ...(given.metricsPodMonitorNames.length > 0 && { podMonitorNames: given.metricsPodMonitorNames }),
    ...(given.metricsServiceMonitorNames.length > 0 && { serviceMonitorNames: given.metricsServiceMonitorNames }),
    ...(prometheusShards !== undefined && { prometheusShards }),
    remoteWriteConfigs: [{ url: remoteWriteEndpoint ?? "http://prom2parquet-svc:1234/receive" }],
  }
}

// Files with hooks: YAML with the four lists of `spec.hooks`; several files are concatenated, list by list.

const phases = ["preStartHooks", "preRunHooks", "postRunHooks", "postStopHooks"] as const

/** SimKube's files, in its checkout. Elsewhere there are none, which is no mistake (unlike in SimKube). */
const usualFiles = ["config/hooks/default.yml", "config/hooks/autoscaler.yml"]

/**
 * `given`: paths with colons between them; an empty text means no hooks, `undefined` those of SimKube's usual files that exist. Returns `undefined` if there are no
 * hooks. Rejects with {@link CommandFailed}.
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
    throw new CommandFailed(`--hooks ${file}: ${problem}`)
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
    interrupted: "Ctrl-C; with --wait the Simulation continues",
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
    const hooks = await readHookFiles(given.hooks)
    const surroundings = { now: new Date().toISOString(), directory: process.cwd() }
    const simulation = simulationOf(name, given, hooks, surroundings)
    if (given.dryRun) return print(simulation, given.output, terminal)
    if (given.sandbox) {
      const isVerbose = given.driverVerbosity === "debug" || given.driverVerbosity === "trace"
      const { runInSandbox } = await import("./simulation/local-run.ts")
      return runInSandbox(simulation, { port: given.driverPort, timeoutMs: given.timeout, isVerbose }, terminal)
    }
    return inCluster(given, (client) => create(client, simulation, given, terminal))
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
  terminal: CommandTerminal,
): Promise<ExitCode> => {
  const created = await client.create<Simulation>(simulationKind, simulation, { fieldValidation: "Strict" })
  const { name } = created.metadata
  terminal.say(`created the Simulation ${name}`)
  if (!given.wait) return exitCodes.ok
  const advice = `the simulation continues; reel status ${name} --watch shows it, reel delete ${name} ends it`
  return awaitEnd(client, { simulation: created, timeoutMs: given.timeout, advice }, terminal)
}
