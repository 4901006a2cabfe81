/**
 * What one object counts for in a ResourceQuota (pkg/quota/v1/evaluator/core, Kubernetes 1.34.4): by its kind, and for Pods, Services and
 * claims by what they ask for. Pure.
 */

import { qualifiedName, type Resource } from "../../../apiserver/kinds/resources.ts"
import { formatGvk } from "../../../kube/gvk.ts"
import { quantityOf } from "../../../kube/quantity.ts"
import { child, isAbsent, items, list, text } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { type Amounts, limitsOfPod, requestsOfPod } from "./pod-amounts.ts"

/** Kinds that have a name of their own in quotas besides `count/…`. */
const named = new Set(["configmaps", "secrets", "services", "replicationcontrollers", "resourcequotas", "pods"])

/** By the names that `spec.hard` uses. */
export const usageOf = (resource: Resource, object: MutableObject): Amounts => {
  const counts: Record<string, unknown> = { [`count/${qualifiedName(resource)}`]: "1" }
  if (resource.gvk.group !== "") return counts
  if (named.has(resource.plural)) counts[resource.plural] = "1"
  switch (formatGvk(resource.gvk)) {
    case "v1.Pod":
      return { ...counts, ...usageOfPod(object) }
    case "v1.Service":
      return { ...counts, ...usageOfService(child(object, "spec")) }
    case "v1.PersistentVolumeClaim":
      return { ...counts, ...usageOfClaim(child(object, "spec")) }
    default:
      return counts
  }
}

/** Resources whose requests may be named without `requests.`. */
const plain = new Set(["cpu", "memory", "ephemeral-storage"])

/** A finished Pod uses nothing, but counts as an object. */
const usageOfPod = (pod: MutableObject): Amounts => {
  const phase = text(child(pod, "status"), "phase")
  if (phase === "Succeeded" || phase === "Failed") return { pods: "0" }
  const spec = child(pod, "spec")
  const usage: Record<string, unknown> = {}
  for (const [name, amount] of Object.entries(requestsOfPod(spec))) {
    if (plain.has(name) || name.startsWith("hugepages-")) usage[name] = amount
    usage[`requests.${name}`] = amount
  }
  for (const [name, amount] of Object.entries(limitsOfPod(spec))) if (plain.has(name)) usage[`limits.${name}`] = amount
  return usage
}

const usageOfService = (spec: Fields | undefined): Amounts => {
  const type = text(spec, "type")
  const ports = list(spec, "ports").length
  if (type === "NodePort") return { "services.nodeports": String(ports), "services.loadbalancers": "0" }
  if (type !== "LoadBalancer") return { "services.nodeports": "0", "services.loadbalancers": "0" }
  const nodePorts =
    spec?.allocateLoadBalancerNodePorts === false
      ? items(spec, "ports").filter(({ nodePort }) => !isAbsent(nodePort) && nodePort !== 0).length
      : ports
  return { "services.nodeports": String(nodePorts), "services.loadbalancers": "1" }
}

const usageOfClaim = (spec: Fields | undefined): Amounts => {
  const storage = child(child(spec, "resources"), "requests")?.storage ?? "0"
  const storageClass = text(spec, "storageClassName")
  const prefix = `${storageClass}.storageclass.storage.k8s.io`
  return {
    persistentvolumeclaims: "1",
    "requests.storage": storage,
    ...(storageClass !== "" && { [`${prefix}/requests.storage`]: storage, [`${prefix}/persistentvolumeclaims`]: "1" }),
  }
}

/** What each container of a Pod has to name because a quota limits it: by resource, the containers that do not. */
export const unnamedBy = (pod: MutableObject, hard: Amounts): ReadonlyMap<string, ReadonlyArray<string>> => {
  const spec = child(pod, "spec")
  const missing = new Map<string, ReadonlyArray<string>>()
  for (const limited of Object.keys(hard).sort()) {
    const [, member = "requests", name = ""] = /^(?:(requests|limits)\.)?(cpu|memory)$/.exec(limited) ?? []
    if (name === "") continue
    const silent = [...items(spec, "containers"), ...items(spec, "initContainers")]
      .filter((container) => child(child(container, "resources"), member)?.[name] === undefined)
      .map((container) => text(container, "name"))
    if (silent.length > 0) missing.set(limited, silent.sort())
  }
  return missing
}

/** Whether a quota with scopes is about an object; one without is about all. Other kinds than Pods match no scope. */
export const isInScope = (quota: Fields | undefined, resource: Resource, object: MutableObject): boolean => {
  const requirements = [
    ...list(quota, "scopes").map((scope): Fields => ({ scopeName: scope, operator: "Exists" })),
    ...items(child(quota, "scopeSelector"), "matchExpressions"),
  ]
  if (requirements.length === 0) return true
  return formatGvk(resource.gvk) === "v1.Pod" && requirements.every((requirement) => matchesScope(requirement, object))
}

const matchesScope = (requirement: Fields, pod: MutableObject): boolean => {
  const spec = child(pod, "spec")
  switch (requirement.scopeName) {
    case "Terminating":
      return !isAbsent(spec?.activeDeadlineSeconds)
    case "NotTerminating":
      return isAbsent(spec?.activeDeadlineSeconds)
    case "BestEffort":
      return isBestEffort(spec)
    case "NotBestEffort":
      return !isBestEffort(spec)
    case "PriorityClass":
      return matchesValue(requirement, text(spec, "priorityClassName"))
    case "CrossNamespacePodAffinity":
      return /"namespaces":\[|"namespaceSelector":/.test(JSON.stringify(spec?.affinity ?? {}))
    default:
      return false
  }
}

const matchesValue = (requirement: Fields, value: string): boolean => {
  const values = list(requirement, "values")
  switch (requirement.operator) {
    case "In":
      return values.includes(value)
    case "NotIn":
      return !values.includes(value)
    case "DoesNotExist":
      return value === ""
    default:
      return value !== ""
  }
}

const isBestEffort = (spec: Fields | undefined): boolean =>
  [...items(spec, "containers"), ...items(spec, "initContainers")].every((container) =>
    ["requests", "limits"].every((member) => {
      const { cpu, memory } = child(child(container, "resources"), member) ?? {}
      return !quantityOf(cpu) && !quantityOf(memory)
    }),
  )
