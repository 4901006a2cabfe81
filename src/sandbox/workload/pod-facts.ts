/** Facts about a Pod that controllers need (k8s.io/kubernetes pkg/api/v1/pod and pkg/controller/controller_utils.go). */

import type { Condition, Pod } from "../../kube/client/objects.ts"

export const conditionOf = (conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type)

export const phaseOf = (pod: Pod): string => pod.status?.phase ?? "Pending"

export const isFinished = (pod: Pod): boolean => phaseOf(pod) === "Succeeded" || phaseOf(pod) === "Failed"

export const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined

/** Neither finished nor being deleted. */
export const isActive = (pod: Pod): boolean => !isFinished(pod) && !isTerminating(pod)

export const isReady = (pod: Pod): boolean => conditionOf(pod.status?.conditions, "Ready")?.status === "True"

/** ms since the epoch when it became ready; 0 if it is not. */
export const readySinceMs = (pod: Pod): number => {
  const condition = conditionOf(pod.status?.conditions, "Ready")
  return condition?.status === "True" ? Date.parse(condition.lastTransitionTime ?? "") || 0 : 0
}

/** Whether it has been ready for at least `minReadySeconds`. */
export const isAvailable = (pod: Pod, minReadySeconds: number, nowMs: number): boolean =>
  isReady(pod) &&
  (minReadySeconds === 0 || (readySinceMs(pod) > 0 && readySinceMs(pod) + minReadySeconds * 1000 <= nowMs))

/** ms until the first of the ready Pods becomes available; `undefined` if none will. */
export const untilAvailable = (
  pods: ReadonlyArray<Pod>,
  minReadySeconds: number,
  nowMs: number,
): number | undefined => {
  const waits = pods
    .filter((pod) => isReady(pod) && !isAvailable(pod, minReadySeconds, nowMs))
    .map((pod) => readySinceMs(pod) + minReadySeconds * 1000 - nowMs)
  return waits.length === 0 ? undefined : Math.max(1, Math.min(...waits))
}

/** ms since the epoch; 0 if the server has not set it. */
export const createdMs = ({
  metadata,
}: {
  readonly metadata: { readonly creationTimestamp?: string | undefined }
}): number => Date.parse(metadata.creationTimestamp ?? "") || 0

/** Restarts of the container with the most restarts. */
export const maximumRestarts = (pod: Pod): number =>
  Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount))
