/**
 * Ownership at export time: the chains of ownerReferences, as recorded and as looked up later.
 *
 * By UID, over any number of steps, whatever the order of recording, even if an owner is gone by now or is cluster-scoped (SimKube asks the
 * live cluster, by name, and only about what it has exported so far: W-09, W-13).
 */
import { OwnerCircles } from "./owner-circles.ts"
import type { OwnerReference } from "./owner-references.ts"

/** The known owners of one object. */
export interface KnownOwners {
  /** The empty string for a cluster-scoped object. */
  readonly namespace: string
  readonly ownerReferences: ReadonlyArray<OwnerReference>
  /** `gone`: the API server no longer has the object, so its owners are unknown. */
  readonly source: "recorded" | "learnt" | "gone"
}

/** An owner in a chain. */
export interface Ancestor extends OwnerReference {
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
}

interface OwnershipOptions {
  /** The known owners of an object that is named as an owner; `undefined` if nothing is known about it. */
  readonly ownersOf: (owner: OwnerReference) => KnownOwners | undefined
  /** Kinds whose objects are all recorded: an unknown object of one of them has no owners. */
  readonly recordedKinds: ReadonlySet<string>
}

/** `apps/v1.ReplicaSet`. */
export const gvkOfReference = ({ apiVersion, kind }: Pick<OwnerReference, "apiVersion" | "kind">): string =>
  `${apiVersion}.${kind}`

/** `apps/ReplicaSet`: an object is the same in all versions of its kind, and no other kind has its UID. */
export const groupKindOf = (gvk: string): string => {
  const slash = gvk.indexOf("/")
  return `${gvk.slice(0, slash + 1)}${gvk.slice(gvk.lastIndexOf(".") + 1)}`
}

/** Identifies an owner. Includes the kind: a reference may name a UID under a kind that the object never had. */
export const ownerKey = (reference: Pick<OwnerReference, "apiVersion" | "kind" | "uid">): string =>
  objectKey(gvkOfReference(reference), reference.uid)

/** The same key for an object that is not an owner yet. */
export const objectKey = (gvk: string, uid: string): string => `${groupKindOf(gvk)} ${uid}`

/** An object whose ownership is queried. */
interface OwnedObject {
  readonly gvk: string
  readonly uid: string
}

export class Ownership {
  readonly #options: OwnershipOptions
  #circles: OwnerCircles<OwnerReference> | undefined
  #loops: OwnerCircles<OwnerReference> | undefined
  readonly #unknown = new Map<string, Ancestor>()

  constructor(options: OwnershipOptions) {
    this.#options = options
  }

  /** Owners visited so far whose own owners are unknown. */
  get unknown(): ReadonlyArray<Ancestor> {
    return [...this.#unknown.values()]
  }

  /**
   * All owners above an object, in SimKube's order: the first reference, its owners, …, then the second reference. Each once; circles,
   * which the API server does not prevent, end.
   */
  *ancestors(references: ReadonlyArray<OwnerReference>): Generator<Ancestor> {
    const seen = new Set<string>()
    const ahead = [...references].reverse()
    for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
      const key = ownerKey(next)
      if (seen.has(key)) continue
      seen.add(key)
      yield { ...next, gvk: gvkOfReference(next) }
      ahead.push(...this.#referencesOf(next).toReversed())
    }
  }

  /**
   * Whether one of the owners above is in a set and outside the object's own circle: if an object owns itself, or is owned by what it owns,
   * no controller recreates it unless something else owns the circle. Without `object` every owner above counts. The set must be the same
   * in every call: results are cached.
   */
  isBelow(
    references: ReadonlyArray<OwnerReference>,
    isMember: (owner: OwnerReference) => boolean,
    object?: OwnedObject,
  ): boolean {
    this.#circles ??= new OwnerCircles({ keyOf: ownerKey, above: (owner) => this.#referencesOf(owner), isMember })
    const all = this.#circles
    const circles = references.map((reference) => all.of(reference))
    // After its owners: if it is above one of them, it is known by now.
    const own = object === undefined ? undefined : all.known(objectKey(object.gvk, object.uid))
    return circles.some((circle) => circle.isBelowMember || (circle.holdsMember && circle !== own))
  }

  /** Whether each of the two is above the other. Takes time proportional to the owners above them at the first call, then none. */
  ownEachOther(one: OwnerReference, other: OwnerReference): boolean {
    this.#loops ??= new OwnerCircles<OwnerReference>({
      keyOf: ownerKey,
      above: (owner) => this.#referencesOf(owner),
      isMember: () => false,
    })
    return this.#loops.of(one) === this.#loops.of(other)
  }

  #referencesOf(reference: OwnerReference): ReadonlyArray<OwnerReference> {
    const known = this.#options.ownersOf(reference)
    if (known !== undefined && known.source !== "gone") return known.ownerReferences
    const gvk = gvkOfReference(reference)
    if (!this.#options.recordedKinds.has(gvk)) this.#unknown.set(ownerKey(reference), { ...reference, gvk })
    return []
  }
}
