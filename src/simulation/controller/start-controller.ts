/** Runs the controller of Simulations in this process: for `reel controller`, and for tests and `reel run --sandbox`. */
import { systemClock } from "../../clock.ts"
import { runControllers } from "../../host/controller/run-controllers.ts"
import type { RunningControllers } from "../../host/controller/running-controllers.ts"
import type { SimulationControllerOptions } from "./controller-options.ts"
import { controllerName, simulationController } from "./definition.ts"
import { HookRuns } from "./hook-runs.ts"

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
