/**
 * Removes Pods bound to nodes that do not exist (any more), since only a node's kubelet terminates its Pods. Treats
 * orphans like the real controller (pkg/controller/podgc): a node must be missing for 40 s and be unknown to the server
 * itself; a Pod that has not ended is marked as failed, and then all are deleted at once.
 *
 * Not done: removing ended Pods beyond a threshold, and Pods that were deleted before they were scheduled.
 */

import { type Controller, KeyedController, keyOf, type Surroundings } from "../../host/index.ts"
import { type Condition, kinds, type Node, NotFoundError, type Pod } from "../../kube/index.ts"
import { isFinished } from "./pods/pods.ts"
import { withCondition } from "./pods/statuses.ts"

/** ms that a node must be missing: its object may not have arrived yet, or may be recreated. */
const quarantineMs = 40_000

export const podGarbageCollector = (surroundings: Surroundings): Controller => {
  const { cluster } = surroundings
  const pods = cluster.cache<Pod>(kinds.pods)
  const nodes = cluster.cache<Node>(kinds.nodes)
  /** When each node was first missing, in ms since the epoch. */
  const missing = new Map<string, number>()

  const isOrphan = ({ spec: { nodeName = "" } }: Pod): boolean =>
    nodeName !== "" && nodes.get(undefined, nodeName) === undefined

  const isUnknown = async (node: string): Promise<boolean> => {
    try {
      await cluster.api.get<Node>(kinds.nodes, { name: node })
      return false
    } catch (error) {
      if (error instanceof NotFoundError) return true
      throw error
    }
  }

  const reconcile = async (key: string): Promise<void> => {
    const pod = pods.byKey(key)
    if (pod === undefined || !isOrphan(pod)) return
    const node = pod.spec.nodeName ?? ""
    const now = cluster.nowMs()
    const since = missing.get(node) ?? now
    missing.set(node, since)
    if (now - since < quarantineMs) controller.enqueueAfter(key, since + quarantineMs - now)
    else if (await isUnknown(node)) await remove(pod)
    else missing.delete(node)
  }

  const remove = async (pod: Pod): Promise<void> => {
    const { uid, generation } = pod.metadata
    if (!isFinished(pod)) {
      const conditions = withCondition(pod.status?.conditions ?? [], disruption(cluster.now(), generation))
      const status = { observedGeneration: generation, phase: "Failed", conditions }
      try {
        await cluster.patch<Pod>(kinds.pods, pod, "merge", { metadata: { uid }, status }, "status")
      } catch (error) {
        if (error instanceof NotFoundError) return
        throw error
      }
    }
    await cluster.delete(kinds.pods, pod, { gracePeriodSeconds: 0 })
  }

  const orphans = (): ReadonlyArray<string> => [...pods.all()].filter(isOrphan).map(keyOf)

  const controller = new KeyedController("pod-garbage-collector", surroundings, reconcile, orphans)
  pods.onChange((changes) => {
    for (const { current } of changes)
      if (current !== undefined && isOrphan(current)) controller.enqueue(keyOf(current))
  })
  nodes.onChange((changes) => {
    let isAnyGone = false
    for (const { current } of changes)
      if (current === undefined) isAnyGone = true
      else missing.delete(current.metadata.name)
    if (isAnyGone) for (const key of orphans()) controller.enqueue(key)
  })
  return controller
}

const disruption = (now: string, observedGeneration: number | undefined): Condition => ({
  type: "DisruptionTarget",
  observedGeneration,
  status: "True",
  lastProbeTime: null,
  lastTransitionTime: now,
  reason: "DeletionByPodGC",
  message: "PodGC: node no longer exists",
})
