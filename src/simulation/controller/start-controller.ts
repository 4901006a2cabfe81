/** Runs the controller of Simulations in this process: for `reel controller`, and for tests and `reel run --sandbox`. */
import { type Clock, systemClock } from "../../clock.ts"
import {
  type DefinedController,
  defineController,
  type RunningControllers,
  type RunOptions,
  runControllers,
} from "../../host/index.ts"
import { derivedNames, nameOfKind, simulationLabel } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"
import { turnLease } from "./driver.ts"
import { driverComponent, managedBy } from "./driver-job.ts"
import { HookRuns } from "./hook-runs.ts"
import { advance, type ReconcileSurroundings } from "./reconcile.ts"
import { isSettled, statusOf } from "./state/life.ts"

// The controller of Simulations as a definition for the host: what it watches, what it writes, and what it does.

/** Name of the controller: the manager of the fields that it writes. */
const controllerName = "kubereel-simulation-controller"

/** SimKube's form of a label that selects what the controller itself has created, not what drivers replay. */
const selector = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",")

const driverSelector = selector({ ...managedBy, ...driverComponent })

/** `namespace`: that of the Lease that decides whose turn it is. */
export const simulationController = (surroundings: ReconcileSurroundings): DefinedController => {
  const { namespace } = surroundings
  return defineController<Simulation>({
    name: controllerName,
    for: nameOfKind.simulation,
    owns: [
      // Without a label: one of SimKube's controller is taken over.
      { kind: nameOfKind.job, labelSelector: simulationLabel, matchEveryOwner: true },
      { kind: nameOfKind.root, matchEveryOwner: true },
    ],
    watches: [
      {
        kind: nameOfKind.pod,
        labelSelector: driverSelector,
        map: ({ metadata }, reads) =>
          reads
            .cached(nameOfKind.simulation)
            .list()
            .filter(({ metadata: { name } }) => derivedNames(name).driver === metadata.labels?.["job-name"])
            .map(({ metadata: { name } }) => name),
      },
      // The Simulation that holds the Lease ends or is gone: the next one's turn has come.
      {
        kind: nameOfKind.lease,
        namespace,
        fieldSelector: `metadata.name=${turnLease}`,
        map: (_, reads) => unsettled(reads.cached<Simulation>(nameOfKind.simulation).list()),
      },
      {
        kind: nameOfKind.simulation,
        predicate: ({ previous, current }) =>
          current === undefined || isSettled(previous && statusOf(previous)) !== isSettled(statusOf(current)),
        map: (_, reads) => unsettled(reads.cached<Simulation>(nameOfKind.simulation).list()),
      },
    ],
    writes: [
      { kind: nameOfKind.simulation, verbs: ["patch"] },
      { kind: `${nameOfKind.simulation}/status`, verbs: ["patch"] },
      { kind: nameOfKind.root, verbs: ["create", "delete"] },
      { kind: `${nameOfKind.root}/finalizers`, verbs: ["update"] },
      { kind: nameOfKind.job, verbs: ["create", "delete"] },
      { kind: nameOfKind.service, verbs: ["get", "create"] },
      { kind: nameOfKind.secret, verbs: ["create"] },
      { kind: nameOfKind.namespace, verbs: ["get", "create"] },
      { kind: nameOfKind.serviceAccount, verbs: ["create"] },
      { kind: nameOfKind.binding, verbs: ["create"] },
      { kind: nameOfKind.webhooks, verbs: ["get", "create", "patch", "delete"] },
      { kind: nameOfKind.prometheus, verbs: ["get", "create"] },
      { kind: nameOfKind.lease, namespace, verbs: ["create", "update", "patch", "delete"] },
    ],
    finalizer: {
      name: "simkube.io/cleanup",
      cleanUp: (reconciliation) => advance(reconciliation, surroundings),
    },
    reconcile: (reconciliation) => {
      const { object } = reconciliation
      return object === undefined ? undefined : advance({ ...reconciliation, object }, surroundings)
    },
  })
}

const unsettled = (simulations: ReadonlyArray<Simulation>): ReadonlyArray<string> =>
  simulations.filter(({ status }) => !isSettled(status)).map(({ metadata }) => metadata.name)

// What the controller of Simulations is given.

/** Where the controller runs, what it may use, and who hears of it. */
export interface SimulationControllerOptions {
  /** The API server: an endpoint, a source of endpoints whose credentials change, or a transport. */
  readonly server: NonNullable<RunOptions["server"]>
  /** Namespace of the controller's Leases: that of the election and `sk-lease`, which decides whose turn it is. */
  readonly namespace: string
  /** Of several controllers one works. Default: there is only one, and no election. */
  readonly leaderElection?: { readonly identity?: string | undefined } | undefined
  /** The environment of hooks. Default: that of the process. */
  readonly hookEnvironment?: Readonly<Record<string, string | undefined>> | undefined
  /** Gets what hooks write, as it comes. Default: dropped; the end of it is in the status in any case. */
  readonly onHookOutput?: ((simulation: string, chunk: Buffer) => void) | undefined
  /** Gets what an operator should see, one line each. Default: standard error. */
  readonly onTrouble?: ((detail: string) => void) | undefined
  /** ms that hooks and runs under way may take at the end. Default 20,000: a pod has 30 s from SIGTERM on. */
  readonly shutdownTimeoutMs?: number | undefined
  /** Default: the machine's. */
  readonly clock?: Clock | undefined
  /** In [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined
}

/** Name of the Lease that elects one of several controllers. */
const electionLease = "kubereel-simulation-controller"

/**
 * Resolves once it is under way; `started` says when it works. A server that cannot be reached, and definitions that are not installed, are waited for.
 * Disposing lets hooks and runs under way end for a limited time, ends those that remain, and hands leadership over.
 */
export const startSimulationController = async (options: SimulationControllerOptions): Promise<RunningControllers> => {
  const { server, namespace, leaderElection, shutdownTimeoutMs = 20_000, clock = systemClock } = options
  const onTrouble = options.onTrouble ?? ((detail: string): void => void process.stderr.write(`${detail}\n`))
  const hooks = new HookRuns({
    environment: options.hookEnvironment ?? process.env,
    clock,
    onOutput: options.onHookOutput ?? (() => undefined),
    onEnd: (simulation) => running.enqueue(controllerName, simulation),
    onTrouble,
  })
  const running = await runControllers([simulationController({ namespace, hooks })], {
    server,
    clock,
    random: options.random,
    onTrouble,
    shutdownTimeoutMs,
    ...(leaderElection !== undefined && { leaderElection: { ...leaderElection, name: electionLease, namespace } }),
  })
  let closing: Promise<void> | undefined
  // Hooks end before the leadership does: otherwise another controller would take a hook for interrupted that still runs.
  const close = (): Promise<void> => {
    closing ??= hooks.close(shutdownTimeoutMs).then(() => running.close())
    return closing
  }
  return {
    get started() {
      return running.started
    },
    get closed() {
      return running.closed
    },
    get isLeader() {
      return running.isLeader
    },
    statistics: () => running.statistics(),
    enqueue: (controller, key) => running.enqueue(controller, key),
    missingWebhooks: [],
    review: (controller, call, request) => running.review(controller, call, request),
    close,
    [Symbol.asyncDispose]: close,
  }
}
