/**
 * Plans the next steps for a StatefulSet, as a pure function (stateful_set_control.go): first each replica in
 * ascending order, then surplus ones in descending order, then the update from the last ordinal down to the
 * partition. With `OrderedReady` every step waits until the previous replica is available.
 */

import type { ControllerRevision, Pod } from "../../../kube/client/objects.ts"
import { isAvailable, isFinished, isReady, isTerminating, phaseOf } from "../pod-facts.ts"
import { withoutZeros } from "../without-zeros.ts"
import {
  firstOrdinal,
  ordinalOf,
  revisionLabel,
  type StatefulSet,
  type StatefulSetStatus,
  statefulPod,
} from "./stateful-set-object.ts"

export type StatefulAction =
  | { readonly type: "create"; readonly pod: Pod; readonly ordinal: number }
  /** Makes sure that the claims of a pending Pod exist. */
  | { readonly type: "claims"; readonly ordinal: number; readonly pod: Pod }
  | { readonly type: "delete"; readonly pod: Pod }

interface StatefulView {
  readonly set: StatefulSet
  /** The StatefulSet's own Pods. */
  readonly pods: ReadonlyArray<Pod>
  readonly current: ControllerRevision
  readonly update: ControllerRevision
  readonly collisionCount: number
  readonly nowMs: number
}

interface StatefulPlan {
  readonly actions: ReadonlyArray<StatefulAction>
  readonly status: StatefulSetStatus
}

export const planStatefulSet = (view: StatefulView): StatefulPlan => {
  const actions: StatefulAction[] = []
  const { deletedForUpdate } = decide(view, actions)
  return { actions, status: statusOf(view, deletedForUpdate) }
}

const decide = (view: StatefulView, actions: StatefulAction[]): { readonly deletedForUpdate: number } => {
  const { set, pods, current, update, nowMs } = view
  const { replicas: count = 1, minReadySeconds = 0, podManagementPolicy, updateStrategy } = set.spec
  const isMonotonic = podManagementPolicy !== "Parallel"
  const first = firstOrdinal(set)
  const isUnavailable = (pod: Pod | undefined): boolean =>
    pod === undefined || isTerminating(pod) || !isReady(pod) || !isAvailable(pod, minReadySeconds, nowMs)
  const ordered = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]))
  const replicas = Array.from({ length: count }, (_, index) => ordered.get(first + index))
  const condemned = [...ordered]
    .filter(([ordinal]) => ordinal >= 0 && (ordinal < first || ordinal >= first + count))
    .sort(([left], [right]) => right - left)
    .map(([, pod]) => pod)
  const none = { deletedForUpdate: 0 }
  if (set.metadata.deletionTimestamp !== undefined) return none

  for (const [index, pod] of replicas.entries()) {
    const ordinal = first + index
    if (pod !== undefined && isFinished(pod)) {
      // It is recreated when this one is gone.
      if (!isTerminating(pod)) actions.push({ type: "delete", pod })
      if (isMonotonic) return none
      continue
    }
    if (pod === undefined) {
      const revision = isOnCurrent(set, ordinal) ? current : update
      actions.push({ type: "create", ordinal, pod: statefulPod(set, ordinal, revision) })
      if (isMonotonic) return none
      continue
    }
    if (phaseOf(pod) === "Pending") actions.push({ type: "claims", ordinal, pod })
    if (isMonotonic && isUnavailable(pod)) return none
  }

  const blocking = replicas.find(isUnavailable) ?? [...condemned].reverse().find(isUnavailable)
  for (const pod of condemned) {
    if (isTerminating(pod)) {
      if (isMonotonic) return none
      continue
    }
    if (isMonotonic && isUnavailable(pod) && pod !== blocking) return none
    actions.push({ type: "delete", pod })
    if (isMonotonic) return none
  }

  if (updateStrategy?.type === "OnDelete") return none
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0
  for (let target = replicas.length - 1; target >= partition; target--) {
    const pod = replicas[target]
    if (pod !== undefined && pod.metadata.labels?.[revisionLabel] !== update.metadata.name && !isTerminating(pod)) {
      actions.push({ type: "delete", pod })
      return { deletedForUpdate: 1 }
    }
    if (isUnavailable(pod)) return none
  }
  return none
}

/** Whether a replica keeps the old template: it is below the partition or, without one, not yet reached by the update. */
const isOnCurrent = (set: StatefulSet, ordinal: number): boolean => {
  const { type = "RollingUpdate", rollingUpdate } = set.spec.updateStrategy ?? {}
  if (type !== "RollingUpdate") return false
  const reach = rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0)
  return ordinal < firstOrdinal(set) + reach
}

const statusOf = (view: StatefulView, deletedForUpdate: number): StatefulSetStatus => {
  const { set, pods, current, update, collisionCount, nowMs } = view
  const ready = pods.filter((pod) => phaseOf(pod) === "Running" && isReady(pod))
  const available = ready.filter((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs))
  const onRevision = ({ metadata }: ControllerRevision): number =>
    pods.filter((pod) => !isTerminating(pod) && pod.metadata.labels?.[revisionLabel] === metadata.name).length
  const updated = onRevision(update)
  const isUpdated =
    set.spec.updateStrategy?.type !== "OnDelete" &&
    updated === pods.length &&
    ready.length === pods.length &&
    updated > 0
  return {
    ...withoutZeros({ observedGeneration: set.metadata.generation ?? 0 }),
    replicas: pods.length,
    ...withoutZeros({
      readyReplicas: ready.length,
      currentReplicas: isUpdated ? updated : Math.max(0, onRevision(current) - deletedForUpdate),
      updatedReplicas: updated,
    }),
    currentRevision: isUpdated ? update.metadata.name : current.metadata.name,
    updateRevision: update.metadata.name,
    collisionCount,
    availableReplicas: available.length,
  }
}
