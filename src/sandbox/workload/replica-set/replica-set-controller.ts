/**
 * Keeps as many Pods as each ReplicaSet wants: creates them with generated names, deletes them in the order of
 * deletion-order.ts, adopts orphans, releases Pods that the selector no longer matches, and reports the status
 * (pkg/controller/replicaset).
 */

import { keyOf } from "../../../host/cache/object-cache.ts"
import {
  type Controller,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  recordAs,
  type Surroundings,
} from "../../../host/controller.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { Pod } from "../../../kube/client/objects.ts"
import { controllerOf } from "../../../kube/client/owner-references.ts"
import { claimObjects } from "../claimed-objects.ts"
import { createPod, deletePod, inSlowStartBatches, podOfTemplate } from "../pod-control.ts"
import { isActive, untilAvailable } from "../pod-facts.ts"
import { podsToDelete } from "./deletion-order.ts"
import { type ReplicaSet, wantedReplicas } from "./replica-set-object.ts"
import { isSameStatus, replicaSetStatus } from "./replica-set-status.ts"

/** Pods created or deleted in one pass. The real controller's BurstReplicas. */
const burst = 500

export const replicaSetController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const replicaSets = cluster.cache<ReplicaSet>(kinds.replicaSets)
  const pods = cluster.cache<Pod>(kinds.pods)
  const record = recordAs(events, { component: "replicaset-controller" })

  /** Active Pods of all ReplicaSets with the same controller. */
  const relatedPods = (replicaSet: ReplicaSet): ReadonlyArray<Pod> => {
    const owner = controllerOf(replicaSet)
    const family = owner === undefined ? [replicaSet] : replicaSets.controlledBy(owner.uid)
    return family.flatMap(({ metadata }) => pods.controlledBy(metadata.uid)).filter(isActive)
  }

  const manage = async (replicaSet: ReplicaSet, active: ReadonlyArray<Pod>): Promise<unknown> => {
    const excess = active.length - wantedReplicas(replicaSet)
    if (excess < 0) {
      const pod = podOfTemplate(replicaSet.spec.template, replicaSet)
      return inSlowStartBatches(Math.min(-excess, burst), () => createPod(cluster, record, replicaSet, pod))
    }
    if (excess === 0) return undefined
    const superfluous = podsToDelete(active, relatedPods(replicaSet), Math.min(excess, burst), cluster.nowMs())
    const results = await Promise.allSettled(superfluous.map((pod) => deletePod(cluster, record, replicaSet, pod)))
    return results.find((result) => result.status === "rejected")?.reason
  }

  const reconcile = async (key: string): Promise<void> => {
    const replicaSet = replicaSets.byKey(key)
    if (replicaSet === undefined) return
    const { selector, minReadySeconds = 0 } = replicaSet.spec
    const owned = await claimObjects<Pod>(cluster, kinds.pods, replicaSet, kinds.replicaSets, selector, isActive)
    // As in the real controller, the status counts the Pods before this pass; the next pass follows at once.
    const active = owned.filter(isActive)
    const failure = replicaSet.metadata.deletionTimestamp === undefined ? await manage(replicaSet, active) : undefined
    const problem = failure === undefined ? undefined : { message: String(failure) }
    const status = replicaSetStatus(replicaSet, active, problem, cluster.now())
    if (!isSameStatus(replicaSet.status, status)) {
      const current = replicaSets.byKey(key)
      if (current === undefined) return
      await cluster.updateStatus(kinds.replicaSets, { ...replicaSet, status })
    }
    controller.enqueueAfter(key, untilAvailable(active, minReadySeconds, cluster.nowMs()))
    if (failure !== undefined) throw failure
  }

  const controller = new KeyedController("replicaset", surroundings, reconcile, () => [...replicaSets.all()].map(keyOf))
  replicaSets.onChange(enqueueSelf(controller))
  pods.onChange(enqueueOwners(controller, kinds.replicaSets, surroundings))
  return controller
}
