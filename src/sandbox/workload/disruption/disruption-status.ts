/** What a PodDisruptionBudget allows now (pkg/controller/disruption). Pure. */

import type { ApiObject, Condition, Pod, SelectorObject } from "../../../kube/client/objects.ts"
import { withCondition } from "../conditions.ts"
import { type IntOrPercent, scaledValue } from "../int-or-percent.ts"
import { isFinished, isReady, isTerminating } from "../pod-facts.ts"

/** A PodDisruptionBudget as its controller reads it. */
export interface DisruptionBudget extends ApiObject {
  readonly spec: {
    readonly minAvailable?: IntOrPercent
    readonly maxUnavailable?: IntOrPercent
    readonly selector?: SelectorObject
  }
  readonly status?: DisruptionStatus
}

/** Its status. */
export interface DisruptionStatus {
  readonly observedGeneration?: number | undefined
  /** Pods that an eviction has removed, and when, until they are gone. */
  readonly disruptedPods?: Readonly<Record<string, string>>
  readonly disruptionsAllowed: number
  readonly currentHealthy: number
  readonly desiredHealthy: number
  readonly expectedPods: number
  readonly conditions?: ReadonlyArray<Condition>
}

interface Observed {
  /** That the budget selects. */
  readonly pods: ReadonlyArray<Pod>
  /** The replicas that the owners of these Pods want together; a Pod without an owner counts as one. */
  readonly wanted: number
  readonly nowMs: number
}

/** An eviction that has not removed its Pod by then has failed. */
const disruptionLifeMs = 120_000

/** The status that the budget should have now. */
export const disruptionStatus = (budget: DisruptionBudget, { pods, wanted, nowMs }: Observed): DisruptionStatus => {
  const { minAvailable, maxUnavailable } = budget.spec
  const { status, metadata } = budget
  const live = pods.filter((pod) => !isFinished(pod))
  const disruptedPods = stillDisrupted(status?.disruptedPods ?? {}, live, nowMs)
  const expectedPods = typeof minAvailable === "number" && maxUnavailable === undefined ? live.length : wanted
  const desiredHealthy =
    maxUnavailable === undefined
      ? scaledValue(minAvailable, expectedPods, true)
      : Math.max(0, expectedPods - scaledValue(maxUnavailable, expectedPods, true))
  const currentHealthy = live.filter(
    (pod) => isReady(pod) && !isTerminating(pod) && !Object.hasOwn(disruptedPods, pod.metadata.name),
  ).length
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
  const condition: Condition = {
    type: "DisruptionAllowed",
    status: disruptionsAllowed > 0 ? "True" : "False",
    reason: disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods",
    message: "",
    observedGeneration: metadata.generation,
    lastTransitionTime: `${new Date(nowMs).toISOString().slice(0, 19)}Z`,
  }
  return {
    observedGeneration: metadata.generation,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: withCondition(status?.conditions ?? [], condition),
  }
}

const stillDisrupted = (
  disrupted: Readonly<Record<string, string>>,
  pods: ReadonlyArray<Pod>,
  nowMs: number,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(disrupted).filter(
      ([name, time]) =>
        Date.parse(time) + disruptionLifeMs > nowMs &&
        pods.some((pod) => pod.metadata.name === name && !isTerminating(pod)),
    ),
  )
