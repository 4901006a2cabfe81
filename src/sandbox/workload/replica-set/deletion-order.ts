/**
 * The order in which a ReplicaSet deletes Pods (ActivePodsWithRanks): not assigned before assigned, pending before running,
 * not ready before ready, lower `pod-deletion-cost`, more ready Pods of the set on its node, ready for a shorter time,
 * more restarts, younger. Ages are compared by powers of two, so that among Pods of similar age any may be deleted.
 */

import type { Pod } from "../../../kube/client/objects.ts"
import { createdMs, isReady, maximumRestarts, phaseOf, readySinceMs } from "../pod-facts.ts"

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/** The `count` Pods to delete, in order. `related`: active Pods of the sets of the same owner. */
export const podsToDelete = (
  pods: ReadonlyArray<Pod>,
  related: ReadonlyArray<Pod>,
  count: number,
  nowMs: number,
): ReadonlyArray<Pod> => {
  if (count >= pods.length) return pods
  const ready = new Map<string, number>()
  for (const pod of related) {
    const node = pod.spec.nodeName
    if (node !== undefined && node !== "" && isReady(pod)) ready.set(node, (ready.get(node) ?? 0) + 1)
  }
  return [...pods].sort(byDeletionOrder(ready, nowMs)).slice(0, count)
}

const byDeletionOrder =
  (readyOnNode: ReadonlyMap<string, number>, nowMs: number) =>
  (left: Pod, right: Pod): number => {
    const colocated = (pod: Pod): number => readyOnNode.get(pod.spec.nodeName ?? "") ?? 0
    return (
      Number((left.spec.nodeName ?? "") !== "") - Number((right.spec.nodeName ?? "") !== "") ||
      (phaseRank[phaseOf(left)] ?? 0) - (phaseRank[phaseOf(right)] ?? 0) ||
      Number(isReady(left)) - Number(isReady(right)) ||
      deletionCost(left) - deletionCost(right) ||
      colocated(right) - colocated(left) ||
      (isReady(left) ? byAge(readySinceMs(left), readySinceMs(right), nowMs) : 0) ||
      maximumRestarts(right) - maximumRestarts(left) ||
      byAge(createdMs(left), createdMs(right), nowMs) ||
      // The real controller compares UIDs here as well, so that the choice is stable.
      ((left.metadata.uid ?? "") < (right.metadata.uid ?? "") ? -1 : 1)
    )
  }

/** Negative when `left` is younger by a power of two. */
const byAge = (left: number, right: number, nowMs: number): number => logarithm(nowMs - left) - logarithm(nowMs - right)

const logarithm = (ageMs: number): number => (ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * 1e6)))

const deletionCost = ({ metadata }: Pod): number => {
  const text = metadata.annotations?.["controller.kubernetes.io/pod-deletion-cost"] ?? ""
  return /^(0|-?[1-9]\d*)$/.test(text) ? Number(text) : 0
}
