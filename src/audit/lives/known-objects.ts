/**
 * The objects that exist as far as the log says, by resource, namespace and name. Their states are elsewhere, so that memory is some 300 bytes an
 * object.
 */
import type { AuditedResource } from "../shapes/audited-write.ts"

/** Where a state is kept. */
export interface KeptState {
  readonly start: number
  readonly length: number
}

/** An object that exists. */
export interface KnownObject {
  /** `apps/v1.Deployment`: the version in which the log first had it. */
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  /** Empty: the log did not have it when the object came. It stays the same for the life of the object. */
  readonly uid: string
  resourceVersion: string
  state: KeptState
  /** Whether it was asked to be deleted, which its state need not say. */
  isPending: boolean
}

/** Of the objects that were deleted last, the UIDs are remembered: their late entries must not bring them back. */
const mostRemembered = 20_000

export class KnownObjects {
  /** By `group/resource namespace`, then by name. */
  readonly #collections = new Map<string, Map<string, KnownObject>>()
  /** In the order of their deletion. */
  readonly #deleted = new Set<string>()

  get({ group, resource }: AuditedResource, namespace: string, name: string): KnownObject | undefined {
    return this.#collections.get(keyOf(group, resource, namespace))?.get(name)
  }

  add({ group, resource }: AuditedResource, object: KnownObject): void {
    const key = keyOf(group, resource, object.namespace)
    const collection = this.#collections.get(key) ?? new Map<string, KnownObject>()
    if (collection.size === 0) this.#collections.set(key, collection)
    collection.set(object.name, object)
  }

  remove({ group, resource }: AuditedResource, { namespace, name, uid }: KnownObject): void {
    const key = keyOf(group, resource, namespace)
    const collection = this.#collections.get(key)
    collection?.delete(name)
    if (collection?.size === 0) this.#collections.delete(key)
    if (uid !== "") this.remember(uid)
  }

  /** Remembers that an object was deleted, also one that was never here. */
  remember(uid: string): void {
    this.#deleted.add(uid)
    if (this.#deleted.size <= mostRemembered) return
    for (const first of this.#deleted) {
      this.#deleted.delete(first)
      break
    }
  }

  wasDeleted(uid: string): boolean {
    return this.#deleted.has(uid)
  }

  /** The objects of a resource in a namespace; in all of them if it is empty. */
  in({ group, resource }: AuditedResource, namespace: string): ReadonlyArray<KnownObject> {
    if (namespace !== "") return [...(this.#collections.get(keyOf(group, resource, namespace))?.values() ?? [])]
    const prefix = keyOf(group, resource, "")
    return [...this.#collections].flatMap(([key, objects]) => (key.startsWith(prefix) ? [...objects.values()] : []))
  }
}

const keyOf = (group: string, resource: string, namespace: string): string => `${group}/${resource} ${namespace}`
