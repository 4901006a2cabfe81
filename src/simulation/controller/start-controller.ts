/** Runs the controller of Simulations in this process: for `reel controller`, and for tests and `reel run --sandbox`. */
import { type Clock, systemClock } from "../../clock.ts"
import type { RunningControllers, RunOptions } from "../../host/controller/run/running-controllers.ts"
import { runControllers } from "../../host/controller/run/running-controllers.ts"
import { controllerName, simulationController } from "./definition.ts"
import { HookRuns } from "./hook-runs.ts"

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
  return new Running(running, hooks, shutdownTimeoutMs)
}

/** Hooks end before the leadership does: otherwise another controller would take a hook for interrupted that still runs. */
class Running implements RunningControllers {
  readonly #inner: RunningControllers
  readonly #hooks: HookRuns
  readonly #limitMs: number
  #closing: Promise<void> | undefined

  constructor(inner: RunningControllers, hooks: HookRuns, limitMs: number) {
    this.#inner = inner
    this.#hooks = hooks
    this.#limitMs = limitMs
  }

  get started(): Promise<void> {
    return this.#inner.started
  }

  get closed(): Promise<void> {
    return this.#inner.closed
  }

  get isLeader(): boolean {
    return this.#inner.isLeader
  }

  statistics(): ReturnType<RunningControllers["statistics"]> {
    return this.#inner.statistics()
  }

  enqueue(controller: string, key: string): void {
    this.#inner.enqueue(controller, key)
  }

  close(): Promise<void> {
    this.#closing ??= this.#hooks.close(this.#limitMs).then(() => this.#inner.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
