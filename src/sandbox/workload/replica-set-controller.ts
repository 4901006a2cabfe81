/**
 * Keeps as many Pods as each ReplicaSet wants: creates them with generated names, deletes them in the order of
 * pods.ts, adopts orphans, releases Pods that the selector no longer matches, and reports the status
 * (pkg/controller/replicaset).
 */

import { type Controller, keyOf, recordAs, type Surroundings } from "../../host/index.ts"
import { type ApiObject, type Condition, controllerOf, kinds, type Pod } from "../../kube/index.ts"
import { objectController, type PodsSpec } from "./pods/object-controller.ts"
import {
  claimObjects,
  conditionOf,
  createPod,
  deletePod,
  inSlowStartBatches,
  isActive,
  isAvailable,
  isReady,
  podOfTemplate,
  podsToDelete,
  untilAvailable,
} from "./pods/pods.ts"
import { withCondition, withoutCondition, withoutZeros } from "./pods/statuses.ts"

// The status of a ReplicaSet from its Pods (replica_set_utils.go, calculateStatus).

interface ManagingFailure {
  readonly message: string
}

/** `pods`: the active ones. `now` in RFC 3339. */
export const replicaSetStatus = (
  replicaSet: ReplicaSet,
  pods: ReadonlyArray<Pod>,
  failure: ManagingFailure | undefined,
  now: string,
): ReplicaSetStatus => {
  const { spec, metadata } = replicaSet
  const templateLabels = Object.entries(spec.template.metadata?.labels ?? {})
  const ready = pods.filter(isReady)
  const nowMs = Date.parse(now)
  const conditions = failureCondition(replicaSet, pods.length, failure, now)
  const labelled = pods.filter(({ metadata: { labels } }) =>
    templateLabels.every(([name, value]) => labels?.[name] === value),
  )
  const available = ready.filter((pod) => isAvailable(pod, spec.minReadySeconds ?? 0, nowMs))
  return {
    replicas: pods.length,
    ...withoutZeros({
      fullyLabeledReplicas: labelled.length,
      readyReplicas: ready.length,
      availableReplicas: available.length,
      observedGeneration: metadata.generation ?? 0,
    }),
    ...(conditions.length === 0 ? {} : { conditions }),
  }
}

/** Whether a status update would change nothing (updateReplicaSetStatus). */
const isSameStatus = (before: ReplicaSetStatus | undefined, after: ReplicaSetStatus): boolean =>
  (before?.replicas ?? 0) === after.replicas &&
  (before?.fullyLabeledReplicas ?? 0) === (after.fullyLabeledReplicas ?? 0) &&
  (before?.readyReplicas ?? 0) === (after.readyReplicas ?? 0) &&
  (before?.availableReplicas ?? 0) === (after.availableReplicas ?? 0) &&
  (before?.observedGeneration ?? 0) === (after.observedGeneration ?? 0) &&
  JSON.stringify(before?.conditions ?? []) === JSON.stringify(after.conditions ?? [])

const failureCondition = (
  replicaSet: ReplicaSet,
  podCount: number,
  failure: ManagingFailure | undefined,
  now: string,
): ReadonlyArray<Condition> => {
  const conditions = replicaSet.status?.conditions ?? []
  if (failure === undefined) return withoutCondition(conditions, "ReplicaFailure")
  if (conditionOf(conditions, "ReplicaFailure") !== undefined) return conditions
  const reason = podCount < wantedReplicas(replicaSet) ? "FailedCreate" : "FailedDelete"
  return withCondition(conditions, {
    type: "ReplicaFailure",
    status: "True",
    lastTransitionTime: now,
    reason,
    message: failure.message,
  })
}

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

  const reconcile = async (replicaSet: ReplicaSet, again: (afterMs?: number) => void): Promise<void> => {
    const { selector, minReadySeconds = 0 } = replicaSet.spec
    const owned = await claimObjects<Pod>(cluster, kinds.pods, replicaSet, kinds.replicaSets, selector, isActive)
    // As in the real controller, the status counts the Pods before this pass; the next pass follows at once.
    const active = owned.filter(isActive)
    const failure = replicaSet.metadata.deletionTimestamp === undefined ? await manage(replicaSet, active) : undefined
    const problem = failure === undefined ? undefined : { message: String(failure) }
    const status = replicaSetStatus(replicaSet, active, problem, cluster.now())
    if (!isSameStatus(replicaSet.status, status)) {
      if (replicaSets.byKey(keyOf(replicaSet)) === undefined) return
      await cluster.updateStatus(kinds.replicaSets, { ...replicaSet, status })
    }
    again(untilAvailable(active, minReadySeconds, cluster.nowMs()))
    if (failure !== undefined) throw failure
  }

  return objectController(surroundings, { name: "replicaset", kind: kinds.replicaSets, owned: kinds.pods }, reconcile)
}

// ReplicaSets as their controller and the Deployment controller read them.

interface ReplicaSetStatus {
  readonly replicas: number
  readonly fullyLabeledReplicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly observedGeneration?: number
  readonly conditions?: ReadonlyArray<Condition>
}

export interface ReplicaSet extends ApiObject {
  readonly spec: PodsSpec & { readonly replicas?: number }
  readonly status?: ReplicaSetStatus
}

/** Replicas wanted; the server's default is 1. */
export const wantedReplicas = ({ spec }: ReplicaSet): number => spec.replicas ?? 1
