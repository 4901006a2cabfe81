/** The dependents of each owner, by the owner's UID: the ownerReferences of all live objects, inverted. */

import type { Change } from "../../apiserver/watch/change.ts"

/** The kind, namespace and name of an object. */
export interface Reference {
  /** `apps/v1.Deployment` */
  readonly gvk: string
  readonly namespace: string
  readonly name: string
}

export class Dependents {
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
