/** Who depends on whom, by the UID of the owner: the ownerReferences of all live objects, turned around. */

import type { Change } from "../../apiserver/watch/change.ts"

/** Where an object is found. */
export interface Reference {
  /** `apps/v1.Deployment` */
  readonly gvk: string
  readonly namespace: string
  readonly name: string
}

export class Dependents {
  /** By owner, then by dependent. */
  readonly #byOwner = new Map<string, Map<string, Reference>>()
  /** By dependent: the owners it is entered under. */
  readonly #owners = new Map<string, ReadonlyArray<string>>()

  /** Enters the owners of a state in place of those of the state before; says whether there are any. */
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

  /** Says whether it had owners. */
  remove({ uid }: Change): boolean {
    const known = this.#owners.get(uid)
    if (known !== undefined) this.#forget(uid, known)
    return known !== undefined
  }

  /** A copy: what is done with them may change who depends on whom. */
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
