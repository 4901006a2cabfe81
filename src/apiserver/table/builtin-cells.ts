/**
 * Cells of nodes, Services, Events, quotas and volumes, by the names that `columns.json` has for them
 * (kubernetes/pkg/printers/internalversion, 1.34.4).
 */

import { entries, list, member, number as numberIn, scalar as scalarIn, text as textIn } from "../kinds/json-member.ts"
import { type Column, firstOf, since, texts } from "./columns.ts"

export const readyOf: Column = (object) =>
  `${numberIn(object, "status", "readyReplicas")}/${numberIn(object, "spec", "replicas")}`

// Nodes and Services.

export const nodeStatus: Column = (node) => {
  const ready = list(node, "status", "conditions").findLast((condition) => textIn(condition, "type") === "Ready")
  const status = ready === undefined ? "Unknown" : textIn(ready, "status") === "True" ? "Ready" : "NotReady"
  return member(node, "spec", "unschedulable") === true ? `${status},SchedulingDisabled` : status
}

const rolePrefix = "node-role.kubernetes.io/"

export const nodeRoles: Column = (node) => {
  const roles = new Set<string>()
  for (const [key, value] of entries(node, "metadata", "labels")) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length))
    else if (key === "kubernetes.io/role") roles.add(String(value))
  }
  roles.delete("")
  return [...roles].sort().join(",") || "<none>"
}

const nodeAddress =
  (type: string): Column =>
  (node) => {
    const address = list(node, "status", "addresses").find((candidate) => textIn(candidate, "type") === type)
    return address === undefined ? "<none>" : textIn(address, "address")
  }

export const internalAddress = nodeAddress("InternalIP")
export const outsideAddress = nodeAddress("ExternalIP")

export const clusterAddress: Column = (service) => {
  const address = list(service, "spec", "clusterIPs")[0] ?? member(service, "spec", "clusterIP")
  return typeof address === "string" && address !== "" ? address : "<none>"
}

const balancedAddresses = (object: unknown): ReadonlyArray<string> => {
  const ingress = list(object, "status", "loadBalancer", "ingress")
  const addresses = new Set(ingress.map((entry) => textIn(entry, "ip") || textIn(entry, "hostname")))
  return [...addresses].filter((address) => address !== "").sort()
}

export const externalAddress: Column = (service) => {
  const given = list(service, "spec", "externalIPs").map(String)
  switch (textIn(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return given.join(",") || "<none>"
    case "LoadBalancer":
      return [...balancedAddresses(service), ...given].join(",") || "<pending>"
    case "ExternalName":
      return textIn(service, "spec", "externalName")
    default:
      return "<unknown>"
  }
}

export const servicePorts: Column = (service) => {
  const ports = list(service, "spec", "ports").map((port) => {
    const nodePort = numberIn(port, "nodePort")
    return `${numberIn(port, "port")}${nodePort > 0 ? `:${nodePort}` : ""}/${textIn(port, "protocol")}`
  })
  return ports.join(",") || "<none>"
}

export const endpointsText: Column = (object) => {
  const subsets = list(object, "subsets")
  if (subsets.length === 0) return "<none>"
  const addresses = subsets.flatMap((subset) => {
    const hosts = texts(list(subset, "addresses"), "ip")
    const ports = list(subset, "ports")
    // Headless services may have no ports.
    if (ports.length === 0) return hosts
    return ports.flatMap((port) => hosts.map((host) => hostAndPort(host, numberIn(port, "port"))))
  })
  return firstOf(addresses)
}

const hostAndPort = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

export const slicePorts: Column = (slice) =>
  firstOf(list(slice, "ports").map((port) => scalarIn(port, "port") ?? textIn(port, "name"))) || "<unset>"

export const sliceAddresses: Column = (slice) =>
  firstOf(list(slice, "endpoints").flatMap((endpoint) => list(endpoint, "addresses").map(String))) || "<unset>"

/** The server counts rules beyond the third, with a host or without. */
export const ingressHosts: Column = (ingress) => {
  const rules = list(ingress, "spec", "rules")
  const hosts = texts(rules, "host").filter((host) => host !== "")
  return firstOf(hosts, rules.length) || "*"
}

export const ingressAddresses: Column = (ingress) => balancedAddresses(ingress).join(",")
export const ingressPorts: Column = (ingress) => (list(ingress, "spec", "tls").length === 0 ? "80" : "80, 443")
export const ranges: Column = (object) => list(object, "spec", "cidrs").join(",")

export const classParameters: Column = (ingressClass) => {
  const parameters = member(ingressClass, "spec", "parameters")
  const group = textIn(parameters, "apiGroup")
  const kind = `${textIn(parameters, "kind")}${group === "" ? "" : `.${group}`}`
  return parameters === undefined ? "<none>" : `${kind}/${textIn(parameters, "name")}`
}

export const addressParent: Column = (address) => {
  const parent = member(address, "spec", "parentRef")
  if (parent === undefined) return "<none>"
  const group = textIn(parent, "group")
  const resource = `${textIn(parent, "resource")}${group === "" ? "" : `.${group}`}`
  return [resource, textIn(parent, "namespace"), textIn(parent, "name")].filter((part) => part !== "").join("/")
}

// Events and quotas.

export const firstSeen: Column = (event, now) =>
  since(member(event, "firstTimestamp") ?? member(event, "eventTime"), now)

export const lastSeen: Column = (event, now) => {
  const series = member(event, "series")
  if (series !== undefined) return since(member(series, "lastObservedTime"), now)
  const last = member(event, "lastTimestamp")
  return last === undefined ? firstSeen(event, now) : since(last, now)
}

export const eventObject: Column = (event) => {
  const kind = textIn(event, "involvedObject", "kind").toLowerCase()
  const involved = textIn(event, "involvedObject", "name")
  return involved === "" ? kind : `${kind}/${involved}`
}

export const eventSource: Column = (event) => {
  const component = textIn(event, "source", "component") || textIn(event, "reportingComponent")
  const instance = textIn(event, "source", "host") || textIn(event, "reportingInstance")
  return instance === "" ? component : `${component}, ${instance}`
}

export const eventCount: Column = (event) =>
  member(event, "series") === undefined ? numberIn(event, "count") || 1 : numberIn(event, "series", "count")

export const eventMessage: Column = (event) => textIn(event, "message").trim()

export const dataCount: Column = (object) => entries(object, "data").length + entries(object, "binaryData").length

/** Limits, or everything else. */
const quotaUsage =
  (limits: boolean): Column =>
  (quota) =>
    entries(quota, "status", "hard")
      .map(([resource]) => resource)
      .filter((resource) => resource.startsWith("limits.") === limits)
      .sort()
      .map((resource) => {
        const [used, hard] = ["used", "hard"].map((side) => scalarIn(quota, "status", side, resource) ?? "0")
        return `${resource}: ${used}/${hard}`
      })
      .join(", ")

export const quotaRequests = quotaUsage(false)
export const quotaLimits = quotaUsage(true)

// Storage.

const shortModes = { ReadWriteOnce: "RWO", ReadOnlyMany: "ROX", ReadWriteMany: "RWX", ReadWriteOncePod: "RWOP" }

/** In this order, whatever the input's order. */
const modesText = (modes: ReadonlyArray<unknown>): string =>
  Object.entries(shortModes)
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",")

/** The annotation that predates the field still counts and takes precedence. */
export const storageClass: Column = (object) =>
  scalarIn(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class") ??
  textIn(object, "spec", "storageClassName")

export const volumePhase: Column = (object) =>
  member(object, "metadata", "deletionTimestamp") === undefined ? textIn(object, "status", "phase") : "Terminating"

export const volumeClaim: Column = (volume) => {
  const claim = member(volume, "spec", "claimRef")
  return claim === undefined ? "" : `${textIn(claim, "namespace")}/${textIn(claim, "name")}`
}

/** Of a claim that has a volume. */
const ifBound =
  (shown: (claim: unknown) => string): Column =>
  (claim) =>
    textIn(claim, "spec", "volumeName") === "" ? "" : shown(claim)

export const volumeModes: Column = (volume) => modesText(list(volume, "spec", "accessModes"))
export const claimModes = ifBound((claim) => modesText(list(claim, "status", "accessModes")))
export const claimCapacity = ifBound((claim) => scalarIn(claim, "status", "capacity", "storage") ?? "0")

const defaultClass = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]

export const className: Column = (object) => {
  const isDefault = defaultClass.some((key) => textIn(object, "metadata", "annotations", key) === "true")
  return `${textIn(object, "metadata", "name")}${isDefault ? " (default)" : ""}`
}

export const tokenAudiences: Column = (driver) =>
  member(driver, "spec", "tokenRequests") === undefined
    ? "<unset>"
    : texts(list(driver, "spec", "tokenRequests"), "audience").join(",")

export const isAttachable: Column = (driver) => member(driver, "spec", "attachRequired") !== false

export const lifecycleModes: Column = (driver) =>
  list(driver, "spec", "volumeLifecycleModes").map(String).join(",") || "<none>"
