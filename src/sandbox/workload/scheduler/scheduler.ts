/**
 * A scheduler with one rule (placement.ts). Binds through `pods/binding`; a Pod that fits nowhere gets the condition
 * PodScheduled=False and an Event, and is retried when a node or its free capacity changes, at the latest after 5 min.
 *
 * Not provided: preemption, Pod affinity, spreading, volumes, priorities.
 */

import { keyOf } from "../../../host/cache/object-cache.ts"
import { type Controller, KeyedController, recordAs, type Surroundings } from "../../../host/controller.ts"
import { ConflictError, NotFoundError } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { Node, Pod } from "../../../kube/client/objects.ts"
import { conditionOf, isFinished } from "../pod-facts.ts"
import { NodeLoads } from "./node-loads.ts"
import { placePod } from "./placement.ts"

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
