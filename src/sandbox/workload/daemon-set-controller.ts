/** Keeps a Pod of each DaemonSet on every node that it belongs on (pkg/controller/daemon). */

import { type Controller, keyOf, recordAs, type Surroundings, sameJson } from "../../host/index.ts"
import {
  type ApiObject,
  type Condition,
  type ControllerRevision,
  kinds,
  type Node,
  type Pod,
  type PodSpec,
  type Toleration,
} from "../../kube/index.ts"
import { hashTemplate, latestRevision, truncateHistory } from "./pods/controller-revisions.ts"
import { objectController, type PlannedEvent, type PodsSpec, writeStatus } from "./pods/object-controller.ts"
import {
  claimObjects,
  createdMs,
  createPod,
  deletePod,
  inSlowStartBatches,
  isAvailable,
  isReady,
  isTerminating,
  phaseOf,
  podOfTemplate,
  untilAvailable,
} from "./pods/pods.ts"
import { type IntOrPercent, scaledValue, withoutZeros } from "./pods/statuses.ts"
import { matchesNode, untoleratedTaint } from "./scheduler.ts"

export const daemonSetController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const sets = cluster.cache<DaemonSet>(kinds.daemonSets)
  const pods = cluster.cache<Pod>(kinds.pods)
  const nodes = cluster.cache<Node>(kinds.nodes)
  const revisions = cluster.cache<ControllerRevision>(kinds.revisions)
  const record = recordAs(events, { component: "daemonset-controller" })

  const reconcile = async (set: DaemonSet, again: (afterMs?: number) => void): Promise<void> => {
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
    await writeStatus(cluster, kinds.daemonSets, set, status)
    const used = new Set([hash, ...after.pods.map(({ metadata }) => metadata.labels?.[revisionLabel])])
    await truncateHistory(
      cluster,
      ownRevisions,
      ({ metadata }) => used.has(metadata.labels?.[revisionLabel]),
      revisionHistoryLimit,
    )
    again(untilAvailable(after.pods, minReadySeconds, cluster.nowMs()))
  }

  const own = { name: "daemonset", kind: kinds.daemonSets, owned: kinds.pods }
  const controller = objectController(surroundings, own, reconcile)
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

// Plans the next steps for a DaemonSet, as pure functions (daemon_controller.go, update.go).

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
  readonly warnings: ReadonlyArray<PlannedEvent>
}

/** First one Pod for every node that should have one; once that is done, the update. */
const planDaemonSet = (view: DaemonView): DaemonPlan => {
  const membership = manage(view)
  if (membership.create.length + membership.delete.length > 0) return membership
  return view.set.spec.updateStrategy?.type === "OnDelete" ? membership : { ...membership, ...update(view) }
}

const manage = (view: DaemonView): DaemonPlan => {
  const byNode = podsByNode(view.pods)
  const create: string[] = []
  const doomed: Pod[] = []
  const warnings: PlannedEvent[] = []
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
      const [type, state, verb] =
        phaseOf(pod) === "Failed"
          ? (["Warning", "Failed", "kill"] as const)
          : (["Normal", "Succeeded", "delete"] as const)
      const what = `${pod.metadata.namespace}/${pod.metadata.name} on node ${name}`
      const message = `Found ${state.toLowerCase()} daemon pod ${what}, will try to ${verb} it`
      warnings.push({ type, reason: `${state}DaemonPod`, message })
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

// DaemonSets as their controller reads them, and the Pod of each node.

interface DaemonSetStatus {
  readonly currentNumberScheduled: number
  readonly numberMisscheduled: number
  readonly desiredNumberScheduled: number
  readonly numberReady: number
  readonly observedGeneration?: number
  readonly updatedNumberScheduled?: number
  readonly numberAvailable?: number
  readonly numberUnavailable?: number
  readonly collisionCount?: number
  readonly conditions?: ReadonlyArray<Condition>
}

export interface DaemonSet extends ApiObject {
  readonly spec: PodsSpec & {
    readonly revisionHistoryLimit?: number
    readonly updateStrategy?: {
      readonly type?: string
      readonly rollingUpdate?: { readonly maxSurge?: IntOrPercent; readonly maxUnavailable?: IntOrPercent }
    }
  }
  readonly status?: DaemonSetStatus
}

const revisionLabel = "controller-revision-hash"
const generationAnnotation = "deprecated.daemonset.template.generation"
const nodeNameField = "metadata.name"

/**
 * The tolerations of every daemon Pod: it belongs to the node, whatever the node's state
 * (AddOrUpdateDaemonPodTolerations).
 */
const ownTolerations = (spec: PodSpec): ReadonlyArray<Toleration> => [
  ...["not-ready", "unreachable"].map((key) => toleration(key, "NoExecute")),
  ...["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"].map((key) => toleration(key, "NoSchedule")),
  ...(spec.hostNetwork === true ? [toleration("network-unavailable", "NoSchedule")] : []),
]

const toleration = (key: string, effect: string): Toleration => ({
  key: `node.kubernetes.io/${key}`,
  operator: "Exists",
  effect,
})

const tolerationsOf = (spec: PodSpec): ReadonlyArray<Toleration> => {
  const own = ownTolerations(spec)
  const given = (spec.tolerations ?? []).filter(
    ({ key, effect }) => !own.some((known) => known.key === key && known.effect === effect),
  )
  return [...given, ...own]
}

/** The Pod of one node: the scheduler binds it, by an affinity to the node's name. */
const daemonPod = (set: DaemonSet, node: string, hash: string): Pod => {
  const { template } = set.spec
  const generation = set.metadata.annotations?.[generationAnnotation]
  const term = { matchFields: [{ key: nodeNameField, operator: "In", values: [node] }] }
  const required = template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  // The terms are alternatives, so each gets the name of the node in place of its own fields.
  const terms = required === undefined ? [term] : required.nodeSelectorTerms.map((given) => ({ ...given, ...term }))
  return podOfTemplate(template, set, {
    labels: { [revisionLabel]: hash, ...(generation === undefined ? {} : { "pod-template-generation": generation }) },
    spec: {
      affinity: {
        ...template.spec.affinity,
        nodeAffinity: {
          ...template.spec.affinity?.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
        },
      },
      tolerations: tolerationsOf(template.spec),
    },
  })
}

/** The node that a daemon Pod runs on, or is intended for until it is bound. */
const nodeOfDaemonPod = ({ spec }: Pod): string | undefined => {
  if ((spec.nodeName ?? "") !== "") return spec.nodeName
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const field = required?.nodeSelectorTerms[0]?.matchFields?.find(({ key }) => key === nodeNameField)
  return field?.values?.[0]
}

/** Whether the node should get a Pod, and whether an existing one may stay (NodeShouldRunDaemonPod). */
const belongsOn = (set: DaemonSet, node: Node): { readonly shouldRun: boolean; readonly mayStay: boolean } => {
  const { spec } = set.spec.template
  if ((spec.nodeName ?? "") !== "" && spec.nodeName !== node.metadata.name) return { shouldRun: false, mayStay: false }
  if (!matchesNode(spec, node)) return { shouldRun: false, mayStay: false }
  const tolerations = tolerationsOf(spec)
  return {
    shouldRun: untoleratedTaint(tolerations, node, ["NoSchedule", "NoExecute"]) === undefined,
    mayStay: untoleratedTaint(tolerations, node, ["NoExecute"]) === undefined,
  }
}
