/** Executes the plan of stateful-set-plan.ts for each StatefulSet (pkg/controller/statefulset). */

import { keyOf } from "../../../host/cache/object-cache.ts"
import { sameJson } from "../../../host/cache/same-json.ts"
import {
  type Controller,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  recordAs,
  type Surroundings,
} from "../../../host/controller.ts"
import { AlreadyExistsError, isTerminatingNamespace } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { ApiObject, ControllerRevision, Pod } from "../../../kube/client/objects.ts"
import { claimObjects } from "../claimed-objects.ts"
import { latestRevision, revisionData, revisionHash, truncateHistory } from "../controller-revisions.ts"
import { untilAvailable } from "../pod-facts.ts"
import { claimsOf, ordinalOf, revisionLabel, type StatefulSet } from "./stateful-set-object.ts"
import { planStatefulSet, type StatefulAction } from "./stateful-set-plan.ts"

export const statefulSetController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const sets = cluster.cache<StatefulSet>(kinds.statefulSets)
  const pods = cluster.cache<Pod>(kinds.pods)
  // Watched although only claimObjects reads it.
  cluster.cache<ControllerRevision>(kinds.revisions)
  const claims = cluster.cache<ApiObject>(kinds.claims)
  const record = recordAs(events, { component: "statefulset-controller" })

  const createClaims = async (set: StatefulSet, ordinal: number, pod: Pod): Promise<void> => {
    for (const { claim } of claimsOf(set, ordinal)) {
      if (claims.get(claim.metadata.namespace, claim.metadata.name) !== undefined) continue
      try {
        await cluster.create(kinds.claims, claim)
        const message = `create Claim ${claim.metadata.name} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} success`
        record(set, "Normal", "SuccessfulCreate", message)
      } catch (error) {
        if (!(error instanceof AlreadyExistsError)) throw error
      }
    }
  }

  const carryOut = async (set: StatefulSet, action: StatefulAction): Promise<void> => {
    const what = `Pod ${action.pod.metadata.name} in StatefulSet ${set.metadata.name}`
    switch (action.type) {
      case "claims":
        return createClaims(set, action.ordinal, action.pod)
      case "create":
        await createClaims(set, action.ordinal, action.pod)
        try {
          await cluster.create(kinds.pods, action.pod)
          return record(set, "Normal", "SuccessfulCreate", `create ${what} successful`)
        } catch (error) {
          // It is ours but not yet in the cache: the watch will deliver it.
          if (error instanceof AlreadyExistsError) return
          if (isTerminatingNamespace(error)) throw error
          record(set, "Warning", "FailedCreate", `create ${what} failed error: ${String(error)}`)
          throw error
        }
      case "delete":
        await cluster.delete(kinds.pods, action.pod)
        return record(set, "Normal", "SuccessfulDelete", `delete ${what} successful`)
    }
  }

  const reconcile = async (key: string): Promise<void> => {
    const set = sets.byKey(key)
    if (set === undefined) return
    const { selector, template, revisionHistoryLimit = 10, minReadySeconds = 0 } = set.spec
    const isMember = (pod: Pod): boolean => ordinalOf(set, pod) >= 0
    const own = (await claimObjects<Pod>(cluster, kinds.pods, set, kinds.statefulSets, selector, isMember)).filter(
      isMember,
    )
    const ownRevisions = await claimObjects<ControllerRevision>(
      cluster,
      kinds.revisions,
      set,
      kinds.statefulSets,
      selector,
    )
    const latest = await latestRevision(cluster, set, template, ownRevisions, set.status?.collisionCount ?? 0, {
      labels: template.metadata?.labels ?? {},
      hash: (collisions) => revisionHash(revisionData(template), collisions),
      hashLabel: "controller.kubernetes.io/hash",
    })
    const update = latest.revision
    const current = ownRevisions.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update
    const view = { set, pods: own, current, update, collisionCount: latest.collisionCount, nowMs: cluster.nowMs() }
    const plan = planStatefulSet(view)
    for (const action of plan.actions) await carryOut(set, action)
    if (!sameJson(set.status, plan.status))
      await cluster.updateStatus(kinds.statefulSets, { ...set, status: plan.status })
    const used = new Set([
      plan.status.currentRevision,
      update.metadata.name,
      ...own.map(({ metadata }) => metadata.labels?.[revisionLabel]),
    ])
    await truncateHistory(cluster, ownRevisions, ({ metadata }) => used.has(metadata.name), revisionHistoryLimit)
    controller.enqueueAfter(key, untilAvailable(own, minReadySeconds, cluster.nowMs()))
  }

  const controller = new KeyedController("statefulset", surroundings, reconcile, () => [...sets.all()].map(keyOf))
  sets.onChange(enqueueSelf(controller))
  pods.onChange(enqueueOwners(controller, kinds.statefulSets, surroundings))
  return controller
}
