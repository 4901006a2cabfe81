/** `reel run --sandbox`: control plane, controller and driver of one Simulation in this process. */
import { createServer } from "node:net"
import * as Result from "effect/Result"
import { systemClock } from "../../clock.ts"
import { type ApiEndpoint, type Kind, kinds } from "../../kube/index.ts"
import { type ContainerEnd, LocalCluster, PodProcesses, type RunContainer } from "../../sandbox/index.ts"
import {
  type Simulation,
  simulationDefinitions,
  simulationKind,
  startSimulationController,
  virtualNodeTaint,
} from "../../simulation/index.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import type { ExitCode } from "../command-line/exit-codes.ts"
import { parseDriver } from "../driver/driver-arguments.ts"
import { runDriver } from "../driver/run-driver.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { awaitEnd } from "./await-end.ts"

interface LocalRun {
  /** Of the driver's webhook. Default: any free one. */
  readonly port: number | undefined
  readonly timeoutMs: number | undefined
  /** Whether controller and driver say what they do. */
  readonly isVerbose: boolean
}

/** Enough for most traces; a pod that fits nowhere stays pending, as it would in a cluster. */
const virtualNodes = 10

/** Only what is replayed comes to the virtual nodes, as in clusters with kwok; the driver's pod goes to the node of processes. */
const taints = [{ key: virtualNodeTaint, value: "", effect: "NoSchedule" }]

const controllerNamespace = "kubereel"

const definitionKind: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}

/** Runs it to its end; nothing is left of it. Exit codes as of {@link awaitEnd}. */
export const runInSandbox = async (
  simulation: Simulation,
  { port, timeoutMs, isVerbose }: LocalRun,
  terminal: CommandTerminal,
): Promise<ExitCode> => {
  const { driver } = simulation.spec
  const spec = { ...simulation.spec, driver: { ...driver, port: port ?? (await freePort()) } }
  await using cluster = await LocalCluster.start({ nodes: { count: virtualNodes, taints }, ledger: "none" })
  const { client, sandbox } = cluster
  for (const definition of simulationDefinitions()) await client.create(definitionKind, definition as never)
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: controllerNamespace } }
  await client.create(kinds.namespaces, namespace)
  // What a person has to know is in the conditions of the simulation.
  const onTrouble = isVerbose ? terminal.say : () => undefined
  const server = sandbox.endpoint
  await using _processes = await PodProcesses.start({ server, run: driverIn(server, terminal, onTrouble), onTrouble })
  await using controller = await startSimulationController({
    server,
    namespace: controllerNamespace,
    hookEnvironment: terminal.environment,
    onTrouble,
  })
  await controller.started
  const created = await client.create<Simulation>(
    simulationKind,
    { ...simulation, spec },
    { fieldValidation: "Strict" },
  )
  // Awaited here: everything above is closed when this returns.
  return await awaitEnd(client, { simulation: created, timeoutMs }, terminal)
}

/** The driver in this process, without the arguments' first, which is the program. */
const driverIn =
  (server: ApiEndpoint, { environment }: Terminal, log: (line: string) => void): RunContainer =>
  async ({ args, environment: own, stop, kill }) => {
    const request = parseDriver(args, own)
    if (Result.isFailure(request)) return { exitCode: 1, message: request.failure }
    const killed = new Promise<ContainerEnd>((resolve) =>
      kill.addEventListener("abort", () => resolve({ exitCode: 137 }), { once: true }),
    )
    const driver = runDriver({
      request: request.success,
      endpoints: { endpoint: async () => server, onUnauthorized: async () => undefined },
      environment: { ...environment, ...own },
      clock: systemClock,
      random: Math.random,
      signal: stop,
      log,
      listenAddress: "127.0.0.1",
    })
    return Promise.race([driver, killed])
  }

/** A port that was free a moment ago: the webhook's Service and the driver's pod have to know it before anything listens. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0))
    })
  })
