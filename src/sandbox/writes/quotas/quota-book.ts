/**
 * ResourceQuotas: what is used of each, and the refusal of what would exceed one, in the words of Kubernetes 1.34.4. A quota counts from
 * the change that creates it, not some seconds later; its `status` follows in the server's next timer.
 *
 * A namespace without quotas costs one look-up for each change. In one with quotas every object that comes, changes or goes is read once.
 */

import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { type Change, type ChangeRecord, keyOf } from "../../../apiserver/watch/change.ts"
import { isRecord } from "../../../is-record.ts"
import { formatGvk } from "../../../kube/gvk.ts"
import { canonicalQuantity, quantityOf } from "../../../kube/quantity.ts"
import { child, isSame, text } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import type { Collection } from "../../store/collection.ts"
import type { ObjectStore } from "../../store/object-store.ts"
import { stateOf } from "../answer.ts"
import { refuse } from "../refusal.ts"
import { forbiddenObject } from "../write-failures.ts"
import { type Amounts, difference, sum } from "./pod-amounts.ts"
import { isInScope, unnamedBy, usageOf } from "./quota-usage.ts"

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
    const hard = (isRecord(spec?.hard) ? spec.hard : {}) as Amounts
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
