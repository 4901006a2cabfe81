/**
 * The objects of one kind as far as they are known: what a watch told, and what own writes were answered with.
 *
 * Own writes are entered at once, so a controller that has created a Pod sees it in its next look and never creates it
 * twice; the real controllers get there with counters of expected events. Versions decide: an older state of an object
 * never replaces a newer one, whichever way it came, and an object known to be gone does not come back.
 *
 * Every change is told to the handlers exactly once, in batches: those of one network read together.
 */

import type { ApiObject } from "../kube/client/objects.ts"
import { controllerOf } from "../kube/client/owner-references.ts"
import { compareResourceVersions, parseResourceVersion, type ResourceVersion } from "../kube/resource-version.ts"

/** `previous` is absent for an object that was not known, `current` for one that is gone. */
export interface ObjectChange<T> {
  readonly previous: T | undefined
  readonly current: T | undefined
}

export type ChangeHandler<T> = (changes: ReadonlyArray<ObjectChange<T>>) => void

/** `namespace/name`, or the bare name of a cluster-scoped object. */
export const keyOf = ({ metadata }: ApiObject): string => objectKey(metadata.namespace, metadata.name)

export const objectKey = (namespace: string | undefined, name: string): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`

export class ObjectCache<T extends ApiObject> {
  readonly #objects = new Map<string, T>()
  readonly #ofNamespace = new Map<string, Set<string>>()
  readonly #ofController = new Map<string, Set<string>>()
  readonly #handlers: ChangeHandler<T>[] = []
  #batch: ObjectChange<T>[] = []
  /** UIDs of objects that own writes removed, until the watch has said so too. */
  readonly #gone = new Set<string>()
  /** Highest version the watch has told of: an absent object below it is gone, not new. */
  #told: ResourceVersion | undefined
  #listed: Map<string, T> | undefined
  #isNewHistory = false

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
    return this.#pick(this.#ofNamespace.get(namespace ?? ""))
  }

  /** Those whose controlling ownerReference names this UID. */
  controlledBy(uid: string | undefined): ReadonlyArray<T> {
    return uid === undefined ? [] : this.#pick(this.#ofController.get(uid))
  }

  onChange(handler: ChangeHandler<T>): void {
    this.#handlers.push(handler)
  }

  /** What the server answered to a write. */
  wrote(object: T): void {
    const { uid } = object.metadata
    if (uid !== undefined && this.#gone.has(uid)) return
    const version = versionOf(object)
    const isPast = version !== undefined && this.#told !== undefined && version <= this.#told
    if (this.#objects.has(keyOf(object)) || !isPast) this.#put(object)
    this.flush()
  }

  /** The server has removed it on our behalf. */
  removed(object: T): void {
    const { uid } = object.metadata
    const known = this.#objects.get(keyOf(object))
    if (uid === undefined || known?.metadata.uid !== uid) return
    this.#gone.add(uid)
    this.#drop(known)
    this.flush()
  }

  watched(object: T, isDeleted: boolean): void {
    const { uid = "" } = object.metadata
    this.#tell(versionOf(object))
    if (isDeleted) {
      this.#gone.delete(uid)
      const known = this.#objects.get(keyOf(object))
      if (known?.metadata.uid === uid) this.#drop(known)
    } else if (!this.#gone.has(uid)) this.#put(object)
  }

  listStarted(): void {
    this.#listed = new Map()
  }

  listedItem(object: T): void {
    this.#listed?.set(keyOf(object), object)
  }

  /** What is not in the list is gone, unless an own write is newer than the list. */
  listCompleted(versionText: string): void {
    const listed = this.#listed ?? new Map<string, T>()
    const version = parseResourceVersion(versionText)
    for (const known of [...this.#objects.values()]) {
      const current = listed.get(keyOf(known))
      const isNewer = !this.#isNewHistory && version !== undefined && (versionOf(known) ?? 0) > version
      if (current?.metadata.uid !== known.metadata.uid && !isNewer) this.#drop(known)
    }
    const uids = new Set([...listed.values()].map(({ metadata }) => metadata.uid))
    for (const uid of this.#gone) if (!uids.has(uid)) this.#gone.delete(uid)
    for (const object of listed.values()) if (!this.#gone.has(object.metadata.uid ?? "")) this.#put(object)
    this.#isNewHistory = false
    this.#listed = undefined
    this.#tell(version)
    this.flush()
  }

  /** Versions of before compare with none of those to come. */
  newHistory(): void {
    this.#isNewHistory = true
    this.#told = undefined
    this.#gone.clear()
  }

  progressed(versionText: string): void {
    this.#tell(parseResourceVersion(versionText))
  }

  /** Tells the handlers what has changed. */
  flush(): void {
    while (this.#batch.length > 0) {
      const changes = this.#batch
      this.#batch = []
      for (const handler of this.#handlers) handler(changes)
    }
  }

  #tell(version: ResourceVersion | undefined): void {
    if (version !== undefined && (this.#told === undefined || compareResourceVersions(version, this.#told) > 0)) {
      this.#told = version
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
    if (previous !== undefined) this.#unindex(key, previous)
    if (previous !== undefined && previous.metadata.uid !== object.metadata.uid) {
      this.#batch.push({ previous, current: undefined }, { previous: undefined, current: object })
    } else this.#batch.push({ previous, current: object })
    this.#objects.set(key, object)
    enter(this.#ofNamespace, object.metadata.namespace ?? "", key)
    const owner = controllerOf(object)
    if (owner !== undefined) enter(this.#ofController, owner.uid, key)
  }

  #drop(object: T): void {
    const key = keyOf(object)
    this.#unindex(key, object)
    this.#objects.delete(key)
    this.#batch.push({ previous: object, current: undefined })
  }

  #unindex(key: string, object: T): void {
    leave(this.#ofNamespace, object.metadata.namespace ?? "", key)
    const owner = controllerOf(object)
    if (owner !== undefined) leave(this.#ofController, owner.uid, key)
  }

  #pick(keys: ReadonlySet<string> | undefined): ReadonlyArray<T> {
    const found: T[] = []
    for (const key of keys ?? []) {
      const object = this.#objects.get(key)
      if (object !== undefined) found.push(object)
    }
    return found
  }
}

const versionOf = (object: ApiObject): ResourceVersion | undefined =>
  parseResourceVersion(object.metadata.resourceVersion ?? "")

const enter = (index: Map<string, Set<string>>, name: string, key: string): void => {
  const keys = index.get(name)
  if (keys === undefined) index.set(name, new Set([key]))
  else keys.add(key)
}

const leave = (index: Map<string, Set<string>>, name: string, key: string): void => {
  const keys = index.get(name)
  keys?.delete(key)
  if (keys?.size === 0) index.delete(name)
}
