/**
 * The active parts of a cluster besides its API server: controllers of the workload kinds, a scheduler and
 * virtual nodes. It talks to the server like any client, so it runs beside a sandbox in its process or against a real
 * API server without a controller manager.
 *
 * Guaranteed: `start` resolves when all kinds are listed and the nodes exist; after `close` nothing more is written.
 * Under overload work is delayed: objects wait in queues, each once.
 */

import { type Clock, systemClock } from "../../clock.ts"
import { Cluster, type Controller, EventRecorder, type Surroundings } from "../../host/index.ts"
import { ApiClient, type ConnectionOptions } from "../../kube/index.ts"
import { cronJobController } from "./cron-job-controller.ts"
import { daemonSetController } from "./daemon-set-controller.ts"
import { deploymentController } from "./deployment-controller.ts"
import { disruptionController } from "./disruption-controller.ts"
import { endpointsController } from "./endpoints-controller.ts"
import { jobController } from "./job-controller.ts"
import { type Delays, defaultDelays, podRunner } from "./nodes/pod-runner.ts"
import { type VirtualNodesOptions, virtualNodes } from "./nodes/virtual-nodes.ts"
import { podGarbageCollector } from "./pod-garbage-collector.ts"
import { replicaSetController } from "./replica-set-controller.ts"
import { scheduler } from "./scheduler.ts"
import { statefulSetController } from "./stateful-set-controller.ts"
import { claimBinder, volumeReclaimer } from "./volume-controllers.ts"

const makers = {
  deployment: deploymentController,
  replicaset: replicaSetController,
  statefulset: statefulSetController,
  daemonset: daemonSetController,
  job: jobController,
  cronjob: cronJobController,
  "volume-binder": claimBinder,
  "volume-reclaimer": volumeReclaimer,
  endpoints: endpointsController,
  disruption: disruptionController,
  scheduler,
  "pod-garbage-collector": podGarbageCollector,
} as const satisfies Record<string, (surroundings: Surroundings) => Controller>

export type ControllerName = keyof typeof makers

export const controllerNames = Object.keys(makers) as ReadonlyArray<ControllerName>

export interface WorkloadOptions {
  /** An endpoint, a source of endpoints, or a transport such as that of a sandbox in the same process. */
  readonly server: ConnectionOptions["server"]
  /** Default: the machine's. */
  readonly clock?: Clock
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number
  /** The number of virtual nodes, or their options. Default 0: the Pods of existing nodes are run elsewhere. */
  readonly nodes?: number | VirtualNodesOptions
  /** Default: all. */
  readonly controllers?: ReadonlyArray<ControllerName>
  /** The delays of the virtual nodes; omitted ones are as in `defaultDelays`. */
  readonly delays?: Partial<Delays>
  /** Gets what an operator should see: refused requests, failing watches. Default: dropped. */
  readonly onTrouble?: (detail: string) => void
}

export class WorkloadManager {
  readonly #cluster: Cluster
  readonly #events: EventRecorder
  readonly #controllers: ReadonlyArray<Controller>

  private constructor(cluster: Cluster, events: EventRecorder, controllers: ReadonlyArray<Controller>) {
    this.#cluster = cluster
    this.#events = events
    this.#controllers = controllers
  }

  /** Waits for an unreachable server without a limit; rejects with ApiError if it refuses the nodes. */
  static async start(options: WorkloadOptions): Promise<WorkloadManager> {
    const { server, clock = systemClock, random = Math.random, nodes = 0, controllers = controllerNames } = options
    const { onTrouble } = options
    const api = new ApiClient({ server, userAgent: "kubereel-workload" })
    const cluster = new Cluster({ api, clock, random, onTrouble })
    const surroundings: Surroundings = { cluster, events: new EventRecorder(cluster) }
    const farm = virtualNodes(surroundings, typeof nodes === "number" ? { count: nodes } : nodes)
    const delays = { ...defaultDelays, ...options.delays }
    const made = controllers.map((name) => makers[name](surroundings))
    const all: ReadonlyArray<Controller> = [...made, podRunner(surroundings, delays, farm.hostAddress), farm]
    const manager = new WorkloadManager(cluster, surroundings.events, all)
    try {
      await cluster.start()
      await farm.prepare()
    } catch (error) {
      await manager.close()
      throw error
    }
    for (const controller of all) controller.start()
    return manager
  }

  /** Stops watching, waits for current work, sends the last Events, closes the connections. */
  async close(): Promise<void> {
    this.#cluster.stopWatching()
    await Promise.all(this.#controllers.map((controller) => controller.close()))
    await this.#events.drained()
    this.#cluster.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
