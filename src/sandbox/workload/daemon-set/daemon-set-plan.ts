/** Plans the next steps for a DaemonSet, as pure functions (daemon_controller.go, update.go). */

import type { Node, Pod } from "../../../kube/client/objects.ts"
import { scaledValue } from "../int-or-percent.ts"
import { createdMs, isAvailable, isReady, isTerminating, phaseOf } from "../pod-facts.ts"
import { withoutZeros } from "../without-zeros.ts"
import { belongsOn, type DaemonSet, type DaemonSetStatus, nodeOfDaemonPod, revisionLabel } from "./daemon-set-object.ts"

interface DaemonView {
  readonly set: DaemonSet
  readonly nodes: ReadonlyArray<Node>
  /** The DaemonSet's own Pods. */
  readonly pods: ReadonlyArray<Pod>
  /** Hash of the current template. */
  readonly hash: string
  readonly nowMs: number
}

interface DaemonPlan {
  /** Nodes that get a Pod. */
  readonly create: ReadonlyArray<string>
  readonly delete: ReadonlyArray<Pod>
  /** For deleted Pods that had ended. */
  readonly warnings: ReadonlyArray<{
    readonly type: "Normal" | "Warning"
    readonly reason: string
    readonly message: string
  }>
}

/** First one Pod for every node that should have one; once that is done, the update. */
export const planDaemonSet = (view: DaemonView): DaemonPlan => {
  const membership = manage(view)
  if (membership.create.length + membership.delete.length > 0) return membership
  return view.set.spec.updateStrategy?.type === "OnDelete" ? membership : { ...membership, ...update(view) }
}

const manage = (view: DaemonView): DaemonPlan => {
  const byNode = podsByNode(view.pods)
  const create: string[] = []
  const doomed: Pod[] = []
  const warnings: DaemonPlan["warnings"][number][] = []
  for (const node of view.nodes) {
    const { name } = node.metadata
    const { shouldRun, mayStay } = belongsOn(view.set, node)
    const present = byNode.get(name)
    if (present === undefined) {
      if (shouldRun) create.push(name)
      continue
    }
    const living = present.filter((pod) => !isTerminating(pod))
    if (!mayStay) {
      doomed.push(...living)
      continue
    }
    const running = living.filter((pod) => phaseOf(pod) !== "Failed" && phaseOf(pod) !== "Succeeded")
    for (const pod of living) {
      if (running.includes(pod)) continue
      const isFailed = phaseOf(pod) === "Failed"
      const what = `${pod.metadata.namespace}/${pod.metadata.name} on node ${name}`
      warnings.push(
        isFailed
          ? {
              type: "Warning",
              reason: "FailedDaemonPod",
              message: `Found failed daemon pod ${what}, will try to kill it`,
            }
          : {
              type: "Normal",
              reason: "SucceededDaemonPod",
              message: `Found succeeded daemon pod ${what}, will try to delete it`,
            },
      )
      doomed.push(pod)
    }
    doomed.push(...superfluous(view, running))
    if (maxSurge(view) > 0 && running.length === 0 && shouldRun) create.push(name)
  }
  const names = new Set(view.nodes.map(({ metadata }) => metadata.name))
  // Unbound Pods for a missing node would wait for ever; bound ones are the Pod garbage collector's job.
  for (const [name, present] of byNode) {
    if (!names.has(name))
      doomed.push(...present.filter((pod) => (pod.spec.nodeName ?? "") === "" && !isTerminating(pod)))
  }
  return { create, delete: doomed, warnings }
}

/** All but the oldest; with surge, an old and a new Pod may coexist until the new one is available. */
const superfluous = (view: DaemonView, running: ReadonlyArray<Pod>): ReadonlyArray<Pod> => {
  if (running.length <= 1) return []
  const sorted = [...running].sort((left, right) => createdMs(left) - createdMs(right))
  if (maxSurge(view) === 0) return sorted.slice(1)
  const fresh = sorted.find((pod) => isCurrent(view, pod))
  const old = sorted.find((pod) => !isCurrent(view, pod))
  const rest = sorted.filter((pod) => pod !== fresh && pod !== old)
  const isReplaced = old !== undefined && fresh !== undefined && (!isReady(old) || available(view, fresh))
  return isReplaced ? [...rest, old] : rest
}

const update = (view: DaemonView): Pick<DaemonPlan, "create" | "delete"> => {
  const desired = view.nodes.filter((node) => belongsOn(view.set, node).shouldRun).length
  const { maxUnavailable } = view.set.spec.updateStrategy?.rollingUpdate ?? {}
  const surge = maxSurge(view)
  const allowance = scaledValue(maxUnavailable ?? 1, desired, true)
  const unavailableLimit = surge === 0 && allowance === 0 ? 1 : allowance
  const outdated: Pod[] = []
  const replaceable: Pod[] = []
  let unavailable = 0
  let surging = 0
  for (const present of podsByNode(view.pods).values()) {
    const living = present.filter((pod) => !isTerminating(pod))
    const fresh = living.find((pod) => isCurrent(view, pod))
    const old = living.find((pod) => !isCurrent(view, pod))
    if (fresh !== undefined && old !== undefined) surging++
    if (old === undefined) {
      if (fresh === undefined || !available(view, fresh)) unavailable++
    } else if (!available(view, old)) {
      // It is not available: replacing it costs nothing.
      replaceable.push(old)
      unavailable++
    } else if (fresh === undefined) outdated.push(old)
  }
  if (surge > 0) {
    const targets = [...replaceable, ...outdated.slice(0, Math.max(0, surge - surging))]
    return { create: targets.flatMap((pod) => nodeOfDaemonPod(pod) ?? []), delete: [] }
  }
  return { create: [], delete: [...replaceable, ...outdated.slice(0, Math.max(0, unavailableLimit - unavailable))] }
}

export const daemonSetStatus = (view: DaemonView): DaemonSetStatus => {
  const { set, nodes, hash } = view
  const byNode = podsByNode(view.pods)
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, updated: 0, available: 0 }
  for (const node of nodes) {
    const present = [...(byNode.get(node.metadata.name) ?? [])].sort(
      (left, right) => createdMs(left) - createdMs(right),
    )
    if (!belongsOn(set, node).shouldRun) {
      if (present.length > 0) counts.misscheduled++
      continue
    }
    counts.desired++
    const [oldest] = present
    if (oldest === undefined) continue
    counts.current++
    if (isReady(oldest)) counts.ready++
    if (isReady(oldest) && available(view, oldest)) counts.available++
    if (oldest.metadata.labels?.[revisionLabel] === hash) counts.updated++
  }
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    ...withoutZeros({
      observedGeneration: set.metadata.generation ?? 0,
      updatedNumberScheduled: counts.updated,
      numberAvailable: counts.available,
      numberUnavailable: counts.desired - counts.available,
    }),
  }
}

const maxSurge = ({ set, nodes }: DaemonView): number =>
  scaledValue(set.spec.updateStrategy?.rollingUpdate?.maxSurge ?? 0, nodes.length, true)

const isCurrent = ({ hash }: DaemonView, pod: Pod): boolean => pod.metadata.labels?.[revisionLabel] === hash

const available = ({ set, nowMs }: DaemonView, pod: Pod): boolean =>
  isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)

const podsByNode = (pods: ReadonlyArray<Pod>): ReadonlyMap<string, ReadonlyArray<Pod>> => {
  const byNode = new Map<string, Pod[]>()
  for (const pod of pods) {
    const node = nodeOfDaemonPod(pod)
    if (node === undefined) continue
    const known = byNode.get(node)
    if (known === undefined) byNode.set(node, [pod])
    else known.push(pod)
  }
  return byNode
}
