/**
 * The live objects of one kind in the recording, by UID.
 *
 * A watcher cannot name an object of another kind, so a relist of one kind cannot delete another kind's objects. Memory is O(live objects):
 * an entry is removed when its object is deleted, and a UID is deleted once.
 */
import type { ResourceVersion } from "../../../kube/resource-version.ts"
import type { Writes } from "../../../kube/watch/liveness/written-time.ts"
import { unknownOwners } from "./owner-fingerprint.ts"
import { UidTable } from "./uid-table.ts"

export interface LiveObject extends Writes {
  /** Number of this UID within its kind, assigned once. */
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  version: ResourceVersion | string
  epoch: number
  fingerprintLow: number
  fingerprintHigh: number
  /** Fingerprint of its ownerReferences (owner-fingerprint.ts). */
  owners: number
  /** The latest list that had begun when the object was seen. */
  list: number
  /** Of the version that was seen last. */
  written: number
  writes: number
  fields: number
}

export class LiveIndex {
  readonly #byUid = new UidTable<LiveObject>()
  /** Among live objects of one kind a namespace/name is unique; needed to see a re-creation across a relist. */
  readonly #byName = new Map<string, LiveObject>()
  #nextNumber: number
  #list = 0

  constructor(nextNumber: number) {
    this.#nextNumber = nextNumber
  }

  get size(): number {
    return this.#byUid.size
  }

  /** The object with the UID at `bytes[start, end)`. */
  get(bytes: Uint8Array, start: number, end: number): LiveObject | undefined {
    return this.#byUid.get(bytes, start, end)
  }

  /** The live object with that name and any UID. */
  named(namespace: string, name: string): LiveObject | undefined {
    return this.#byName.get(`${namespace}/${name}`)
  }

  /** Assigns a number to a UID. The caller must have removed an older object of the same name. */
  add(uid: string, namespace: string, name: string): LiveObject {
    return this.#insert(this.#nextNumber++, uid, namespace, name)
  }

  /** Restores an object from the stored state. */
  restore(number: number, uid: string, namespace: string, name: string): LiveObject {
    return this.#insert(number, uid, namespace, name)
  }

  remove(object: LiveObject): void {
    this.#byUid.delete(object.uid)
    const key = `${object.namespace}/${object.name}`
    if (this.#byName.get(key) === object) this.#byName.delete(key)
  }

  /**
   * Call when a list begins; objects that are not in it will have vanished. Returns its number. Lists of several namespaces may be in
   * progress at once; an earlier list that was not completed is forgotten.
   */
  beginList(): number {
    return ++this.#list
  }

  /** Call when the object is in a running list, or was seen alive after it. */
  mark(object: LiveObject): void {
    object.list = this.#list
  }

  /** The objects last seen before that list began; if it is a list of one namespace, only those of that namespace. */
  *missing(list: number, namespace: string | undefined): Generator<LiveObject> {
    for (const object of this.#byUid.values()) {
      if (object.list < list && (namespace === undefined || object.namespace === namespace)) yield object
    }
  }

  /** The objects in namespaces other than these, except objects without a namespace. */
  *outside(namespaces: ReadonlySet<string>): Generator<LiveObject> {
    for (const object of this.#byUid.values()) {
      if (object.namespace !== "" && !namespaces.has(object.namespace)) yield object
    }
  }

  /** Whether there is any object in the namespace; `undefined`: in any namespace. */
  has(namespace: string | undefined): boolean {
    if (namespace === undefined) return this.size > 0
    for (const object of this.#byUid.values()) if (object.namespace === namespace) return true
    return false
  }

  #insert(number: number, uid: string, namespace: string, name: string): LiveObject {
    const object: LiveObject = {
      number,
      uid,
      namespace,
      name,
      version: 0,
      epoch: 0,
      fingerprintLow: 0,
      fingerprintHigh: 0,
      owners: unknownOwners,
      list: this.#list,
      written: 0,
      writes: 0,
      fields: 0,
    }
    this.#byUid.set(uid, object)
    this.#byName.set(`${namespace}/${name}`, object)
    return object
  }
}
