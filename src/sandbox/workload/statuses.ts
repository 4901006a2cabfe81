/** Conditions of a status, changed by the rules of the controller that owns them. */
import type { Condition } from "../../kube/client/objects.ts"
import { conditionOf } from "./pods.ts"

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

/** Numbers given as an integer or a percentage of a total (apimachinery intstr). */

export type IntOrPercent = number | string

/** Anything but a number or a percentage counts as 0; the server refuses it anyway. */
export const scaledValue = (value: IntOrPercent | undefined, total: number, roundUp: boolean): number => {
  if (typeof value === "number") return value
  const percent = Number(/^(-?\d+)%$/.exec(value ?? "")?.[1] ?? 0)
  const exact = (percent * total) / 100
  return roundUp ? Math.ceil(exact) : Math.floor(exact)
}

/** Counts as Go encodes them with `omitempty`: a zero is not written. */
export const withoutZeros = <T extends Readonly<Record<string, number>>>(counts: T): Partial<T> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<T>
