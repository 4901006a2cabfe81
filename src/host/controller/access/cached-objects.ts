/**
 * The objects of one kind that a controller watches, read from memory.
 *
 * Guaranteed: reads are synchronous and cost no request; they see every own write that has been accepted, and the cluster as of the last event that has
 * arrived, which may be a moment ago. Objects are read-only: writing to one throws. To change one, copy it (`structuredClone`, or `{ ...object }`).
 */
import type { ApiObject, ObjectBase } from "../../../kube/index.ts"
import { type LabelSelectorObject, matchesLabels, parseLabelSelector, requirementsOf } from "../../../kube/offline.ts"
import { type IndexName, type ObjectCache, objectKey } from "../../cache/object-cache.ts"

/** The name of an object; no namespace for a cluster-scoped one. */
export interface ObjectName {
  readonly namespace?: string | undefined
  readonly name: string
}

export interface CachedListOptions {
  /** Default: all that are watched. */
  readonly namespace?: string | undefined
  /** As text (`app=web,!canary`) or as in a spec (`{ matchLabels }`). Default: all. */
  readonly labelSelector?: string | LabelSelectorObject | undefined
}

export class CachedObjects<T extends ObjectBase = ApiObject> {
  readonly #caches: ReadonlyArray<ObjectCache<T>>
  readonly #indexes: ReadonlyMap<string, IndexName>

  /**
   * `caches`: one for each selection of the kind by the controller; usually there is one. `indexes`: what the controller's indexes are called in
   * the caches, which other controllers share.
   */
  constructor(caches: ReadonlyArray<ObjectCache<T>>, indexes: ReadonlyMap<string, IndexName>) {
    this.#caches = caches
    this.#indexes = indexes
  }

  /** By `namespace/name` (or the bare name of a cluster-scoped object), or by its parts. */
  get(name: string | ObjectName): T | undefined {
    const key = typeof name === "string" ? name : objectKey(name.namespace, name.name)
    for (const cache of this.#caches) {
      const object = cache.byKey(key)
      if (object !== undefined) return frozen(object)
    }
    return undefined
  }

  /** In no particular order. Throws RangeError for a selector that is none. */
  list({ namespace, labelSelector }: CachedListOptions = {}): ReadonlyArray<T> {
    const objects = this.#collect((cache) => (namespace === undefined ? cache.all() : cache.inNamespace(namespace)))
    if (labelSelector === undefined) return objects
    const selector =
      typeof labelSelector === "string" ? parseLabelSelector(labelSelector) : requirementsOf(labelSelector)
    if ("problem" in selector)
      throw new RangeError(`label selector ${JSON.stringify(labelSelector)}: ${selector.problem}`)
    return objects.filter(({ metadata }) => matchesLabels(selector, metadata.labels))
  }

  /** Those whose controlling owner reference names this object, by its UID. */
  ownedBy(owner: ObjectBase): ReadonlyArray<T> {
    return this.#collect((cache) => cache.controlledBy(owner.metadata.uid))
  }

  /** Those that have the value in an index of the controller (`indexes` of its definition). Throws RangeError for an unknown index. */
  byIndex(index: string, value: string): ReadonlyArray<T> {
    const name = this.#indexes.get(index)
    if (name === undefined || !this.#caches.some((cache) => cache.hasIndex(name)))
      throw new RangeError(`no index ${JSON.stringify(index)} is defined for this kind`)
    return this.#collect((cache) => cache.byIndex(name, value))
  }

  #collect(from: (cache: ObjectCache<T>) => Iterable<T>): ReadonlyArray<T> {
    const [only, second] = this.#caches
    if (only !== undefined && second === undefined) return Array.from(from(only), frozen)
    const byUid = new Map<string | undefined, T>()
    for (const cache of this.#caches) for (const object of from(cache)) byUid.set(object.metadata.uid, frozen(object))
    return [...byUid.values()]
  }
}

/**
 * Freezes a JSON value and everything in it; returns it. The cache is shared by all controllers of the process. An object is frozen when it is first
 * handed out, not when it arrives: most versions of most objects are never read. Writing to it then throws a TypeError. Free for one that is frozen.
 */
export const frozen = <T>(value: T): T => {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    // Whatever is frozen was frozen here, with its members.
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue
    Object.freeze(next)
    for (const member of Object.values(next)) open.push(member)
  }
  return value
}
