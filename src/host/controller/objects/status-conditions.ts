/**
 * Conditions of a status by the rules of `metav1.Condition` and apimachinery's `meta.SetStatusCondition`: `lastTransitionTime` is when the *status*
 * changed, not the reason or the message.
 *
 * Lists are never changed in place. A list that needs no change is returned as it is, so `===` shows whether a status must be written.
 */

import type { Condition } from "../../../kube/index.ts"

type Conditions = ReadonlyArray<Condition>

/** A condition to set. The API conventions require a reason in CamelCase. */
export interface NewCondition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  /** Default: none. */
  readonly message?: string | undefined
  /** `metadata.generation` of the object that the condition is about. */
  readonly observedGeneration?: number | undefined
}

/**
 * The list with the condition: in its place if there is one of its type, else at the end. `now`: RFC 3339, such as `cluster.now()`; it becomes the
 * `lastTransitionTime` of a condition that is new or has a new status.
 */
export const setCondition = (conditions: Conditions | undefined, next: NewCondition, now: string): Conditions => {
  const present = conditions ?? []
  const known = findCondition(present, next.type)
  const { type, status, reason, message = "", observedGeneration } = next
  const hasMoved = known === undefined || known.status !== status
  const isSame = !hasMoved && known.reason === reason && (known.message ?? "") === message
  if (isSame && known.observedGeneration === observedGeneration) return present
  const { observedGeneration: _, ...kept } = known ?? {}
  const made: Condition = {
    ...kept,
    type,
    status,
    reason,
    message,
    lastTransitionTime: hasMoved ? now : known.lastTransitionTime,
    ...(observedGeneration !== undefined && { observedGeneration }),
  }
  return known === undefined ? [...present, made] : present.map((one) => (one === known ? made : one))
}

/** The same list if it has none of that type. */
export const removeCondition = (conditions: Conditions | undefined, type: string): Conditions => {
  const present = conditions ?? []
  return findCondition(present, type) === undefined ? present : present.filter((one) => one.type !== type)
}

export const findCondition = (conditions: Conditions | undefined, type: string): Condition | undefined =>
  conditions?.find((one) => one.type === type)

export const isConditionTrue = (conditions: Conditions | undefined, type: string): boolean =>
  findCondition(conditions, type)?.status === "True"
