/** `reel controller`: its arguments. The work is in src/simulation/controller. */

import type { RunningControllers } from "../host/index.ts"
import { loadCredentials } from "../kube/index.ts"
import { labelComplaints } from "../kube/offline.ts"
import type { Metric } from "../recorder/index.ts"
import { OutputLines, startSimulationController } from "../simulation/index.ts"
import { visible } from "../text/index.ts"
import {
  type CommandSyntax,
  type OptionValues,
  optional,
  type Reading,
  refused,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { listenOption } from "./command-line/listen-option.ts"
import { type Condition, serveHost } from "./command-line/listening-server.ts"
import { expectAccepted } from "./command-line/refused-credentials.ts"
import { clusterOptions, clusterVariables } from "./command-line/shared-options.ts"
import { readVersion } from "./command-line/version.ts"
import { interruption } from "./terminal/terminal.ts"

// Metrics of `reel controller`.

const controllerMetrics = (controller: RunningControllers): ReadonlyArray<Metric> => {
  const statistics = controller.statistics()
  const sum = (measure: (one: (typeof statistics)[number]) => number): ReadonlyArray<{ readonly value: number }> => [
    { value: statistics.reduce((total, one) => total + measure(one), 0) },
  ]
  const metric = (name: string, type: Metric["type"], help: string, samples: Metric["samples"]): Metric => ({
    name: `kubereel_simulation_controller_${name}`,
    type,
    help,
    samples,
  })
  return [
    metric("leader", "gauge", "1 if this controller works, 0 if it stands by.", [
      { value: Number(controller.isLeader) },
    ]),
    metric(
      "reconciles_total",
      "counter",
      "Looks at Simulations.",
      sum(({ runs }) => runs),
    ),
    metric(
      "errors_total",
      "counter",
      "Looks that failed and were repeated.",
      sum(({ failures }) => failures),
    ),
    metric(
      "queued",
      "gauge",
      "Simulations that wait to be looked at.",
      sum(({ depth }) => depth),
    ),
    metric(
      "worked_seconds_total",
      "counter",
      "Time of all looks.",
      sum(({ workedMs }) => workedMs / 1000),
    ),
  ]
}

const namespaceName = (given: string): Reading<string> => {
  const [complaint] = labelComplaints(given)
  return complaint === undefined ? value(given) : refused(complaint)
}

/** From the quietest on, as SimKube's programs have them. */
const verbosities = ["off", "error", "warn", "info", "debug", "trace"]

const verbosity = (given: string): Reading<boolean> =>
  verbosities.includes(given)
    ? value(verbosities.indexOf(given) >= 3)
    : refused(`must be one of ${verbosities.join(", ")}`)

const options = {
  ...clusterOptions,
  namespace: optional(
    "-n NAME",
    "namespace of the controller's Leases; default: CTRL_NAMESPACE of the environment, else that of the context or the pod",
    namespaceName,
  ),
  listen: listenOption(7791, "where /healthz, /readyz and /metrics are served"),
  verbosity: withDefault(
    "info",
    "-v LEVEL",
    "from info on, the output of hooks is printed; off, error and warn leave it out",
    verbosity,
  ),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel controller",
  summary: "Runs the Simulations of a cluster, one at a time, until Ctrl-C or SIGTERM.",
  description: [
    "It starts the driver of each Simulation as a Job, runs hooks before and after, and removes what is left. Of several controllers one works; the others stand by. " +
      "docs/reference/simulation-controller.md describes what it does.",
  ],
  options,
  exitCodes: {
    failed: "there is no usable kubeconfig, or the address cannot be listened on",
    notPermitted: "the server refuses the credentials at the start",
  },
  environment: [
    ["CTRL_NAMESPACE", "namespace of the controller's Leases, if --namespace is not given"],
    ...clusterVariables,
  ],
  examples: ["reel controller", "reel controller --kubeconfig sandbox.kubeconfig --namespace kubereel"],
  seeAlso: ["reel run", "reel k8s", "docs/guides/simulations.md", "docs/reference/simulation-controller.md"],
}

export const controllerCommand = (): Command => command(syntax, run)

const run = async (given: OptionValues<typeof options>, terminal: CommandTerminal): Promise<ExitCode> => {
  const { standardOutput, environment, say } = terminal
  using stop = interruption(terminal, true)
  const lines = new OutputLines((simulation, line) => void standardOutput.write(`${simulation}: ${visible(line)}\n`))
  try {
    const credentials = await loadCredentials({ kubeconfig: given.kubeconfig, context: given.context })
    const namespace = given.namespace ?? (environment.CTRL_NAMESPACE || credentials.defaultNamespace)
    await expectAccepted(credentials, `kubereel/${readVersion()}`)
    await using controller = await startSimulationController({
      server: credentials,
      namespace,
      leaderElection: {},
      hookEnvironment: environment,
      onTrouble: say,
      ...(given.verbosity && { onHookOutput: (simulation: string, chunk: Buffer) => lines.add(simulation, chunk) }),
    })
    await using server = await serveHost(given.listen, {
      metrics: async () => controllerMetrics(controller),
      conditions: () => [readiness(controller)],
    })
    say(`simulations, with Leases in namespace ${namespace}; metrics: ${server.url}/metrics`)
    await stop.happened
    say("ending")
    return exitCodes.ok
  } finally {
    lines.end()
  }
}

/** One that stands by is ready: it takes over as soon as it may. */
const readiness = (controller: RunningControllers): Condition => {
  const isMet = controller.statistics().every(({ state }) => state !== "waiting")
  const detail = isMet ? "read" : "waiting for the definitions of Simulations, or for the first lists; the log says why"
  return { name: "simulations", isMet, detail }
}
