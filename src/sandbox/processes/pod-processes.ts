/**
 * A node whose pods are processes: a small kubelet, so that programs that belong into a cluster (a driver with its Job, its Secrets, its webhook's Service) can be run without
 * containers. It works with any API server that schedules pods to its node, a sandbox's scheduler or a cluster's.
 *
 * Guaranteed: each pod is started at most once, and reported with its exit code and termination message; a deleted pod gets SIGTERM, its grace period, SIGKILL, and is removed
 * when its process has ended. After `close` no process is left. Not provided: restarts, several containers, liveness, logs; a pod that has become ready stays so to its end.
 */

import { type Clock, systemClock } from "../../clock.ts"
import { Cluster, EventRecorder, KeyedController, keyOf } from "../../host/index.ts"
import { ApiClient, type ConnectionOptions, kinds, type Pod } from "../../kube/index.ts"
import { beginRun, type PodRun } from "../workload/nodes/pod-runner.ts"
import { podStatus } from "../workload/nodes/pod-status.ts"
import { virtualNodes } from "../workload/nodes/virtual-nodes.ts"
import { isFinished } from "../workload/pods/pods.ts"
import { UnsupportedPod } from "./container-setup.ts"
import { PodProcess } from "./pod-process.ts"
import type { RunContainer } from "./run-container.ts"

export interface PodProcessesOptions {
  /** The API server, with the rights of an administrator. */
  readonly server: ConnectionOptions["server"]
  /** How containers run: `localProcess`, or a function in this process. */
  readonly run: RunContainer
  /** Of all pods. Real API servers call no loopback addresses: there it must be one of this machine's others. Default 127.0.0.1. */
  readonly address?: string
  /** ms that processes have at the end, from SIGTERM on. Default 10,000. */
  readonly shutdownMs?: number
  /** Gets what an operator should see. Default: dropped. */
  readonly onTrouble?: (detail: string) => void
  /** Default: the machine's. */
  readonly clock?: Clock
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number
}

const prefix = "processes-"
/** The name of the node. Pods must not select `type: virtual`. */
export const processNode = `${prefix}1`

export class PodProcesses implements AsyncDisposable {
  readonly #close: () => Promise<void>

  private constructor(close: () => Promise<void>) {
    this.#close = close
  }

  /** Resolves when the node exists and pods are watched. Rejects with ApiError if the server refuses the node. */
  static async start(options: PodProcessesOptions): Promise<PodProcesses> {
    const { server, clock = systemClock, random = Math.random, onTrouble, shutdownMs = 10_000 } = options
    const api = new ApiClient({ server, userAgent: "kubereel-processes" })
    const cluster = new Cluster({ api, clock, random, onTrouble })
    const surroundings = { cluster, events: new EventRecorder(cluster) }
    const nodes = virtualNodes(surroundings, { count: 1, prefix, labels: {} })
    const { controller, stop } = kubelet(cluster, surroundings, options)
    const processes = new PodProcesses(async () => {
      await stop(shutdownMs)
      cluster.stopWatching()
      await Promise.all([controller.close(), nodes.close()])
      cluster.close()
    })
    try {
      await cluster.start()
      await nodes.prepare()
    } catch (error) {
      await processes.close()
      throw error
    }
    nodes.start()
    controller.start()
    return processes
  }

  /** Ends all processes, and then stops reporting. */
  close(): Promise<void> {
    return this.#close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const kubelet = (
  cluster: Cluster,
  surroundings: { readonly cluster: Cluster; readonly events: EventRecorder },
  { run, address = "127.0.0.1" }: PodProcessesOptions,
): { readonly controller: KeyedController; readonly stop: (graceMs: number) => Promise<void> } => {
  const pods = cluster.cache<Pod>(kinds.pods)
  const processes = new Map<string, PodProcess>()
  /** Containers that are being prepared. */
  const underWay = new Set<Promise<PodProcess>>()
  /** Pods that cannot be started, however often it is tried. */
  const refused = new Map<string, PodRun>()
  let isClosing = false
  const isOurs = (pod: Pod): boolean => pod.spec.nodeName === processNode

  const failed = (pod: Pod, message: string): PodRun => {
    const nowMs = cluster.nowMs()
    const begun = beginRun(pod, address, nowMs)
    const startedMs = begun.startedMs === 0 ? nowMs : begun.startedMs
    return { ...begun, stage: "finished", startedMs, sinceMs: nowMs, endedMs: nowMs, exitCode: 128, message }
  }

  const started = async (pod: Pod, uid: string): Promise<PodRun | undefined> => {
    const state = pod.status?.containerStatuses?.[0]?.state
    if (state?.running !== undefined) return failed(pod, "its process ended with the program that ran it")
    if (isClosing) return undefined
    try {
      const key = keyOf(pod)
      const onChange = (): void => controller.enqueue(key)
      const starting = PodProcess.start(pod, { cluster, podIP: address, run, onChange })
      underWay.add(starting)
      const process = await starting.finally(() => underWay.delete(starting))
      processes.set(uid, process)
      return process.report
    } catch (error) {
      if (error instanceof UnsupportedPod) return failed(pod, error.message)
      throw error
    }
  }

  const report = async (pod: Pod, run: PodRun): Promise<void> => {
    const { uid } = pod.metadata
    const status = podStatus(pod, run, address)
    await cluster.patch<Pod>(kinds.pods, pod, "merge", { metadata: { uid }, status }, "status")
  }

  const reported = new Map<string, PodRun>()

  const reconcile = async (key: string): Promise<void> => {
    const pod = pods.byKey(key)
    if (pod === undefined || !isOurs(pod)) return
    const { uid = "", deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata
    const process = processes.get(uid)
    if (deletionTimestamp !== undefined) process?.stop(deletionGracePeriodSeconds * 1000)
    const mayStart = process === undefined && deletionTimestamp === undefined && !isFinished(pod)
    const run = process?.report ?? refused.get(uid) ?? (mayStart ? await started(pod, uid) : undefined)
    if (run !== undefined && !processes.has(uid)) refused.set(uid, run)
    if (run !== undefined && reported.get(uid) !== run) {
      await report(pod, run)
      reported.set(uid, run)
    }
    if (deletionTimestamp !== undefined && process?.hasEnded !== false)
      await cluster.delete(kinds.pods, pod, { gracePeriodSeconds: 0 })
  }

  const controller = new KeyedController("pod-processes", surroundings, reconcile, () =>
    [...pods.all()].filter(isOurs).map(keyOf),
  )
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      if (current !== undefined) {
        if (isOurs(current)) controller.enqueue(keyOf(current))
        continue
      }
      // A client removed it without a grace period.
      const uid = previous?.metadata.uid ?? ""
      const process = processes.get(uid)
      process?.stop(0)
      void process?.ended.then(() => processes.delete(uid))
      refused.delete(uid)
      reported.delete(uid)
    }
  })
  return {
    controller,
    stop: async (graceMs) => {
      isClosing = true
      await Promise.allSettled(underWay)
      for (const process of processes.values()) process.stop(graceMs)
      await Promise.all([...processes.values()].map(({ ended }) => ended))
    },
  }
}
