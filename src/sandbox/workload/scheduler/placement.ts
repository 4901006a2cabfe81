/**
 * Chooses the node of a Pod: the one with the fewest Pods among those that it matches, tolerates and fits on; by name
 * among equals. If there is none, the reason is in kube-scheduler's words.
 */

import type { Node, Pod } from "../../../kube/client/objects.ts"
import { wholeUnits } from "../../../kube/quantity.ts"
import { matchesNode, untoleratedTaint } from "./node-match.ts"
import { type Resources, requestsOf, resourcesOf } from "./pod-requests.ts"

/** Resources used by the Pods on a node. */
export interface NodeLoad {
  readonly pods: number
  readonly requests: Resources
}

type Placement = { readonly node: Node } | { readonly problem: string }

export const placePod = (pod: Pod, nodes: Iterable<Node>, loadOf: (node: string) => NodeLoad): Placement => {
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
