/**
 * What the watcher knows of its one kind: the objects alive in the recording, by UID.
 *
 * A watcher cannot name an object of another kind, so "a relist of one kind deletes another kind's objects" cannot be
 * said here. Memory is O(live objects): an entry goes when its object dies, and a UID dies once.
 */
import type { ResourceVersion } from "../../../kube/resource-version.ts"
import { unknownOwners } from "./owner-fingerprint.ts"
import { UidTable } from "./uid-table.ts"

export interface LiveObject {
  /** The kind's own number for this UID, given once. */
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  version: ResourceVersion | string
  epoch: number
  fingerprintLow: number
  fingerprintHigh: number
  /** Of its ownerReferences (owner-fingerprint.ts). */
  owners: number
  /** The last list that had begun when it was seen. */
  list: number
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

  /** The object whose UID stands at `bytes[start, end)`. */
  get(bytes: Uint8Array, start: number, end: number): LiveObject | undefined {
    return this.#byUid.get(bytes, start, end)
  }

  /** The live object of that name, whatever its UID. */
  named(namespace: string, name: string): LiveObject | undefined {
    return this.#byName.get(`${namespace}/${name}`)
  }

  /** Gives a UID its number. The caller has removed an older object of the same name. */
  add(uid: string, namespace: string, name: string): LiveObject {
    return this.#insert(this.#nextNumber++, uid, namespace, name)
  }

  /** Takes an object over from the store. */
  restore(number: number, uid: string, namespace: string, name: string): LiveObject {
    return this.#insert(number, uid, namespace, name)
  }

  remove(object: LiveObject): void {
    this.#byUid.delete(object.uid)
    const key = `${object.namespace}/${object.name}`
    if (this.#byName.get(key) === object) this.#byName.delete(key)
  }

  /**
   * A list begins: what does not stand in it will have vanished. Answers its number; lists of several namespaces may be under way at
   * once, and one begun before and not completed is forgotten.
   */
  beginList(): number {
    return ++this.#list
  }

  /** The object stands in a list under way, or was seen alive after it. */
  mark(object: LiveObject): void {
    object.list = this.#list
  }

  /** The objects seen last before that list began: if it is of one namespace alone, those of that namespace. */
  *missing(list: number, namespace: string | undefined): Generator<LiveObject> {
    for (const object of this.#byUid.values()) {
      if (object.list < list && (namespace === undefined || object.namespace === namespace)) yield object
    }
  }

  /** The objects in namespaces other than these; not those in none. */
  *outside(namespaces: ReadonlySet<string>): Generator<LiveObject> {
    for (const object of this.#byUid.values()) {
      if (object.namespace !== "" && !namespaces.has(object.namespace)) yield object
    }
  }

  /** Whether there is any; `undefined`: in any namespace. */
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
    }
    this.#byUid.set(uid, object)
    this.#byName.set(`${namespace}/${name}`, object)
    return object
  }
}
