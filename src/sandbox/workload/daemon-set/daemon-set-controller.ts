/** Executes the plan of daemon-set-plan.ts for each DaemonSet (pkg/controller/daemon). */

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
import { kinds } from "../../../kube/client/kinds.ts"
import type { ControllerRevision, Node, Pod } from "../../../kube/client/objects.ts"
import { claimObjects } from "../claimed-objects.ts"
import { latestRevision, truncateHistory } from "../controller-revisions.ts"
import { createPod, deletePod, inSlowStartBatches } from "../pod-control.ts"
import { untilAvailable } from "../pod-facts.ts"
import { hashTemplate } from "../template-hash.ts"
import { type DaemonSet, daemonPod, revisionLabel } from "./daemon-set-object.ts"
import { daemonSetStatus, planDaemonSet } from "./daemon-set-plan.ts"

export const daemonSetController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const sets = cluster.cache<DaemonSet>(kinds.daemonSets)
  const pods = cluster.cache<Pod>(kinds.pods)
  const nodes = cluster.cache<Node>(kinds.nodes)
  const revisions = cluster.cache<ControllerRevision>(kinds.revisions)
  const record = recordAs(events, { component: "daemonset-controller" })

  const reconcile = async (key: string): Promise<void> => {
    const set = sets.byKey(key)
    if (set === undefined) return
    const { selector, template, revisionHistoryLimit = 10, minReadySeconds = 0 } = set.spec
    const own = await claimObjects<Pod>(cluster, kinds.pods, set, kinds.daemonSets, selector)
    const ownRevisions = revisions.controlledBy(set.metadata.uid)
    const collisions = set.status?.collisionCount
    const latest = await latestRevision(cluster, set, template, ownRevisions, collisions ?? 0, {
      labels: template.metadata?.labels ?? {},
      // As in the real controller, the first try uses no collision count at all.
      hash: (count) => hashTemplate(template, count === 0 ? undefined : count),
      hashLabel: revisionLabel,
    })
    const hash = latest.revision.metadata.labels?.[revisionLabel] ?? ""
    const view = { set, nodes: [...nodes.all()], pods: own, hash, nowMs: cluster.nowMs() }
    if (set.metadata.deletionTimestamp === undefined) {
      const plan = planDaemonSet(view)
      for (const { type, reason, message } of plan.warnings) record(set, type, reason, message)
      const failure = await inSlowStartBatches(plan.create.length, (index) =>
        createPod(cluster, record, set, daemonPod(set, plan.create[index] ?? "", hash)),
      )
      await Promise.all(plan.delete.map((pod) => deletePod(cluster, record, set, pod)))
      if (failure !== undefined) throw failure
    }
    // As in the real controller, the status counts the Pods that exist now.
    const after = { ...view, pods: pods.controlledBy(set.metadata.uid), nowMs: cluster.nowMs() }
    const { collisionCount } = latest
    const status = { ...daemonSetStatus(after), ...(collisionCount === 0 ? {} : { collisionCount }) }
    if (!sameJson(set.status, status)) await cluster.updateStatus(kinds.daemonSets, { ...set, status })
    const used = new Set([hash, ...after.pods.map(({ metadata }) => metadata.labels?.[revisionLabel])])
    await truncateHistory(
      cluster,
      ownRevisions,
      ({ metadata }) => used.has(metadata.labels?.[revisionLabel]),
      revisionHistoryLimit,
    )
    controller.enqueueAfter(key, untilAvailable(after.pods, minReadySeconds, cluster.nowMs()))
  }

  const controller = new KeyedController("daemonset", surroundings, reconcile, () => [...sets.all()].map(keyOf))
  sets.onChange(enqueueSelf(controller))
  pods.onChange(enqueueOwners(controller, kinds.daemonSets, surroundings))
  nodes.onChange((changes) => {
    const isNew = changes.some(
      ({ previous, current }) =>
        !sameJson(
          [previous?.metadata.labels, previous?.spec?.taints],
          [current?.metadata.labels, current?.spec?.taints],
        ),
    )
    if (isNew) for (const set of sets.all()) controller.enqueue(keyOf(set))
  })
  return controller
}
