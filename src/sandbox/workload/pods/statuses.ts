/** Conditions of a status, changed by the rules of the controller that owns them. */
import type { Condition } from "../../../kube/index.ts"
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

// Completed indexes as the status writes them: `0,2-5,7`; two consecutive ones are `3,4`.

/** Indexes below `limit`, ascending. Unreadable parts are skipped. */
export const parseIndexes = (text: string | undefined, limit: number): ReadonlyArray<number> => {
  const indexes: number[] = []
  for (const part of (text ?? "").split(",")) {
    const [, first = "", last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    if (first === "") continue
    for (let index = Number(first); index <= Number(last) && index < limit; index++) indexes.push(index)
  }
  return indexes
}

/** The inverse; `indexes` in any order, each once. */
export const formatIndexes = (indexes: Iterable<number>): string => {
  const sorted = [...indexes].sort((left, right) => left - right)
  const parts: string[] = []
  for (let start = 0; start < sorted.length; ) {
    let end = start
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end++
    const length = end - start
    parts.push(length === 0 ? `${sorted[start]}` : `${sorted[start]}${length === 1 ? "," : "-"}${sorted[end]}`)
    start = end + 1
  }
  return parts.join(",")
}
