/** Statuses of the apps kinds: counters must be consistent. */

import { invalid } from "../../../apiserver/answers/field-error.ts"
import { child, number } from "../fields.ts"
import type { CheckChange } from "../kind.ts"
import { checkNotNegative } from "../values/number-validation.ts"

/** Counters of a status: none below zero, and none of `parts` above `replicas`. */
const statusCheck =
  (counters: ReadonlyArray<string>, parts: ReadonlyArray<string>, ready: string): CheckChange =>
  (object, _old, errors) => {
    const status = child(object, "status") ?? {}
    checkNotNegative(status, counters, "status", errors)
    const [replicas, available] = [number(status, "replicas") ?? 0, number(status, "availableReplicas") ?? 0]
    for (const key of parts) {
      const value = number(status, key) ?? 0
      if (value > replicas) errors.push(invalid(`status.${key}`, value, "cannot be greater than status.replicas"))
    }
    if (parts.length > 0 && available > (number(status, "readyReplicas") ?? 0))
      errors.push(invalid("status.availableReplicas", available, `cannot be greater than ${ready}`))
  }

export const checkDeploymentStatus = statusCheck(
  [
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "collisionCount",
  ],
  ["updatedReplicas", "readyReplicas", "availableReplicas"],
  "readyReplicas",
)
export const checkReplicaSetStatus = statusCheck(
  ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"],
  ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
  "readyReplicas",
)
export const checkStatefulSetStatus = statusCheck(
  [
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
  ],
  ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
  "status.readyReplicas",
)
export const checkDaemonSetStatus = statusCheck(
  [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ],
  [],
  "",
)
