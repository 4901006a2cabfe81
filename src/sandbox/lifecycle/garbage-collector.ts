/**
 * Garbage collection by ownerReferences, after the real controller: an object whose owners are all gone is deleted; an
 * object deleted in the foreground waits for the dependents that block it; one deleted with orphaning first releases
 * its dependents. References to kinds that are not served are ignored.
 *
 * Under load: each check of an object parses it once, and only objects with owners are checked, or objects with
 * dependents when they are deleted.
 */

import { type Change, type ChangeRecord, keyOf, type Owner } from "../../apiserver/index.ts"
import type { WorkQueue } from "../../host/index.ts"
import type { GroupVersionKind } from "../../kube/offline.ts"
import { items, text, texts } from "../rules/fields.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import type { Collection, LiveObject } from "../store/collection.ts"
import { stateOf } from "../store/object-encoding.ts"
import { noDeleteOptions, type Propagation } from "../writes/request/write-options.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { deleteObject, isFinalizedBySpec } from "../writes/verbs/delete.ts"
import { admitDeletion } from "../writes/webhook-points.ts"
import { deferredWork, writeAsController } from "./controller-write.ts"

// The dependents of each owner, by the owner's UID: the ownerReferences of all live objects, inverted.

/** The kind, namespace and name of an object. */
interface Reference {
  /** `apps/v1.Deployment` */
  readonly gvk: string
  readonly namespace: string
  readonly name: string
}

class Dependents {
  /** By owner, then by dependent. */
  readonly #byOwner = new Map<string, Map<string, Reference>>()
  /** By dependent: the owners it is listed under. */
  readonly #owners = new Map<string, ReadonlyArray<string>>()

  /** Replaces the owners of an object by those of its new state; returns whether there are any. */
  set(gvk: string, change: Change): boolean {
    const { uid, namespace, name, owners = [] } = change
    const known = this.#owners.get(uid)
    if (known === undefined && owners.length === 0) return false
    const wanted = owners.map((owner) => owner.uid)
    if (known !== undefined) {
      if (known.length === wanted.length && known.every((owner, index) => owner === wanted[index])) return true
      this.#forget(uid, known)
    }
    if (wanted.length === 0) return false
    this.#owners.set(uid, wanted)
    for (const owner of wanted) {
      const dependents = this.#byOwner.get(owner) ?? new Map<string, Reference>()
      this.#byOwner.set(owner, dependents.set(uid, { gvk, namespace, name }))
    }
    return true
  }

  /** Returns whether the object had owners. */
  remove({ uid }: Change): boolean {
    const known = this.#owners.get(uid)
    if (known !== undefined) this.#forget(uid, known)
    return known !== undefined
  }

  /** A copy, since the caller's writes may change the dependents. */
  of(owner: string): ReadonlyArray<Reference> {
    return [...(this.#byOwner.get(owner)?.values() ?? [])]
  }

  clear(): void {
    this.#byOwner.clear()
    this.#owners.clear()
  }

  #forget(uid: string, owners: ReadonlyArray<string>): void {
    this.#owners.delete(uid)
    for (const owner of owners) {
      const dependents = this.#byOwner.get(owner)
      dependents?.delete(uid)
      if (dependents?.size === 0) this.#byOwner.delete(owner)
    }
  }
}

const foreground = "foregroundDeletion"
const orphan = "orphan"

export class GarbageCollector {
  readonly #around: WriteSurroundings
  readonly #dependents = new Dependents()
  readonly #queue: WorkQueue
  readonly #collects: (uid: string) => boolean

  /** `collects`: which objects, by UID, it may touch. Default: all. */
  constructor(around: WriteSurroundings, collects: (uid: string) => boolean = () => true) {
    this.#around = around
    this.#collects = collects
    this.#queue = deferredWork(around, (own, key) => this.#work(own, key))
    this.rebuild()
    around.store.observe((collection, record) => this.#observe(collection, record))
  }

  close(): void {
    void this.#queue.close()
  }

  /** After the store's history has been replaced: indexes the owners again and checks every object that has any. */
  rebuild(): void {
    this.#dependents.clear()
    for (const collection of this.#around.store.collections())
      for (const { change } of collection.live.values()) {
        if (this.#dependents.set(collection.name, change)) this.#enqueue(collection.name, change)
      }
  }

  #observe(collection: Collection, { change, previous }: ChangeRecord): void {
    const gone = change.type === "DELETED"
    const owned = gone ? this.#dependents.remove(previous ?? change) : this.#dependents.set(collection.name, change)
    if (gone) for (const dependent of this.#dependents.of(change.uid)) this.#queue.add(keyOfReference(dependent))
    // An owner that waits for its dependents is checked again when one of them is deleted.
    if (gone) for (const owner of change.owners ?? []) this.#enqueueOwner(owner, change.namespace)
    if (!gone && (owned || change.terminating === true)) this.#enqueue(collection.name, change)
  }

  #enqueue(gvk: string, { namespace, name }: Change): void {
    this.#queue.add(keyOfReference({ gvk, namespace, name }))
  }

  #enqueueOwner(owner: Owner, namespace: string): void {
    const found = this.#find(owner, namespace)
    if (typeof found === "object" && found.live.change.terminating === true) {
      this.#enqueue(found.collection.name, found.live.change)
    }
  }

  /** `around`: of this attempt; webhooks may be asked about what it deletes. */
  #work(around: WriteSurroundings, key: string): void {
    const { gvk, namespace, name } = referenceOf(key)
    const { store, registry } = this.#around
    if (!registry.has(gvk)) return
    const collection = store.collection(gvk)
    const live = collection.live.get(keyOf(namespace, name))
    if (live === undefined || !this.#collects(live.change.uid)) return
    if (live.change.terminating === true) this.#finish(around, collection, live)
    else if ((live.change.owners?.length ?? 0) > 0) this.#collect(around, collection, live)
  }

  /** Continues a deletion that waits for its dependents to be deleted or orphaned. */
  #finish(around: WriteSurroundings, collection: Collection, live: LiveObject): void {
    const before = stateOf(live.change)
    const finalizers = texts(before.metadata, "finalizers")
    if (finalizers.includes(orphan)) {
      for (const dependent of this.#dependents.of(live.change.uid)) this.#disown(dependent, new Set([live.change.uid]))
      this.#removeFinalizer(collection, live, before, orphan)
    } else if (finalizers.includes(foreground)) {
      let blocked = false
      for (const reference of this.#dependents.of(live.change.uid)) {
        const dependent = this.#liveOf(reference)
        if (dependent === undefined) continue
        const owner = dependent.live.change.owners?.find(({ uid }) => uid === live.change.uid)
        if (dependent.live.change.terminating !== true) this.#collect(around, dependent.collection, dependent.live)
        blocked ||= owner?.blockOwnerDeletion === true && this.#liveOf(reference) !== undefined
      }
      if (!blocked) this.#removeFinalizer(collection, live, before, foreground)
    }
  }

  /** Deletes the object if no owner is left, and drops references to owners that are gone. */
  #collect(around: WriteSurroundings, collection: Collection, live: LiveObject): void {
    const { change } = live
    const lost = new Set<string>()
    let solid = 0
    let waiting = false
    for (const owner of change.owners ?? []) {
      const found = this.#find(owner, change.namespace)
      if (found === "absent") lost.add(owner.uid)
      else if (typeof found === "object" && isForeground(found.live)) {
        waiting = true
        lost.add(owner.uid)
      } else solid++
    }
    if (lost.size === 0) return
    if (solid > 0) this.#disown({ gvk: collection.name, namespace: change.namespace, name: change.name }, lost)
    else this.#delete(around, collection, live, waiting && this.#dependents.of(change.uid).length > 0)
  }

  #delete(around: WriteSurroundings, collection: Collection, live: LiveObject, inForeground: boolean): void {
    const finalizers = texts(stateOf(live.change).metadata, "finalizers")
    let propagation: Propagation = inForeground ? "Foreground" : "Background"
    if (finalizers.includes(orphan)) propagation = "Orphan"
    else if (finalizers.includes(foreground)) propagation = "Foreground"
    const kind = around.kindOf(collection.resource)
    const options = { ...noDeleteOptions, propagation }
    deleteObject(around, kind, live, options, (stored) =>
      admitDeletion(around, kind, stored, live.change.name, options, []),
    )
  }

  /** Removes the owners from an object's references. */
  #disown(reference: Reference, owners: ReadonlySet<string>): void {
    const found = this.#liveOf(reference)
    if (found === undefined) return
    const before = stateOf(found.live.change)
    const ownerReferences = items(before.metadata, "ownerReferences").filter((owner) => !owners.has(text(owner, "uid")))
    writeAsController(this.#around, {
      ...found,
      before,
      after: withMetadataList(before, "ownerReferences", ownerReferences),
    })
  }

  #removeFinalizer(collection: Collection, live: LiveObject, before: MutableObject, finalizer: string): void {
    const finalizers = texts(before.metadata, "finalizers").filter((name) => name !== finalizer)
    const grace = before.metadata.deletionGracePeriodSeconds ?? 0
    const isLast = finalizers.length === 0 && grace === 0 && !isFinalizedBySpec(collection.resource, before)
    // Watchers see the state that was stored, with the finalizer.
    if (isLast) return void this.#around.store.remove(collection, live)
    const after = withMetadataList(before, "finalizers", finalizers)
    writeAsController(this.#around, { collection, live, before, after })
  }

  #liveOf({ gvk, namespace, name }: Reference): { collection: Collection; live: LiveObject } | undefined {
    if (!this.#around.registry.has(gvk)) return undefined
    const collection = this.#around.store.collection(gvk)
    const live = collection.live.get(keyOf(namespace, name))
    return live === undefined ? undefined : { collection, live }
  }

  /** `unknown`: the owner's kind is not served or its namespace out of reach; nothing is concluded from it. */
  #find(owner: Owner, namespace: string): { collection: Collection; live: LiveObject } | "absent" | "unknown" {
    const { registry, store } = this.#around
    const gvk = gvkOf(owner)
    if (!registry.has(gvk)) return "unknown"
    const { namespaced } = registry.named(gvk)
    if (namespaced && namespace === "") return "unknown"
    const collection = store.collection(gvk)
    const live = collection.live.get(keyOf(namespaced ? namespace : "", owner.name))
    return live?.change.uid === owner.uid ? { collection, live } : "absent"
  }
}

/** A list that has become empty is removed, and so is its ownership. */
const withMetadataList = (object: MutableObject, key: string, list: ReadonlyArray<unknown>): MutableObject => {
  const { [key]: _before, ...metadata } = object.metadata
  return { ...object, metadata: list.length === 0 ? metadata : { ...metadata, [key]: list } }
}

const isForeground = ({ change }: LiveObject): boolean =>
  change.terminating === true && texts(stateOf(change).metadata, "finalizers").includes(foreground)

const gvkOf = ({ apiVersion, kind }: Owner): GroupVersionKind => {
  const slash = apiVersion.indexOf("/")
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1), kind }
}

const keyOfReference = ({ gvk, namespace, name }: Reference): string => `${gvk}\n${namespace}\n${name}`

const referenceOf = (key: string): Reference => {
  const [gvk = "", namespace = "", name = ""] = key.split("\n")
  return { gvk, namespace, name }
}
