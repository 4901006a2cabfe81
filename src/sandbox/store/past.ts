/**
 * Restarts that replace the history: etcd restored from a backup, or another cluster behind the same address. Clients
 * are not notified; they find a server whose versions are lower than theirs, and must interpret its silence.
 */

import {
  type Change,
  type GvkName,
  type KubernetesObject,
  keyOf,
  parseObject,
  restamped,
} from "../../apiserver/index.ts"
import { formatGvk } from "../../kube/offline.ts"
import type { Collection, LiveObject } from "./collection.ts"
import type { ObjectStore } from "./object-store.ts"
import { RevisionNotHeldError } from "./store-errors.ts"

/** An object and its kind. */
export interface KindedObject {
  readonly gvk: GvkName
  readonly object: KubernetesObject
}

/**
 * Which objects survive a restore. `backup`: exactly those of the restored revision, in their state at that time.
 * `keep`: all live ones; those with a newer version get one that is not above the revision. `none`: the namespaces
 * only.
 */
export type Survivors = "backup" | "keep" | "none"

/** Half way between the oldest state that the history still holds and now. */
export const lowerRevision = (store: ObjectStore, survivors: Survivors): bigint => {
  if (survivors !== "backup") return store.revision / 2n
  let oldest = 0n
  for (const { history } of store.collections()) if (history.floor > oldest) oldest = history.floor
  return (oldest + store.revision) / 2n
}

/**
 * Goes back to a revision. `revert` lists objects that the backup holds in the given state. Throws {@link
 * RevisionNotHeldError} if a kind's history does not reach back that far; nothing has changed then.
 */
export const restoreBackup = (
  store: ObjectStore,
  revision: bigint,
  survivors: Survivors,
  revert: ReadonlyArray<KindedObject>,
): void => {
  const free = freeRevisions(store, revision)
  const states = new Map<Collection, Map<string, LiveObject>>()
  for (const collection of store.collections()) {
    states.set(collection, survivorsOf(store, collection, revision, survivors, free))
  }
  for (const { gvk, object } of revert) {
    const collection = store.collection(gvk)
    const namespace = collection.resource.namespaced ? (object.metadata.namespace ?? "default") : ""
    const key = keyOf(namespace, object.metadata.name)
    const { next } = store.stamp(collection.resource, object, namespace, collection.live.get(key), free())
    states.get(collection)?.set(key, next)
  }
  const before = new Map(Array.from(states.keys(), (collection) => [collection, new Map(collection.live)]))
  store.replace(revision, states)
  store.ledger.beginEpoch()
  for (const [collection, objects] of states)
    for (const [key, { change }] of objects)
      if (before.get(collection)?.get(key)?.change !== change) {
        store.ledger.record(formatGvk(collection.resource.gvk), change, true)
      }
}

/** Another cluster: starts empty or, if requested, with newly created objects of the same names. */
export const replaceCluster = (store: ObjectStore, revision: bigint, keepObjects: boolean): void => {
  const kept: KindedObject[] = []
  for (const { resource, live } of store.collections())
    if (keepObjects)
      for (const { change } of live.values()) kept.push({ gvk: resource.gvk, object: parseObject(change) })
  store.replace(revision, new Map())
  store.ledger.beginEpoch()
  for (const { gvk, object } of kept) store.put(gvk, object)
}

const survivorsOf = (
  store: ObjectStore,
  collection: Collection,
  revision: bigint,
  survivors: Survivors,
  free: () => bigint,
): Map<string, LiveObject> => {
  if (survivors === "backup") {
    const { floor } = collection.history
    if (floor > revision) {
      const gvk = formatGvk(collection.resource.gvk)
      throw new RevisionNotHeldError({ revision: String(revision), gvk, oldest: String(floor) })
    }
    const states = collection.statesAt(revision)
    return new Map(Array.from(states, ([key, change]) => [key, sameOr(collection.live.get(key), change)]))
  }
  const objects = new Map<string, LiveObject>()
  const { kind } = collection.resource.gvk
  // Newest first, like the revisions handed out: an object changed later keeps the higher version.
  const live = [...collection.live].sort(([, left], [, right]) =>
    left.change.revision > right.change.revision ? -1 : 1,
  )
  for (const [key, object] of live) {
    if (survivors === "none" && kind !== "Namespace") continue
    const { change } = object
    const kept = change.revision <= revision ? change : restamped(change, change.type, free(), store.format)
    objects.set(key, { ...object, change: kept })
  }
  return objects
}

const sameOr = (live: LiveObject | undefined, change: Change): LiveObject =>
  live?.change === change ? live : { change }

/** Revisions that no live object has, from the given one downwards; always 1 when they run out. */
const freeRevisions = (store: ObjectStore, from: bigint): (() => bigint) => {
  const used = new Set<bigint>()
  for (const { live } of store.collections()) for (const { change } of live.values()) used.add(change.revision)
  let next = from
  return () => {
    while (next > 1n && used.has(next)) next--
    used.add(next)
    return next
  }
}
