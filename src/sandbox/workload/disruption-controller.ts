/** Keeps the status of PodDisruptionBudgets, by which evictions are allowed or refused. */

import { type Controller, keyOf, type Surroundings, sameJson } from "../../host/index.ts"
import { type ApiObject, type Condition, controllerOf, kinds, type Pod, type SelectorObject } from "../../kube/index.ts"
import { selectorMatches } from "../../kube/offline.ts"
import { enqueueSelecting, objectController } from "./pods/object-controller.ts"
import { isFinished, isReady, isTerminating } from "./pods/pods.ts"
import { type IntOrPercent, scaledValue, withCondition } from "./pods/statuses.ts"

interface Scaled extends ApiObject {
  readonly spec?: { readonly replicas?: number }
}

/** The controller; it evicts nothing itself. */
export const disruptionController = (surroundings: Surroundings): Controller => {
  const { cluster } = surroundings
  const budgets = cluster.cache<DisruptionBudget>(kinds.disruptionBudgets)
  const pods = cluster.cache<Pod>(kinds.pods)
  const scaled = {
    ReplicaSet: cluster.cache<Scaled>(kinds.replicaSets),
    Deployment: cluster.cache<Scaled>(kinds.deployments),
    StatefulSet: cluster.cache<Scaled>(kinds.statefulSets),
  }

  /** The object whose replicas a Pod is one of: a ReplicaSet's Deployment, if it has one. */
  const scaleOf = (object: ApiObject): Scaled | undefined => {
    const owner = controllerOf(object)
    const cache = owner === undefined ? undefined : scaled[owner.kind as keyof typeof scaled]
    const found = owner === undefined ? undefined : cache?.get(object.metadata.namespace, owner.name)
    return found === undefined || found.metadata.uid !== owner?.uid ? undefined : (scaleOf(found) ?? found)
  }

  /** Pods without an owner that has replicas count as one each. */
  const wantedBy = (own: ReadonlyArray<Pod>): number => {
    const replicas = new Map<string, number>()
    for (const pod of own) {
      const scale = scaleOf(pod)
      replicas.set((scale ?? pod).metadata.uid ?? "", scale === undefined ? 1 : (scale.spec?.replicas ?? 1))
    }
    return [...replicas.values()].reduce((sum, count) => sum + count, 0)
  }

  const selects = ({ metadata, spec }: DisruptionBudget, pod: Pod): boolean =>
    metadata.namespace === pod.metadata.namespace && selectorMatches(spec.selector, pod.metadata.labels)

  const reconcile = async (budget: DisruptionBudget): Promise<void> => {
    const own = pods.inNamespace(budget.metadata.namespace).filter((pod) => selects(budget, pod))
    const status = disruptionStatus(budget, { pods: own, wanted: wantedBy(own), nowMs: cluster.nowMs() })
    if (sameJson(budget.status, status)) return
    // With the version: an eviction counts in the same status.
    await cluster.updateStatus(kinds.disruptionBudgets, { ...budget, status })
  }

  const controller = objectController(surroundings, { name: "disruption", kind: kinds.disruptionBudgets }, reconcile)
  enqueueSelecting(controller, pods, budgets, selects)
  for (const cache of Object.values(scaled)) {
    cache.onChange((changes) => {
      for (const { previous, current } of changes)
        if (previous?.spec?.replicas !== current?.spec?.replicas)
          for (const budget of budgets.inNamespace((current ?? previous)?.metadata.namespace))
            controller.enqueue(keyOf(budget))
    })
  }
  return controller
}

// What a PodDisruptionBudget allows now (pkg/controller/disruption). Pure.

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
const disruptionStatus = (budget: DisruptionBudget, { pods, wanted, nowMs }: Observed): DisruptionStatus => {
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
