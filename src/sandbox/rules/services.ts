/** Services, except for the allocation of addresses and ports; Ingresses and NetworkPolicies, which nothing carries out here. */

import { isIP } from "node:net"
import { names } from "../../kube/offline.ts"
import { choice, each, format, needed, notAnAddress, repeated } from "./checks.ts"
import { child, emptyIsNone, ensured, isAbsent, isSame, isZero, items, list, number, text, texts } from "./fields.ts"
import type { CheckChange, Fields, Kind, MutableObject } from "./kind-rules.ts"
import type { Check, RulesByType } from "./type-rules.ts"

export const needsNodePort = (spec: Fields): boolean =>
  spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
export const needsClusterIp = (spec: Fields): boolean => text(spec, "type") !== "ExternalName"
export const isHeadless = (spec: Fields): boolean =>
  texts(spec, "clusterIPs")[0] === "None" || spec.clusterIP === "None"
/** Whether the Service is reachable from outside the cluster. */
const isExternal = (spec: Fields): boolean =>
  spec.type === "LoadBalancer" ||
  spec.type === "NodePort" ||
  (spec.type === "ClusterIP" && list(spec, "externalIPs").length > 0)

const serviceTypes = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
/** Three hours: how long a client keeps its pod. */
const affinitySeconds = 10_800

const deriveSpec = (spec: Fields): void => {
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === "ClientIP")
    ensured(ensured(spec, "sessionAffinityConfig"), "clientIP").timeoutSeconds ??= affinitySeconds
  if (isExternal(spec) && isZero(spec.externalTrafficPolicy)) spec.externalTrafficPolicy = "Cluster"
  if (needsClusterIp(spec) && serviceTypes.includes(text(spec, "type"))) spec.internalTrafficPolicy ??= "Cluster"
  if (spec.type === "LoadBalancer") spec.allocateLoadBalancerNodePorts ??= true
}

/** Old clients set one address, new ones a list; setting either one sets both. */
const alignAddresses = (spec: Fields, before: Fields | undefined): void => {
  const [single, several] = [text(spec, "clusterIP"), texts(spec, "clusterIPs")]
  const changed = single !== text(before, "clusterIP")
  if (before !== undefined && changed && isSame(several, texts(before, "clusterIPs"))) {
    if (single === "") delete spec.clusterIPs
    else spec.clusterIPs = [single]
  } else if (several.length === 0 && single !== "") spec.clusterIPs = [single]
}

/** Keeps what the server has allocated, unless the client sets another value. */
const keepAllocations = (spec: Fields, before: Fields): void => {
  if (needsClusterIp(spec) && needsClusterIp(before)) {
    if (text(spec, "clusterIP") === "") spec.clusterIP = before.clusterIP
    if (list(spec, "clusterIPs").length === 0) spec.clusterIPs = before.clusterIPs
    for (const key of ["ipFamilies", "ipFamilyPolicy"])
      if (isAbsent(spec[key]) && !isAbsent(before[key])) spec[key] = before[key]
  }
  if (!needsNodePort(spec) || !needsNodePort(before)) return
  const taken = new Set(items(spec, "ports").map((entry) => number(entry, "nodePort")))
  const known = new Map(items(before, "ports").map((entry) => [text(entry, "name"), number(entry, "nodePort")]))
  for (const entry of items(spec, "ports")) {
    const value = known.get(text(entry, "name"))
    if (isZero(entry.nodePort) && value !== undefined && !taken.has(value)) entry.nodePort = value
  }
}

/** Drops members of the old type that the client did not change. */
const dropForeign = (spec: Fields, before: Fields): void => {
  const dropUnchanged = (...keys: ReadonlyArray<string>): void => {
    for (const key of keys) if (isSame(spec[key], before[key])) delete spec[key]
  }
  if (needsClusterIp(before) && !needsClusterIp(spec))
    dropUnchanged("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
  if (needsNodePort(before) && !needsNodePort(spec))
    for (const entry of items(spec, "ports"))
      if (items(before, "ports").some((other) => other.nodePort === entry.nodePort)) delete entry.nodePort
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer")
    dropUnchanged("allocateLoadBalancerNodePorts", "loadBalancerClass")
  if (isExternal(before) && !isExternal(spec)) dropUnchanged("externalTrafficPolicy")
}

const prepare = (object: MutableObject, old: MutableObject | undefined): void => {
  const spec = ensured(object, "spec")
  if (old === undefined) return alignAddresses(spec, undefined)
  const before = child(old, "spec") ?? {}
  keepAllocations(spec, before)
  alignAddresses(spec, before)
  dropForeign(spec, before)
  if (spec.type !== "LoadBalancer") object.status = { ...child(object, "status"), loadBalancer: {} }
}

/** Several ports need names. */
const namedAmongOthers: Check = (ports, at) => {
  if (!Array.isArray(ports) || ports.length < 2) return
  for (const [index, entry] of ports.entries()) if (text(entry, "name") === "") at.at(index, "name").required()
}

const checkPorts: Check = (_value, at, spec) => {
  const type = text(spec, "type")
  const place = at.at("ports")
  const ports = items(spec, "ports")
  if (ports.length === 0 && !isHeadless(spec) && type !== "ExternalName") place.required()
  const pairOf = (entry: Fields, key: string): string => `${text(entry, "protocol")}/${number(entry, key) ?? 0}`
  if (type === "ClusterIP")
    for (const [index, entry] of ports.entries())
      if (!isZero(entry.nodePort)) place.at(index, "nodePort").forbidden("may not be used when `type` is 'ClusterIP'")
  repeated(
    ports,
    (entry) => (isZero(entry.nodePort) ? undefined : pairOf(entry, "nodePort")),
    ({ nodePort }, index) => place.at(index, "nodePort").duplicate(nodePort),
  )
  repeated(
    ports,
    (entry) => pairOf(entry, "port"),
    (entry, index) => place.at(index).duplicate(entry),
  )
}

const checkAddresses: Check = (_value, at, spec) => {
  const [type, addresses, single] = [text(spec, "type"), texts(spec, "clusterIPs"), text(spec, "clusterIP")]
  const place = at.at("clusterIPs")
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(spec))
    place.at(0).invalid("None", `may not be set to 'None' for ${type} services`)
  if (single !== "" && addresses.length === 0) place.required()
  else if (single !== "" && addresses[0] !== single) place.invalid(addresses, "first value must match `clusterIP`")
  else if (single === "" && addresses.length > 0)
    place.invalid(addresses, "must be empty when `clusterIP` is not specified")
  if (addresses[0] === "None") {
    if (addresses.length > 1) place.invalid(addresses, "'None' must be the first and only value")
  } else for (const [index, one] of addresses.entries()) if (isIP(one) === 0) place.at(index).invalid(one, notAnAddress)
}

const checkExternalName: Check = (_value, at, spec) => {
  for (const key of ["clusterIPs", "ipFamilies", "ipFamilyPolicy"])
    if (!isZero(spec[key])) at.at(key).forbidden("may not be set for ExternalName services")
  const name = text(spec, "externalName").replace(/\.$/, "")
  if (name === "") at.at("externalName").required()
  else at.at("externalName").complain(name, names.subdomainComplaints(name))
}

const checkByType: Check = (value, at, spec) =>
  needsClusterIp(spec) ? checkAddresses(value, at, spec) : checkExternalName(value, at, spec)

/** What may not change while the Service has an address. */
const checkServiceChange: CheckChange = (object, old, root) => {
  const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  if (!needsClusterIp(spec) || !needsClusterIp(before) || (isHeadless(spec) && isHeadless(before))) return
  const [wanted, stored] = [texts(spec, "clusterIPs"), texts(before, "clusterIPs")]
  const place = root.at("spec", "clusterIPs", 0)
  if (stored.length > 0 && wanted.length === 0) place.invalid(null, "primary clusterIP can not be unset")
  else if (stored.length > 0 && wanted[0] !== stored[0]) place.invalid(wanted, "may not change once set")
}

const host = format((name) =>
  name.includes("*") ? names.wildcardSubdomainComplaints(name) : names.subdomainComplaints(name),
)

const checkBackends: Check = (_value, at, spec) => {
  if (list(spec, "rules").length === 0 && isAbsent(spec.defaultBackend))
    at.invalid(null, "either `defaultBackend` or `rules` must be specified")
}

const checkPath: Check = (_value, at, { path, pathType }) => {
  const given = typeof path === "string" ? path : ""
  const say = (detail: string): void => at.at("path").invalid(given, detail)
  if (isAbsent(pathType)) return
  if (pathType === "ImplementationSpecific" && given === "") return
  if (!given.startsWith("/")) say("must be an absolute path")
}

const checkBackend: Check = (_value, at, backend) => {
  const [resource, service] = [child(backend, "resource"), child(backend, "service")]
  if (resource !== undefined && service !== undefined)
    return at.invalid("", "cannot set both resource and service backends")
  if (resource !== undefined) return
  if (service === undefined) return at.invalid("", "resource or service backend is required")
  const port = child(service, "port")
  const [name, value] = [text(port, "name"), number(port, "number") ?? 0]
  const place = at.at("service", "port")
  if (name !== "" && value !== 0) at.invalid("", "cannot set both port name & port number")
  else if (name !== "") place.at("name").complain(name, names.portNameComplaints(name))
  else if (value !== 0) place.at("number").complain(value, names.portComplaints(value))
  else at.required("port name or number is required")
}

/** A policy without types is for incoming traffic, and for outgoing if it has rules for it. */
const policyTypesOf = (egress: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  egress.length > 0 ? ["Ingress", "Egress"] : ["Ingress"]

const checkPeer: Check = (_value, at, { podSelector, namespaceSelector, ipBlock }) => {
  const hasSelector = !isAbsent(podSelector) || !isAbsent(namespaceSelector)
  if (isAbsent(ipBlock) && !hasSelector) at.required("must specify a peer")
  if (!isAbsent(ipBlock) && hasSelector) at.forbidden("may not specify both ipBlock and another peer")
}

const checkPolicyPort: Check = (value, at) => {
  if (typeof value === "string") at.complain(value, names.portNameComplaints(value))
  else if (typeof value === "number") at.complain(value, names.portComplaints(value))
}

export const types: RulesByType = {
  "networking/v1.IngressSpec": { checks: { self: checkBackends } },
  "networking/v1.IngressTLS": { checks: { hosts: each(host) } },
  "networking/v1.HTTPIngressPath": { checks: { pathType: needed("pathType must be specified"), self: checkPath } },
  "networking/v1.IngressBackend": { checks: { self: checkBackend } },
  "networking/v1.NetworkPolicySpec": {
    derive: (spec) => {
      if (list(spec, "policyTypes").length === 0) spec.policyTypes = policyTypesOf(list(spec, "egress"))
    },
    checks: { policyTypes: each(choice("Egress", "Ingress")) },
  },
  "networking/v1.NetworkPolicyPort": { checks: { port: checkPolicyPort } },
  "networking/v1.NetworkPolicyPeer": { checks: { self: checkPeer } },
  "core/v1.ServiceSpec": {
    derive: deriveSpec,
    checks: { self: [checkPorts, checkByType], ports: namedAmongOthers },
  },
  "core/v1.ServicePort": {
    derive: (entry) => {
      if (isZero(entry.targetPort)) entry.targetPort = number(entry, "port") ?? 0
    },
  },
  "core/v1.EndpointSubset": { checks: { ports: namedAmongOthers } },
  "discovery/v1.Endpoint": { checks: { addresses: needed("must contain at least 1 address") } },
}

export const kinds: Readonly<Record<string, Kind>> = {
  "/Service": {
    name: names.hostLabelComplaints,
    prepare,
    // Whatever the client sends; its owner stays the same.
    settle: (object, _old, subresource) => {
      const spec = child(object, "spec")
      if (subresource !== "status" && spec !== undefined && !needsClusterIp(spec)) delete spec.internalTrafficPolicy
    },
    checkChange: checkServiceChange,
  },
  "discovery.k8s.io/EndpointSlice": { prepare: emptyIsNone("endpoints", "ports") },
}
