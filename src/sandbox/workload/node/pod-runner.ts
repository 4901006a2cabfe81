/**
 * Runs the Pods bound to virtual nodes: reports the states of pod-life.ts, records a kubelet's Events, and removes Pods
 * that were asked to terminate.
 *
 * Under overload reports are late; the times in them are still those of the plan.
 */

import { keyOf } from "../../../host/cache/object-cache.ts"
import { sameJson } from "../../../host/cache/same-json.ts"
import { type Controller, KeyedController, type Surroundings } from "../../../host/controller.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { Pod } from "../../../kube/client/objects.ts"
import { type Delays, planOf } from "./delays.ts"
import { advance, beginRun, type PodEvent, type PodRun } from "./pod-life.ts"
import { podStatus } from "./pod-status.ts"

/** Address of a virtual node; `undefined` for any other node. */
export type HostAddress = (node: string) => string | undefined

export const podRunner = (surroundings: Surroundings, delays: Delays, hostAddress: HostAddress): Controller => {
  const { cluster, events } = surroundings
  const pods = cluster.cache<Pod>(kinds.pods)
  const runs = new Map<string, { readonly run: PodRun; readonly random: number }>()
  let addresses = 0

  /** 10.128.0.0/9, one after the other: unique for 8 million Pods. */
  const nextAddress = (): string => {
    addresses = (addresses + 1) % 2 ** 23
    return `10.${128 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`
  }

  const isOurs = (pod: Pod): boolean => hostAddress(pod.spec.nodeName ?? "") !== undefined

  const record = (pod: Pod, event: PodEvent): void => {
    for (const { name, image } of pod.spec.containers) {
      const [type, message] = eventText(event, name, image ?? "", pod)
      const source = { component: "kubelet", host: pod.spec.nodeName ?? "" }
      events.record(source, { object: pod, type, reason: event.reason, message, fieldPath: `spec.containers{${name}}` })
    }
  }

  const reconcile = async (key: string): Promise<void> => {
    const pod = pods.byKey(key)
    const hostIP = hostAddress(pod?.spec.nodeName ?? "")
    if (pod === undefined || hostIP === undefined) return
    const nowMs = cluster.nowMs()
    const uid = pod.metadata.uid ?? ""
    const known = runs.get(uid)
    const random = known?.random ?? cluster.random()
    const before = known?.run ?? beginRun(pod, pod.spec.hostNetwork === true ? hostIP : nextAddress(), nowMs)
    const step = advance(pod, planOf(pod, delays, random), before, nowMs)
    runs.set(uid, { run: step.run, random })
    for (const event of step.events) record(pod, event)
    const isRemoved = step.run.stage === "stopped"
    const neverRan = step.run.startedMs === 0 && isRemoved
    const isSettled = before.stage === "finished"
    const status = podStatus(pod, step.run, hostIP)
    if (!neverRan && !isSettled && !sameJson(kubeletPart(pod), status)) {
      await cluster.patch<Pod>(kinds.pods, pod, "merge", { metadata: { uid }, status }, "status")
    }
    if (isRemoved) await cluster.delete(kinds.pods, pod, { gracePeriodSeconds: 0 })
    else controller.enqueueAfter(key, step.nextMs)
  }

  const controller = new KeyedController("pod-runner", surroundings, reconcile, () =>
    [...pods.all()].filter(isOurs).map(keyOf),
  )
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      if (current === undefined) runs.delete(previous?.metadata.uid ?? "")
      else if (isOurs(current)) controller.enqueue(keyOf(current))
    }
  })
  return controller
}

/** The members that podStatus writes. */
const kubeletPart = ({ status = {} }: Pod): unknown => {
  const { phase, conditions, hostIP, hostIPs, startTime, podIP, podIPs, initContainerStatuses, containerStatuses } =
    status
  return { phase, conditions, hostIP, hostIPs, startTime, podIP, podIPs, initContainerStatuses, containerStatuses }
}

const eventText = (
  { reason }: PodEvent,
  name: string,
  image: string,
  pod: Pod,
): readonly ["Normal" | "Warning", string] => {
  const { name: podName, namespace, uid } = pod.metadata
  switch (reason) {
    case "Pulled":
      return ["Normal", `Container image "${image}" already present on machine`]
    case "Created":
      return ["Normal", `Created container: ${name}`]
    case "Started":
      return ["Normal", `Started container ${name}`]
    case "Killing":
      return ["Normal", `Stopping container ${name}`]
    case "BackOff":
      return ["Warning", `Back-off restarting failed container ${name} in pod ${podName}_${namespace}(${uid})`]
  }
}
