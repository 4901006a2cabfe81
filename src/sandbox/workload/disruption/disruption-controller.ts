/** Keeps the status of PodDisruptionBudgets, by which evictions are allowed or refused. */

import { keyOf } from "../../../host/cache/object-cache.ts"
import { sameJson } from "../../../host/cache/same-json.ts"
import { type Controller, enqueueSelf, KeyedController, type Surroundings } from "../../../host/controller.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { ApiObject, Pod } from "../../../kube/client/objects.ts"
import { controllerOf } from "../../../kube/client/owner-references.ts"
import { selectorMatches } from "../../../kube/label-selector.ts"
import { type DisruptionBudget, disruptionStatus } from "./disruption-status.ts"

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

  const reconcile = async (key: string): Promise<void> => {
    const budget = budgets.byKey(key)
    if (budget === undefined) return
    const own = pods.inNamespace(budget.metadata.namespace).filter((pod) => selects(budget, pod))
    const status = disruptionStatus(budget, { pods: own, wanted: wantedBy(own), nowMs: cluster.nowMs() })
    if (sameJson(budget.status, status)) return
    // With the version: an eviction counts in the same status.
    await cluster.updateStatus(kinds.disruptionBudgets, { ...budget, status })
  }

  const controller = new KeyedController("disruption", surroundings, reconcile, () => Array.from(budgets.all(), keyOf))
  budgets.onChange(enqueueSelf(controller))
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      const pod = current ?? previous
      if (pod === undefined) continue
      for (const budget of budgets.inNamespace(pod.metadata.namespace))
        if ([previous, current].some((state) => state !== undefined && selects(budget, state)))
          controller.enqueue(keyOf(budget))
    }
  })
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
