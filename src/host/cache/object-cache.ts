/**
 * The known objects of one kind: what a watch delivered, and what own writes returned, at once, so that a controller sees what it has created in its
 * next run. Versions decide: an older state never replaces a newer one, and an object known to be gone does not come back.
 *
 * Handlers get the last state of every object, and the deletion of every object that they have seen, even if it happened while no watch was open and
 * another object has its name by then (see {@link ChangeFeed}).
 */

import { type ApiObject, controllerOf, type ObjectBase } from "../../kube/index.ts"
import { compareResourceVersions, parseResourceVersion, type ResourceVersion } from "../../kube/offline.ts"
import { ChangeFeed, type ChangeHandler } from "./change-feed.ts"

/** `namespace/name`, or the bare name of a cluster-scoped object. */
export const keyOf = ({ metadata }: ObjectBase): string => objectKey(metadata.namespace, metadata.name)

export const objectKey = (namespace: string | undefined, name: string): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`

interface CacheOptions {
  /** Gets what a handler threw. Default: it is thrown again as an uncaught exception, which ends the process. */
  readonly onHandlerError?: (error: unknown) => void
}

const throwUncaught = (error: unknown): void =>
  queueMicrotask(() => {
    throw error
  })

/** Names an index: a symbol where several users of a cache might choose the same text. */
export type IndexName = string | symbol

export class ObjectCache<T extends ObjectBase = ApiObject> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<IndexName, ObjectIndex<T>>()
  readonly #feed: ChangeFeed<T>
  /** UIDs of objects that own writes removed, until the watch reports their deletion too. */
  readonly #gone = new Set<string>()
  /** UIDs of objects that only own writes have shown, with the version of the first. */
  readonly #unseen = new Map<string, ResourceVersion>()
  /** Highest version that the watch has reported: an absent object below it is gone, not new. */
  #reportedVersion: ResourceVersion | undefined
  #listed: Map<string, T> | undefined
  #isNewHistory = false

  constructor({ onHandlerError = throwUncaught }: CacheOptions = {}) {
    this.#feed = new ChangeFeed(() => this.#objects.values(), onHandlerError)
    this.addIndex("namespace", ({ metadata }) => [metadata.namespace ?? ""])
    this.addIndex("controller", (object) => {
      const owner = controllerOf(object)
      return owner === undefined ? [] : [owner.uid]
    })
  }

  get size(): number {
    return this.#objects.size
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(objectKey(namespace, name))
  }

  byKey(key: string): T | undefined {
    return this.#objects.get(key)
  }

  all(): Iterable<T> {
    return this.#objects.values()
  }

  inNamespace(namespace: string | undefined): ReadonlyArray<T> {
    return this.byIndex("namespace", namespace ?? "")
  }

  /** The objects whose controlling ownerReference names this UID. */
  controlledBy(uid: string | undefined): ReadonlyArray<T> {
    return uid === undefined ? [] : this.byIndex("controller", uid)
  }

  /** Indexes objects by the values that `valuesOf` returns. An index of the same name is replaced. */
  addIndex(name: IndexName, valuesOf: (object: T) => Iterable<string>): void {
    const index = new ObjectIndex(valuesOf)
    for (const [key, object] of this.#objects) index.enter(key, object)
    this.#indexes.set(name, index)
  }

  /** Without effect for an index that does not exist. */
  removeIndex(name: IndexName): void {
    this.#indexes.delete(name)
  }

  hasIndex(name: IndexName): boolean {
    return this.#indexes.has(name)
  }

  /** Also empty for an index that does not exist. */
  byIndex(name: IndexName, value: string): ReadonlyArray<T> {
    const found: T[] = []
    for (const key of this.#indexes.get(name)?.keysOf(value) ?? []) {
      const object = this.#objects.get(key)
      if (object !== undefined) found.push(object)
    }
    return found
  }

  /** The handler first gets the present objects as additions. Returns a function that removes it. */
  onChange(handler: ChangeHandler<T>): () => void {
    this.#feed.add(handler)
    return () => this.#feed.remove(handler)
  }

  /** What the server returned for a write. */
  wrote(object: T): void {
    const { uid } = object.metadata
    if (uid !== undefined && this.#gone.has(uid)) return
    const version = versionOf(object)
    const isPast = version !== undefined && this.#reportedVersion !== undefined && version <= this.#reportedVersion
    const known = this.#objects.get(keyOf(object))
    if (known !== undefined || !isPast) {
      this.#put(object)
      if (uid !== undefined && version !== undefined && known?.metadata.uid !== uid) this.#unseen.set(uid, version)
    }
    this.flush()
  }

  /** A write of ours has removed the object. */
  removed(object: T): void {
    const { uid } = object.metadata
    const known = this.#objects.get(keyOf(object))
    if (uid === undefined || known?.metadata.uid !== uid) return
    this.#gone.add(uid)
    this.#drop(known, known)
    this.flush()
  }

  /** Passed to the handlers with the next {@link flush}. `isFinalStateUnknown`: of a deletion that only a list has shown. */
  watched(object: T, isDeleted: boolean, isFinalStateUnknown = false): void {
    const { uid = "" } = object.metadata
    this.#noteVersion(versionOf(object))
    this.#unseen.delete(uid)
    if (isDeleted) {
      this.#gone.delete(uid)
      const known = this.#objects.get(keyOf(object))
      if (known?.metadata.uid === uid) this.#drop(known, object, isFinalStateUnknown)
    } else if (!this.#gone.has(uid)) this.#put(object)
  }

  listStarted(): void {
    this.#listed = new Map()
  }

  listedItem(object: T): void {
    this.#listed?.set(keyOf(object), object)
  }

  /** An object that is not in the list is gone, unless an own write of it is newer than the list. */
  listCompleted(versionText: string): void {
    const listed = this.#listed ?? new Map<string, T>()
    const version = parseResourceVersion(versionText)
    for (const known of [...this.#objects.values()]) {
      const current = listed.get(keyOf(known))
      const isNewer = !this.#isNewHistory && version !== undefined && (versionOf(known) ?? 0) > version
      if (current?.metadata.uid !== known.metadata.uid && !isNewer) this.#drop(known, known, true)
    }
    const uids = new Set([...listed.values()].map(({ metadata }) => metadata.uid))
    for (const uid of this.#gone) if (!uids.has(uid)) this.#gone.delete(uid)
    for (const uid of uids) this.#unseen.delete(uid ?? "")
    for (const object of listed.values()) if (!this.#gone.has(object.metadata.uid ?? "")) this.#put(object)
    this.#isNewHistory = false
    this.#listed = undefined
    this.#noteVersion(version)
    this.flush()
  }

  /** Earlier versions cannot be compared with later ones. */
  newHistory(): void {
    this.#isNewHistory = true
    this.#reportedVersion = undefined
    this.#gone.clear()
  }

  progressed(versionText: string): void {
    this.#noteVersion(parseResourceVersion(versionText))
  }

  /**
   * Whether there is an object that only own writes have shown, although everything up to `versionText` has been reported: it may be gone. Not asked for
   * caches that are fed with every list.
   */
  hasUnseen(versionText: string): boolean {
    const reported = parseResourceVersion(versionText)
    if (reported === undefined) return false
    for (const version of this.#unseen.values()) if (compareResourceVersions(version, reported) <= 0) return true
    return false
  }

  /** Passes what has changed to the handlers. */
  flush(): void {
    this.#feed.flush()
  }

  #noteVersion(version: ResourceVersion | undefined): void {
    if (
      version !== undefined &&
      (this.#reportedVersion === undefined || compareResourceVersions(version, this.#reportedVersion) > 0)
    ) {
      this.#reportedVersion = version
    }
  }

  #put(object: T): void {
    const key = keyOf(object)
    const previous = this.#objects.get(key)
    if (previous !== undefined && !this.#isNewHistory) {
      const before = versionOf(previous)
      const after = versionOf(object)
      if (before !== undefined && after !== undefined && after <= before) return
    }
    if (previous !== undefined && previous.metadata.uid !== object.metadata.uid) {
      this.#drop(previous, previous, true)
      this.#feed.push({ previous: undefined, current: object })
    } else {
      if (previous !== undefined) for (const index of this.#indexes.values()) index.leave(key, previous)
      this.#feed.push({ previous, current: object })
    }
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) index.enter(key, object)
  }

  #drop(known: T, last: T, isFinalStateUnknown = false): void {
    const key = keyOf(known)
    for (const index of this.#indexes.values()) index.leave(key, known)
    this.#objects.delete(key)
    this.#unseen.delete(known.metadata.uid ?? "")
    this.#feed.push({ previous: last, current: undefined, ...(isFinalStateUnknown && { isFinalStateUnknown }) })
  }
}

const versionOf = (object: ObjectBase): ResourceVersion | undefined =>
  parseResourceVersion(object.metadata.resourceVersion ?? "")

/** An index over the keys of a cache: the objects that have a value. Values without objects cost nothing. */
class ObjectIndex<T> {
  readonly #valuesOf: (object: T) => Iterable<string>
  readonly #keys = new Map<string, Set<string>>()

  /** `valuesOf` returns none, one or several values for an object, always the same for the same object. */
  constructor(valuesOf: (object: T) => Iterable<string>) {
    this.#valuesOf = valuesOf
  }

  keysOf(value: string): Iterable<string> {
    return this.#keys.get(value) ?? []
  }

  enter(key: string, object: T): void {
    for (const value of this.#valuesOf(object)) {
      const keys = this.#keys.get(value)
      if (keys === undefined) this.#keys.set(value, new Set([key]))
      else keys.add(key)
    }
  }

  leave(key: string, object: T): void {
    for (const value of this.#valuesOf(object)) {
      const keys = this.#keys.get(value)
      keys?.delete(key)
      if (keys?.size === 0) this.#keys.delete(value)
    }
  }
}
