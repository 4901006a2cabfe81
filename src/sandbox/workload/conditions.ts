/** Conditions of a status, changed by the rules of the controller that owns them. */

import type { Condition } from "../../kube/client/objects.ts"
import { conditionOf } from "./pod-facts.ts"

export type Conditions = ReadonlyArray<Condition>

export const withoutCondition = (conditions: Conditions, type: string): Conditions =>
  conditions.filter((condition) => condition.type !== type)

/**
 * Sets a condition unless it already has this status and reason (the message then stays as well); keeps
 * `lastTransitionTime` if the status stays. The new one is last: SetDeploymentCondition's order.
 */
export const withCondition = (conditions: Conditions, next: Condition): Conditions => {
  const known = conditionOf(conditions, next.type)
  if (known !== undefined && known.status === next.status && known.reason === next.reason) return conditions
  const keepsTransition = known !== undefined && known.status === next.status
  const kept = keepsTransition ? { ...next, lastTransitionTime: known.lastTransitionTime } : next
  return [...withoutCondition(conditions, next.type), kept]
}
