/** The status of a ReplicaSet from its Pods (replica_set_utils.go, calculateStatus). */

import type { Condition, Pod } from "../../../kube/client/objects.ts"
import { withCondition, withoutCondition } from "../conditions.ts"
import { conditionOf, isAvailable, isReady } from "../pod-facts.ts"
import { withoutZeros } from "../without-zeros.ts"
import { type ReplicaSet, type ReplicaSetStatus, wantedReplicas } from "./replica-set-object.ts"

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
export const isSameStatus = (before: ReplicaSetStatus | undefined, after: ReplicaSetStatus): boolean =>
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
