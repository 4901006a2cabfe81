/** Pods. */

import { immutable } from "../../../apiserver/answers/field-error.ts"
import { quantityOf } from "../../../kube/quantity.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, ensured, isAbsent, isFields, items, list, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"
import { podOnly, podSpec } from "./pod-defaults.ts"
import { checkNewPod, checkPod, checkPodChange } from "./pod-validation.ts"

/** `state` and `lastState` are structs, which Go writes even when they are not set. */
const states: DefaultTable = { set: { state: {}, lastState: {} } }
const containerStates: Readonly<Record<string, DefaultTable>> = {
  initContainerStatuses: states,
  containerStatuses: states,
  ephemeralContainerStatuses: states,
}

const computed = ["cpu", "memory"] as const

/** The quantities that decide a container's quality of service: CPU and memory above zero. */
const amounts = (resources: Fields | undefined, key: string): ReadonlyMap<string, number> => {
  const given = child(resources, key) ?? {}
  const found = new Map<string, number>()
  for (const name of computed) {
    const amount = quantityOf(given[name]) ?? 0
    if (amount > 0) found.set(name, amount)
  }
  return found
}

/** `Guaranteed` if every container limits both and requests as much, `BestEffort` if none requests anything. */
const qualityOfService = (pod: MutableObject): "Guaranteed" | "Burstable" | "BestEffort" => {
  const spec = child(pod, "spec")
  const own = child(spec, "resources")
  const holders =
    own === undefined
      ? [...items(spec, "containers"), ...items(spec, "initContainers")].map((item) => child(item, "resources"))
      : [own]
  let guaranteed = true
  let asked = false
  for (const resources of holders) {
    const [limits, requests] = [amounts(resources, "limits"), amounts(resources, "requests")]
    if (limits.size + requests.size > 0) asked = true
    for (const name of computed)
      if (limits.get(name) === undefined || (requests.get(name) ?? limits.get(name)) !== limits.get(name))
        guaranteed = false
  }
  if (!asked) return "BestEffort"
  return guaranteed ? "Guaranteed" : "Burstable"
}

const newStatus = (pod: MutableObject): Fields => {
  const status: Fields = { phase: "Pending", qosClass: qualityOfService(pod) }
  if (list(child(pod, "spec"), "schedulingGates").length > 0)
    status.conditions = [
      {
        type: "PodScheduled",
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: pod.metadata.creationTimestamp ?? null,
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
    ]
  return status
}

/** A status write that omits these does not change them. */
const keepQuality = (object: MutableObject, old: MutableObject): void => {
  const status = ensured(object, "status")
  const before = child(old, "status")
  for (const key of ["qosClass", "observedGeneration"])
    if (isAbsent(status[key]) && !isAbsent(before?.[key])) status[key] = before?.[key]
}

/** The address is the first item in the list of addresses, which is created if there is only the address. */
const listAddresses = (status: Fields): void => {
  for (const [single, plural] of [
    ["podIP", "podIPs"],
    ["hostIP", "hostIPs"],
  ] as const) {
    const address = text(status, single)
    const [first] = list(status, plural)
    if (address !== "" && (!isFields(first) || first.ip !== address)) status[plural] = [{ ip: address }]
  }
}

export const podKind: Kind = {
  defaults: {
    make: {
      spec: podSpec,
      status: { each: containerStates, derive: listAddresses },
    },
    within: { spec: podOnly },
  },
  newStatus,
  generation: ["spec"],
  prepareUpdate: (object, old) => {
    // Fields that admission filled in at creation are not removed by clients that do not know them.
    const [spec, before] = [ensured(object, "spec"), child(old, "spec")]
    for (const key of ["priority", "preemptionPolicy"])
      if (isAbsent(spec[key]) && !isAbsent(before?.[key])) spec[key] = before?.[key]
  },
  prepareStatus: keepQuality,
  statusKeeps: ["ownerReferences"],
  check: checkPod,
  checkNew: checkNewPod,
  checkChange: checkPodChange,
  checkStatus: (object, old, errors) => {
    const [now, before] = [child(object, "status")?.qosClass, child(old, "status")?.qosClass]
    if (now !== before) errors.push(immutable("status.qosClass", now))
  },
}
