/**
 * ResourceQuotas: what is used of each, and the refusal of what would exceed one, in the words of Kubernetes 1.34.4. A
 * quota counts from the change that creates it, not some seconds later; its `status` follows in the server's next
 * timer.
 *
 * A namespace without quotas costs one look-up for each change. In one with quotas every object that comes, changes or
 * goes is read once.
 */
import { type Change, type ChangeRecord, keyOf, qualifiedName, type Resource } from "../../apiserver/index.ts"
import { canonicalQuantity, formatGvk, quantityOf, thousandths } from "../../kube/offline.ts"
import { child, isAbsent, isSame, items, list, text } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import type { Collection } from "../store/collection.ts"
import { stateOf } from "../store/object-encoding.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { refuse } from "../store/refusal.ts"
import { forbiddenObject } from "./request/write-failures.ts"

const quotaKind = "v1.ResourceQuota"

interface Quota {
  readonly name: string
  readonly spec: Fields | undefined
  readonly hard: Amounts
  /** Of the resources that `hard` names. */
  used: Record<string, unknown>
}

/** The status that a quota should have. */
interface QuotaStatus {
  readonly hard: Amounts
  readonly used: Amounts
}

/** The quotas of a store. Its figures follow each change of the store at once. */
export class QuotaBook {
  readonly #store: ObjectStore
  /** By namespace, then by name. */
  readonly #quotas = new Map<string, Map<string, Quota>>()
  #onChange: (key: string) => void = () => undefined

  constructor(store: ObjectStore) {
    this.#store = store
    store.observe((collection, record) => this.#observe(collection, record))
    this.rebuild()
  }

  /** Calls the listener with the key of each quota whose status may have changed from now on. There is one listener. */
  onChange(listener: (key: string) => void): void {
    this.#onChange = listener
  }

  /** Reads everything anew, after the store's history has been replaced. */
  rebuild(): void {
    this.#quotas.clear()
    for (const { change } of this.#store.collection(quotaKind).live.values()) this.#open(change)
  }

  /** `undefined` for a quota that is gone. */
  statusOf(namespace: string, name: string): QuotaStatus | undefined {
    const quota = this.#quotas.get(namespace)?.get(name)
    return quota && { hard: quota.hard, used: quota.used }
  }

  /** Throws Refusal: 403 if the object, or what it is changed to, exceeds a quota of its namespace. */
  confirm(resource: Resource, object: MutableObject, old: MutableObject | undefined): void {
    const quotas = this.#quotas.get(text(object.metadata, "namespace"))
    if (quotas === undefined || !resource.namespaced) return
    const isPod = formatGvk(resource.gvk) === "v1.Pod"
    // A client can change nothing of an existing Pod that a quota counts.
    if (isPod && old !== undefined) return
    for (const quota of quotas.values()) {
      if (!isInScope(quota.spec, resource, object)) continue
      if (isPod) refuseUnnamed(resource, object, quota)
      this.#refuseExcess(resource, object, old, quota)
    }
  }

  #refuseExcess(resource: Resource, object: MutableObject, old: MutableObject | undefined, quota: Quota): void {
    const next = usageOf(resource, object)
    const before = old === undefined ? {} : usageOf(resource, old)
    const requested: Array<readonly [string, unknown]> = []
    for (const [name, amount] of Object.entries(next).sort(byName)) {
      const [limit, used] = [quota.hard[name], quota.used[name]]
      if (limit === undefined) continue
      const more = old === undefined ? amount : difference(amount, before[name] ?? "0")
      const total = (quantityOf(used) ?? 0) + (quantityOf(more) ?? 0)
      if ((quantityOf(more) ?? 0) > 0 && total > (quantityOf(limit) ?? 0)) requested.push([name, more])
    }
    if (requested.length === 0) return
    const listed = (amountOf: (name: string, more: unknown) => unknown): string =>
      requested.map(([name, more]) => `${name}=${canonicalQuantity(amountOf(name, more))}`).join(",")
    const problem =
      `exceeded quota: ${quota.name}, requested: ${listed((_name, more) => more)}, ` +
      `used: ${listed((name) => quota.used[name])}, limited: ${listed((name) => quota.hard[name])}`
    forbid(resource, object, problem)
  }

  #observe(collection: Collection, { change, previous }: ChangeRecord): void {
    const { resource, name: kind } = collection
    if (kind === quotaKind) this.#observeQuota(change)
    const quotas = this.#quotas.get(change.namespace)
    if (quotas === undefined || !resource.namespaced) return
    const isGone = change.type === "DELETED"
    const [before, after] = [previous && stateOf(previous), isGone ? undefined : stateOf(change)]
    for (const quota of quotas.values()) {
      // Opening it has just counted everything in the namespace.
      if (kind === quotaKind && !isGone && quota.name === change.name) continue
      const used = { ...quota.used }
      if (before !== undefined && isInScope(quota.spec, resource, before))
        count(used, usageOf(resource, before), difference)
      if (after !== undefined && isInScope(quota.spec, resource, after)) count(used, usageOf(resource, after), sum)
      if (isSame(used, quota.used)) continue
      quota.used = used
      this.#onChange(keyOf(change.namespace, quota.name))
    }
  }

  #observeQuota(change: Change): void {
    if (change.type !== "DELETED") {
      const known = this.#quotas.get(change.namespace)?.get(change.name)
      if (known !== undefined && isSame(known.spec, child(stateOf(change), "spec"))) return
      this.#open(change)
      return
    }
    const quotas = this.#quotas.get(change.namespace)
    quotas?.delete(change.name)
    if (quotas?.size === 0) this.#quotas.delete(change.namespace)
  }

  /** Counts everything in the namespace for a new quota, or one whose spec has changed. */
  #open(change: Change): void {
    const { namespace, name } = change
    const spec = child(stateOf(change), "spec")
    const hard: Amounts = child(spec, "hard") ?? {}
    const used = Object.fromEntries(Object.keys(hard).map((resource) => [resource, "0"]))
    for (const { resource, live } of this.#store.collections()) {
      if (!resource.namespaced) continue
      for (const { change: other } of live.values()) {
        if (other.namespace !== namespace) continue
        const object = stateOf(other)
        if (isInScope(spec, resource, object)) count(used, usageOf(resource, object), sum)
      }
    }
    const quotas = this.#quotas.get(namespace) ?? new Map<string, Quota>()
    this.#quotas.set(namespace, quotas.set(name, { name, spec, hard, used }))
    this.#onChange(keyOf(namespace, name))
  }
}

/** Adds or takes away what an object counts for, of the resources that are counted. */
const count = (used: Record<string, unknown>, usage: Amounts, combine: typeof sum): void => {
  for (const [name, amount] of Object.entries(usage))
    if (used[name] !== undefined) used[name] = combine(used[name], amount)
}

const byName = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number =>
  left < right ? -1 : 1

const refuseUnnamed = (resource: Resource, pod: MutableObject, quota: Quota): void => {
  const missing = unnamedBy(pod, quota.hard)
  if (missing.size === 0) return
  const said = Array.from(missing, ([name, containers]) => `${name} for: ${containers.join(",")}`).join("; ")
  forbid(resource, pod, `failed quota: ${quota.name}: must specify ${said}`)
}

const forbid = (resource: Resource, { metadata }: MutableObject, problem: string): never =>
  refuse(forbiddenObject(resource, text(metadata, "name"), problem))

// What one object counts for in a ResourceQuota (pkg/quota/v1/evaluator/core, Kubernetes 1.34.4): by its kind, and for
// Pods, Services and claims by what they ask for. Pure.

/** Kinds that have a name of their own in quotas besides `count/…`. */
const named = new Set(["configmaps", "secrets", "services", "replicationcontrollers", "resourcequotas", "pods"])

/** By the names that `spec.hard` uses. */
const usageOf = (resource: Resource, object: MutableObject): Amounts => {
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
const unnamedBy = (pod: MutableObject, hard: Amounts): ReadonlyMap<string, ReadonlyArray<string>> => {
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
const isInScope = (quota: Fields | undefined, resource: Resource, object: MutableObject): boolean => {
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

// What a Pod requests and may use in all, resource by resource (component-helpers resource.PodRequests, PodLimits).

/** Quantities by the names of their resources. */
export type Amounts = Readonly<Record<string, unknown>>

/** The requests of a Pod by its `spec`. */
export const requestsOfPod = (spec: Fields | undefined): Amounts => total(spec, "requests")

/** The limits of a Pod by its `spec`. */
export const limitsOfPod = (spec: Fields | undefined): Amounts => total(spec, "limits")

/**
 * Containers and sidecars together, or the largest init container with the sidecars started before it, whichever is
 * more; plus the overhead, which is added to limits only where there are some.
 */
const total = (spec: Fields | undefined, member: "requests" | "limits"): Amounts => {
  const amountsOf = (container: Fields): Amounts => child(child(container, "resources"), member) ?? {}
  let sidecars: Amounts = {}
  let starting: Amounts = {}
  for (const container of items(spec, "initContainers")) {
    const amounts = amountsOf(container)
    if (container.restartPolicy === "Always") {
      sidecars = combined(sidecars, amounts, sum)
      starting = combined(starting, sidecars, larger)
    } else starting = combined(starting, combined(sidecars, amounts, sum), larger)
  }
  const running = items(spec, "containers")
    .map(amountsOf)
    .reduce((all, one) => combined(all, one, sum), sidecars)
  const used = combined(running, starting, larger)
  const overhead = Object.entries(child(spec, "overhead") ?? {}).filter(
    ([name]) => member === "requests" || used[name] !== undefined,
  )
  return combined(used, Object.fromEntries(overhead), sum)
}

const combined = (left: Amounts, right: Amounts, combine: (left: unknown, right: unknown) => unknown): Amounts => {
  const result: Record<string, unknown> = { ...left }
  for (const [name, amount] of Object.entries(right))
    result[name] = result[name] === undefined ? amount : combine(result[name], amount)
  return result
}

const larger = (left: unknown, right: unknown): unknown =>
  (quantityOf(right) ?? 0) > (quantityOf(left) ?? 0) ? right : left

/** The sum of two quantities, written in the family of the first: `1Gi` and `512Mi` are `1536Mi`. */
const sum = (left: unknown, right: unknown): unknown => added(left, right, 1)

/** The difference of two quantities, not below 0. */
const difference = (left: unknown, right: unknown): unknown => added(left, right, -1)

const added = (left: unknown, right: unknown, sign: 1 | -1): unknown => {
  const first = quantityOf(left) === 0 ? right : left
  const isBinary = /[KMGTPE]i$/.test(String(first))
  if (!isBinary) {
    const thousands = thousandths(left) + sign * thousandths(right)
    return canonicalQuantity(`${Math.max(0, thousands)}m`)
  }
  const bytes = Math.max(0, (quantityOf(left) ?? 0) + sign * (quantityOf(right) ?? 0))
  return bytes % 1024 === 0 ? canonicalQuantity(`${bytes / 1024}Ki`) : String(bytes)
}
