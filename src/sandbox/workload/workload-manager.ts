/**
 * The active parts of a cluster besides its API server: controllers of the workload kinds, a scheduler and
 * virtual nodes. It talks to the server like any client, so it runs beside a sandbox in its process or against a real
 * API server without a controller manager.
 *
 * Guaranteed: `start` resolves when all kinds are listed and the nodes exist; after `close` nothing more is written.
 * Under overload work is delayed: objects wait in queues, each once.
 */

import { type Clock, systemClock } from "../../clock.ts"
import { keyOf, objectKey } from "../../host/cache/object-cache.ts"
import { Cluster } from "../../host/cluster.ts"
import { EventRecorder } from "../../host/controller/access/event-recorder.ts"
import { type Controller, enqueueSelf, KeyedController, type Surroundings } from "../../host/controller.ts"
import { ApiClient } from "../../kube/client/api-client.ts"
import type { ConnectionOptions } from "../../kube/client/api-connection.ts"
import { kinds } from "../../kube/client/kinds.ts"
import { cronJobController } from "./cron-job/cron-job-controller.ts"
import { daemonSetController } from "./daemon-set/daemon-set-controller.ts"
import { deploymentController } from "./deployment/deployment-controller.ts"
import { disruptionController } from "./disruption/disruption-controller.ts"
import { endpointsController } from "./endpoints/endpoints-controller.ts"
import { jobController } from "./job/job-controller.ts"
import { type Delays, defaultDelays } from "./node/delays.ts"
import { podRunner } from "./node/pod-runner.ts"
import { type VirtualNodesOptions, virtualNodes } from "./node/virtual-nodes.ts"
import { podGarbageCollector } from "./pod-garbage-collector.ts"
import { replicaSetController } from "./replica-set/replica-set-controller.ts"
import { scheduler } from "./scheduler/scheduler.ts"
import { statefulSetController } from "./stateful-set/stateful-set-controller.ts"
import { claimBinder } from "./volumes/claim-binder.ts"
import { type Claim, isBlank, type Volume } from "./volumes/volume-objects.ts"

// The life of PersistentVolumes besides their binding: phases, what becomes of a volume whose claim is gone (`Retain`, `Delete`,
// `Recycle`), and the protection finalizer of one that is being deleted, which goes when no claim is bound to it.

const protection = "kubernetes.io/pv-protection"

/** The controller of volumes. */
const volumeReclaimer = (surroundings: Surroundings): Controller => {
  const { cluster } = surroundings
  const claims = cluster.cache<Claim>(kinds.claims)
  const volumes = cluster.cache<Volume>(kinds.volumes)

  const phaseOf = ({ metadata, spec: { claimRef } }: Volume): "Available" | "Bound" | "Released" => {
    if (claimRef === undefined) return "Available"
    const claim = claims.get(claimRef.namespace, claimRef.name ?? "")
    const isSame = claim !== undefined && (isBlank(claimRef.uid) || claimRef.uid === claim.metadata.uid)
    if (isSame && (claim.spec.volumeName === metadata.name || !isBlank(claimRef.uid))) return "Bound"
    // Reserved for a claim that does not exist yet.
    return isBlank(claimRef.uid) ? "Available" : "Released"
  }

  /** What the reclaim policy says. With `Retain` the volume stays as it is. */
  const reclaim = async (volume: Volume): Promise<void> => {
    switch (volume.spec.persistentVolumeReclaimPolicy) {
      case "Delete":
        return void (await cluster.delete(kinds.volumes, volume))
      case "Recycle":
        return void (await cluster.patch<Volume>(kinds.volumes, volume, "merge", {
          metadata: { resourceVersion: volume.metadata.resourceVersion },
          spec: { claimRef: null },
        }))
    }
  }

  const reconcile = async (key: string): Promise<void> => {
    const volume = volumes.byKey(key)
    if (volume === undefined) return
    const { deletionTimestamp, finalizers = [], uid } = volume.metadata
    const phase = phaseOf(volume)
    if (volume.status?.phase !== phase) {
      const status = { phase, lastPhaseTransitionTime: cluster.now() }
      await cluster.patch<Volume>(kinds.volumes, volume, "merge", { metadata: { uid }, status }, "status")
    }
    if (deletionTimestamp === undefined) {
      if (phase === "Released") await reclaim(volumes.byKey(key) ?? volume)
    } else if (phase !== "Bound" && finalizers.includes(protection)) {
      const left = finalizers.filter((finalizer) => finalizer !== protection)
      await cluster.patch<Volume>(kinds.volumes, volume, "merge", { metadata: { uid, finalizers: left } })
    }
  }

  const controller = new KeyedController("volume-reclaimer", surroundings, reconcile, () =>
    Array.from(volumes.all(), keyOf),
  )
  volumes.onChange(enqueueSelf(controller))
  claims.onChange((changes) => {
    for (const { previous, current } of changes) {
      const name = (current ?? previous)?.spec.volumeName
      if (name !== undefined && name !== "") controller.enqueue(objectKey(undefined, name))
    }
  })
  return controller
}

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
