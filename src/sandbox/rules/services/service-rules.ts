/** Services, except for the allocation of addresses and ports (service-allocation.ts). */

import { hostLabelComplaints } from "../../../kube/names.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, ensured, isAbsent, isSame, isZero, items, list, number, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"
import {
  checkService,
  checkServiceChange,
  isExternal,
  needsClusterIp,
  needsNodePort,
  serviceTypes,
} from "./service-validation.ts"

/** Three hours: how long a client keeps its pod. */
const affinitySeconds = 10_800

const port: DefaultTable = {
  set: { protocol: "TCP" },
  derive: (object) => {
    if (isZero(object.targetPort)) object.targetPort = number(object, "port") ?? 0
  },
}

const defaults: DefaultTable = {
  make: {
    spec: {
      set: { sessionAffinity: "None", type: "ClusterIP" },
      each: { ports: port },
      derive: (spec) => {
        if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig
        if (spec.sessionAffinity === "ClientIP") {
          const client = ensured(ensured(spec, "sessionAffinityConfig"), "clientIP")
          if (isAbsent(client.timeoutSeconds)) client.timeoutSeconds = affinitySeconds
        }
        if (isExternal(spec) && isZero(spec.externalTrafficPolicy)) spec.externalTrafficPolicy = "Cluster"
        if (
          spec.type !== "ExternalName" &&
          serviceTypes.includes(text(spec, "type")) &&
          isAbsent(spec.internalTrafficPolicy)
        )
          spec.internalTrafficPolicy = "Cluster"
        if (spec.type === "LoadBalancer" && isAbsent(spec.allocateLoadBalancerNodePorts))
          spec.allocateLoadBalancerNodePorts = true
      },
    },
    status: { set: { loadBalancer: {} } },
  },
}

/** Old clients set one address, new ones a list; setting either one sets both. */
const alignAddresses = (spec: Fields, before: Fields | undefined): void => {
  const single = text(spec, "clusterIP")
  const several = texts(spec, "clusterIPs")
  if (before === undefined) {
    if (single !== "" && several.length === 0) spec.clusterIPs = [single]
    return
  }
  const changed = single !== text(before, "clusterIP")
  const kept = isSame(several, texts(before, "clusterIPs"))
  if (changed && kept) {
    if (single === "") delete spec.clusterIPs
    else spec.clusterIPs = [single]
  } else if (several.length === 0 && single !== "") spec.clusterIPs = [single]
}

/** Keeps what the server has allocated, unless the client sets another value. */
const keepAllocations = (spec: Fields, before: Fields): void => {
  if (needsClusterIp(spec) && needsClusterIp(before)) {
    if (text(spec, "clusterIP") === "") spec.clusterIP = before.clusterIP
    if (list(spec, "clusterIPs").length === 0) spec.clusterIPs = before.clusterIPs
  }
  if (needsNodePort(spec) && needsNodePort(before)) {
    const taken = new Set(items(spec, "ports").map((entry) => number(entry, "nodePort")))
    const known = new Map(items(before, "ports").map((entry) => [text(entry, "name"), number(entry, "nodePort")]))
    for (const entry of items(spec, "ports")) {
      const value = known.get(text(entry, "name"))
      if (isZero(entry.nodePort) && value !== undefined && !taken.has(value)) entry.nodePort = value
    }
  }
  for (const key of ["ipFamilies", "ipFamilyPolicy"])
    if (isAbsent(spec[key]) && needsClusterIp(spec) && needsClusterIp(before) && !isAbsent(before[key]))
      spec[key] = before[key]
}

/** Drops members of the old type that the client did not change. */
const dropForeign = (spec: Fields, before: Fields): void => {
  const dropUnchanged = (key: string): void => {
    if (isSame(spec[key], before[key])) delete spec[key]
  }
  if (needsClusterIp(before) && !needsClusterIp(spec))
    for (const key of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]) dropUnchanged(key)
  if (needsNodePort(before) && !needsNodePort(spec))
    for (const entry of items(spec, "ports")) {
      const same = items(before, "ports").some((other) => other.nodePort === entry.nodePort)
      if (same) delete entry.nodePort
    }
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer")
    for (const key of ["allocateLoadBalancerNodePorts", "loadBalancerClass"]) dropUnchanged(key)
  if (isExternal(before) && !isExternal(spec)) dropUnchanged("externalTrafficPolicy")
}

const prepareUpdate = (object: MutableObject, old: MutableObject): void => {
  const [spec, before] = [ensured(object, "spec"), child(old, "spec") ?? {}]
  keepAllocations(spec, before)
  alignAddresses(spec, before)
  dropForeign(spec, before)
  if (spec.type !== "LoadBalancer") object.status = { ...child(object, "status"), loadBalancer: {} }
}

export const serviceKind: Kind = {
  name: hostLabelComplaints,
  defaults,
  newStatus: () => ({ loadBalancer: {} }),
  prepareCreate: (object) => alignAddresses(ensured(object, "spec"), undefined),
  prepareUpdate,
  // Whatever the client sends; its owner stays the same.
  settleUpdate: (object) => {
    const spec = child(object, "spec")
    if (spec !== undefined && !needsClusterIp(spec)) delete spec.internalTrafficPolicy
  },
  check: checkService,
  checkChange: checkServiceChange,
}
