/** The rows of the core group's other kinds: nodes, networking, configuration, events, quotas. */

import { entries, list, member, number, scalar, text } from "../../kinds/json-member.ts"
import { ageOf, since } from "./age.ts"
import type { Cells } from "./printer.ts"
import { formatLabels, orElse } from "./selector-text.ts"

const nameOf = (object: unknown): string => text(object, "metadata", "name")

export const namespaceCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "status", "phase"),
  ageOf(object, now),
]

export const configMapCells: Cells = (object, now) => [
  nameOf(object),
  entries(object, "data").length + entries(object, "binaryData").length,
  ageOf(object, now),
]

export const secretCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "type"),
  entries(object, "data").length,
  ageOf(object, now),
]

export const serviceAccountCells: Cells = (object, now) => [
  nameOf(object),
  list(object, "secrets").length,
  ageOf(object, now),
]

export const nodeCells: Cells = (object, now) => {
  const ready = list(object, "status", "conditions").findLast((condition) => text(condition, "type") === "Ready")
  const status = ready === undefined ? "Unknown" : text(ready, "status") === "True" ? "Ready" : "NotReady"
  const unschedulable = member(object, "spec", "unschedulable") === true
  return [
    nameOf(object),
    unschedulable ? `${status},SchedulingDisabled` : status,
    orElse(nodeRoles(object).join(","), "<none>"),
    ageOf(object, now),
    text(object, "status", "nodeInfo", "kubeletVersion"),
    nodeAddress(object, "InternalIP"),
    nodeAddress(object, "ExternalIP"),
    orElse(text(object, "status", "nodeInfo", "osImage"), "<unknown>"),
    orElse(text(object, "status", "nodeInfo", "kernelVersion"), "<unknown>"),
    orElse(text(object, "status", "nodeInfo", "containerRuntimeVersion"), "<unknown>"),
  ]
}

const rolePrefix = "node-role.kubernetes.io/"

const nodeRoles = (node: unknown): ReadonlyArray<string> => {
  const roles = new Set<string>()
  for (const [key, value] of entries(node, "metadata", "labels")) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length))
    else if (key === "kubernetes.io/role") roles.add(String(value))
  }
  roles.delete("")
  return [...roles].sort()
}

const nodeAddress = (node: unknown, type: string): string => {
  const address = list(node, "status", "addresses").find((candidate) => text(candidate, "type") === type)
  return address === undefined ? "<none>" : text(address, "address")
}

export const serviceCells: Cells = (object, now) => {
  const clusterAddress = list(object, "spec", "clusterIPs")[0] ?? member(object, "spec", "clusterIP")
  return [
    nameOf(object),
    text(object, "spec", "type"),
    typeof clusterAddress === "string" && clusterAddress !== "" ? clusterAddress : "<none>",
    externalAddress(object),
    orElse(list(object, "spec", "ports").map(portText).join(","), "<none>"),
    ageOf(object, now),
    formatLabels(member(object, "spec", "selector")),
  ]
}

const externalAddress = (service: unknown): string => {
  const given = list(service, "spec", "externalIPs").map(String)
  switch (text(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return orElse(given.join(","), "<none>")
    case "LoadBalancer": {
      const ingress = list(service, "status", "loadBalancer", "ingress")
      const balanced = ingress.map((entry) => orElse(text(entry, "ip"), text(entry, "hostname")))
      const addresses = [...new Set(balanced)].filter((address) => address !== "").sort()
      return orElse([...addresses, ...given].join(","), "<pending>")
    }
    case "ExternalName":
      return text(service, "spec", "externalName")
    default:
      return "<unknown>"
  }
}

const portText = (port: unknown): string => {
  const nodePort = number(port, "nodePort")
  const outside = nodePort > 0 ? `:${nodePort}` : ""
  return `${number(port, "port")}${outside}/${text(port, "protocol")}`
}

export const endpointsCells: Cells = (object, now) => [nameOf(object), endpointsText(object), ageOf(object, now)]

/** The number of addresses that are listed one by one. */
const shownAddresses = 3

const endpointsText = (object: unknown): string => {
  const subsets = list(object, "subsets")
  if (subsets.length === 0) return "<none>"
  const addresses = subsets.flatMap((subset) => {
    const hosts = list(subset, "addresses").map((address) => text(address, "ip"))
    const ports = list(subset, "ports")
    // Headless services may have no ports.
    if (ports.length === 0) return hosts
    return ports.flatMap((port) => hosts.map((host) => hostAndPort(host, number(port, "port"))))
  })
  const shown = addresses.slice(0, shownAddresses).join(",")
  const more = addresses.length - shownAddresses
  return more > 0 ? `${shown} + ${more} more...` : shown
}

const hostAndPort = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

export const eventCells: Cells = (object, now) => {
  const series = member(object, "series")
  const firstSeen = since(member(object, "firstTimestamp") ?? member(object, "eventTime"), now)
  const lastTimestamp = member(object, "lastTimestamp")
  const lastSeen = lastTimestamp === undefined ? firstSeen : since(lastTimestamp, now)
  const kind = text(object, "involvedObject", "kind").toLowerCase()
  const name = text(object, "involvedObject", "name")
  const count = number(object, "count")
  return [
    series === undefined ? lastSeen : since(member(series, "lastObservedTime"), now),
    text(object, "type"),
    text(object, "reason"),
    name === "" ? kind : `${kind}/${name}`,
    text(object, "involvedObject", "fieldPath"),
    eventSource(object),
    text(object, "message").trim(),
    firstSeen,
    series === undefined ? count || 1 : number(series, "count"),
    nameOf(object),
  ]
}

const eventSource = (event: unknown): string => {
  const component = orElse(text(event, "source", "component"), text(event, "reportingComponent"))
  const instance = orElse(text(event, "source", "host"), text(event, "reportingInstance"))
  return instance === "" ? component : `${component}, ${instance}`
}

export const resourceQuotaCells: Cells = (object, now) => {
  const usage = entries(object, "status", "hard")
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name]) => {
      const used = scalar(object, "status", "used", name) ?? "0"
      return { name, text: `${name}: ${used}/${scalar(object, "status", "hard", name) ?? "0"}` }
    })
  const isLimit = ({ name }: { readonly name: string }): boolean => name.startsWith("limits.")
  const column = (limits: boolean): string =>
    usage
      .filter((entry) => isLimit(entry) === limits)
      .map((entry) => entry.text)
      .join(", ")
  return [nameOf(object), column(false), column(true), ageOf(object, now)]
}
