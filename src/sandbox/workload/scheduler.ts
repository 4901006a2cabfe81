/**
 * A scheduler with one rule. Binds through `pods/binding`; a Pod that fits nowhere gets the condition
 * PodScheduled=False and an Event, and is retried when a node or its free capacity changes, at the latest after 5 min.
 *
 * Not provided: preemption, Pod affinity, spreading, volumes, priorities.
 */
import {
  type Controller,
  KeyedController,
  keyOf,
  type ObjectChange,
  recordAs,
  type Surroundings,
} from "../../host/index.ts"
import {
  ConflictError,
  type Container,
  kinds,
  type Node,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  NotFoundError,
  type Pod,
  type PodSpec,
  type StringMap,
  type Taint,
  type Toleration,
} from "../../kube/index.ts"
import { thousandths, wholeUnits } from "../../kube/offline.ts"
import { conditionOf, isFinished } from "./pods/pods.ts"

// CPU and memory that a Pod requests (component-helpers resource.PodRequests).

interface Resources {
  /** Thousandths of a CPU. */
  readonly cpu: number
  /** Bytes. */
  readonly memory: number
}

const noResources: Resources = { cpu: 0, memory: 0 }

/**
 * Containers and sidecars together, or the largest init container with the sidecars started before it, whichever is
 * more; plus the overhead.
 */
const requestsOf = (spec: PodSpec): Resources => {
  let sidecars = noResources
  let starting = noResources
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === "Always") {
      sidecars = add(sidecars, requestOf(container))
      starting = larger(starting, sidecars)
    } else starting = larger(starting, add(sidecars, requestOf(container)))
  }
  const running = spec.containers.map(requestOf).reduce(add, sidecars)
  return add(larger(running, starting), resourcesOf(spec.overhead))
}

const resourcesOf = (quantities: Readonly<Record<string, string>> | undefined): Resources => ({
  cpu: thousandths(quantities?.cpu),
  memory: wholeUnits(quantities?.memory),
})

const add = (left: Resources, right: Resources): Resources => ({
  cpu: left.cpu + right.cpu,
  memory: left.memory + right.memory,
})

const larger = (left: Resources, right: Resources): Resources => ({
  cpu: Math.max(left.cpu, right.cpu),
  memory: Math.max(left.memory, right.memory),
})

/** A limit without a request is also the request. */
const requestOf = ({ resources }: Container): Resources => resourcesOf({ ...resources?.limits, ...resources?.requests })

// Chooses the node of a Pod: the one with the fewest Pods among those that it matches, tolerates and fits on; by name
// among equals. If there is none, the reason is in kube-scheduler's words.

/** Resources used by the Pods on a node. */
interface NodeLoad {
  readonly pods: number
  readonly requests: Resources
}

type Placement = { readonly node: Node } | { readonly problem: string }

const placePod = (pod: Pod, nodes: Iterable<Node>, loadOf: (node: string) => NodeLoad): Placement => {
  const problems = new Map<string, number>()
  const requests = requestsOf(pod.spec)
  let count = 0
  let best: { readonly node: Node; readonly pods: number } | undefined
  for (const node of nodes) {
    count++
    const load = loadOf(node.metadata.name)
    const obstacles = obstaclesOf(pod, requests, node, load)
    for (const obstacle of obstacles) problems.set(obstacle, (problems.get(obstacle) ?? 0) + 1)
    if (obstacles.length > 0) continue
    const isBetter =
      best === undefined ||
      load.pods < best.pods ||
      (load.pods === best.pods && node.metadata.name < best.node.metadata.name)
    if (isBetter) best = { node, pods: load.pods }
  }
  if (best !== undefined) return { node: best.node }
  if (count === 0) return { problem: "no nodes available to schedule pods" }
  const reasons = [...problems].map(([problem, times]) => `${times} ${problem}`).sort()
  return { problem: `0/${count} nodes are available: ${reasons.join(", ")}.` }
}

/** The real scheduler's filters in their order; the first filter that fails reports all its reasons. */
const obstaclesOf = (pod: Pod, requests: Resources, node: Node, load: NodeLoad): ReadonlyArray<string> => {
  const tolerations = pod.spec.tolerations ?? []
  const unschedulable = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }
  const cordoned = { ...node, spec: { taints: [unschedulable] } }
  if (node.spec?.unschedulable === true && untoleratedTaint(tolerations, cordoned, ["NoSchedule"]) !== undefined) {
    return ["node(s) were unschedulable"]
  }
  const taint = untoleratedTaint(tolerations, node, ["NoSchedule", "NoExecute"])
  if (taint !== undefined) return ["node(s) had untolerated taint(s)"]
  if (!matchesNode(pod.spec, node)) return ["node(s) didn't match Pod's node affinity/selector"]
  const allocatable = resourcesOf(node.status?.allocatable)
  const missing: string[] = []
  if (load.pods + 1 > wholeUnits(node.status?.allocatable?.pods)) missing.push("Too many pods")
  if (requests.cpu > 0 && load.requests.cpu + requests.cpu > allocatable.cpu) missing.push("Insufficient cpu")
  if (requests.memory > 0 && load.requests.memory + requests.memory > allocatable.memory)
    missing.push("Insufficient memory")
  return missing
}

// The Pods that run or are about to run on each node, updated with the changes of Pods.

const empty: NodeLoad = { pods: 0, requests: noResources }

class NodeLoads {
  readonly #loads = new Map<string, NodeLoad>()
  readonly #counted = new Map<string, { readonly node: string; readonly requests: Resources }>()

  of(node: string): NodeLoad {
    return this.#loads.get(node) ?? empty
  }

  /** Counts a Pod on a node before the server confirms it; `changed` confirms or corrects it. */
  assume(pod: Pod, node: string): void {
    this.#count(pod.metadata.uid ?? "", node, pod)
  }

  isAssumed(pod: Pod): boolean {
    return this.#counted.has(pod.metadata.uid ?? "")
  }

  /** The binding failed. */
  forget(pod: Pod): void {
    this.#discount(pod.metadata.uid ?? "")
  }

  changed({ previous, current }: ObjectChange<Pod>): void {
    if (current === undefined) {
      if (previous !== undefined) this.forget(previous)
    } else if (isFinished(current)) this.forget(current)
    else if ((current.spec.nodeName ?? "") !== "")
      this.#count(current.metadata.uid ?? "", current.spec.nodeName ?? "", current)
  }

  #count(uid: string, node: string, pod: Pod): void {
    this.#discount(uid)
    const requests = requestsOf(pod.spec)
    const load = this.of(node)
    this.#counted.set(uid, { node, requests })
    this.#loads.set(node, { pods: load.pods + 1, requests: add(load.requests, requests) })
  }

  #discount(uid: string): void {
    const counted = this.#counted.get(uid)
    if (counted === undefined) return
    this.#counted.delete(uid)
    const { pods, requests } = this.of(counted.node)
    const { cpu, memory } = counted.requests
    this.#loads.set(counted.node, {
      pods: pods - 1,
      requests: { cpu: requests.cpu - cpu, memory: requests.memory - memory },
    })
  }
}

const ownName = "default-scheduler"
const retryMs = 300_000

export const scheduler = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const pods = cluster.cache<Pod>(kinds.pods)
  const nodes = cluster.cache<Node>(kinds.nodes)
  const record = recordAs(events, { component: ownName })
  const loads = new NodeLoads()
  const unplaced = new Set<string>()

  const isWaiting = (pod: Pod): boolean =>
    (pod.spec.nodeName ?? "") === "" &&
    (pod.spec.schedulerName ?? ownName) === ownName &&
    pod.metadata.deletionTimestamp === undefined &&
    !isFinished(pod) &&
    (pod.spec.schedulingGates ?? []).length === 0

  const bind = async (pod: Pod, node: string): Promise<void> => {
    const { name, namespace, uid } = pod.metadata
    loads.assume(pod, node)
    try {
      const target = { apiVersion: "v1", kind: "Node", name: node }
      const body = { apiVersion: "v1", kind: "Binding", metadata: { name, namespace, uid }, target }
      await cluster.api.createSubresource(kinds.pods, pod.metadata, "binding", body)
      record(pod, "Normal", "Scheduled", `Successfully assigned ${keyOf(pod)} to ${node}`)
    } catch (error) {
      loads.forget(pod)
      // The Pod is gone, or another scheduler has bound it: the watch will show which.
      if (!(error instanceof NotFoundError) && !(error instanceof ConflictError)) throw error
    }
  }

  const refuse = async (pod: Pod, message: string): Promise<void> => {
    const known = conditionOf(pod.status?.conditions, "PodScheduled")
    if (known?.status === "False" && known.reason === "Unschedulable" && known.message === message) return
    record(pod, "Warning", "FailedScheduling", message)
    const lastTransitionTime = known?.status === "False" ? known.lastTransitionTime : cluster.now()
    const condition = {
      type: "PodScheduled",
      status: "False",
      lastProbeTime: null,
      lastTransitionTime,
      reason: "Unschedulable",
      message,
    }
    await cluster.patch<Pod>(kinds.pods, pod, "strategic-merge", { status: { conditions: [condition] } }, "status")
  }

  const schedule = async (key: string): Promise<void> => {
    const pod = pods.byKey(key)
    unplaced.delete(key)
    if (pod === undefined || !isWaiting(pod) || loads.isAssumed(pod)) return
    const placement = placePod(pod, nodes.all(), (node) => loads.of(node))
    if ("node" in placement) return bind(pod, placement.node.metadata.name)
    unplaced.add(key)
    controller.enqueueAfter(key, retryMs)
    await refuse(pod, placement.problem)
  }

  const controller = new KeyedController("scheduler", surroundings, schedule, () =>
    [...pods.all()].filter(isWaiting).map(keyOf),
  )
  const retryAll = (): void => {
    for (const key of unplaced) controller.enqueue(key)
  }
  pods.onChange((changes) => {
    let isRoomLeft = false
    for (const change of changes) {
      loads.changed(change)
      const { previous, current } = change
      if (current !== undefined && isWaiting(current)) controller.enqueue(keyOf(current))
      isRoomLeft ||= previous !== undefined && (current === undefined || isFinished(current))
    }
    if (isRoomLeft) retryAll()
  })
  nodes.onChange((changes) => {
    if (changes.some(({ previous, current }) => current !== undefined && mayAdmitMore(previous, current))) retryAll()
  })
  return controller
}

/** Whether a node has changed in a way that matters to waiting Pods; heartbeats do not. */
const mayAdmitMore = (previous: Node | undefined, { metadata, spec, status }: Node): boolean =>
  JSON.stringify([previous?.metadata.labels, previous?.spec, previous?.status?.allocatable]) !==
  JSON.stringify([metadata.labels, spec, status?.allocatable])

// Whether a Pod may run on a node by its selector, affinity and tolerations; used by scheduler and DaemonSets alike.

/** `spec.nodeSelector` and the required node affinity. */
export const matchesNode = (spec: PodSpec, node: Node): boolean => {
  const labels = node.metadata.labels ?? {}
  const isSelected = Object.entries(spec.nodeSelector ?? {}).every(([name, value]) => labels[name] === value)
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return isSelected && (required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node)))
}

/** The first taint of these effects that keeps the Pod away. */
export const untoleratedTaint = (
  tolerations: ReadonlyArray<Toleration>,
  node: Node,
  effects: ReadonlyArray<string>,
): Taint | undefined =>
  node.spec?.taints?.find(
    (taint) => effects.includes(taint.effect) && !tolerations.some((toleration) => tolerates(toleration, taint)),
  )

const tolerates = ({ key = "", operator = "Equal", value = "", effect = "" }: Toleration, taint: Taint): boolean => {
  if (effect !== "" && effect !== taint.effect) return false
  if (key !== "" && key !== taint.key) return false
  if (operator === "Exists") return true
  return key !== "" && value === (taint.value ?? "")
}

/** An empty term matches nothing. */
const matchesTerm = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean =>
  matchExpressions.length + matchFields.length > 0 &&
  matchExpressions.every((requirement) => meets(requirement, node.metadata.labels ?? {})) &&
  matchFields.every((requirement) => meets(requirement, { "metadata.name": node.metadata.name }))

const meets = ({ key, operator, values = [] }: NodeSelectorRequirement, labels: StringMap): boolean => {
  const value = labels[key]
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value)
    case "NotIn":
      return value === undefined || !values.includes(value)
    case "Exists":
      return value !== undefined
    case "DoesNotExist":
      return value === undefined
    case "Gt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0])
    case "Lt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0])
    default:
      return false
  }
}

const isInteger = (text: string | undefined): text is string => text !== undefined && /^-?\d+$/.test(text)
