/**
 * Who owns what, at export time: the chains of ownerReferences as recorded and learnt, and what follows from them.
 *
 * By UID, over any number of steps, in whatever order things were recorded, also when an owner is gone by now or is
 * cluster-scoped (SimKube asks the live cluster, by name, and only of what it has exported so far: W-09, W-13).
 */
import { OwnerCircles } from "./owner-circles.ts"
import type { OwnerReference } from "./owner-references.ts"

/** What is known of one object's owners. */
export interface KnownOwners {
  /** The empty string for a cluster-scoped object. */
  readonly namespace: string
  readonly ownerReferences: ReadonlyArray<OwnerReference>
  /** `gone`: the API server had no such object any more, and nobody knows who owned it. */
  readonly source: "recorded" | "learnt" | "gone"
}

/** An owner in a chain. */
export interface Ancestor extends OwnerReference {
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
}

interface OwnershipOptions {
  /** What is known of the object that somebody names as an owner; `undefined` if nothing is. */
  readonly ownersOf: (owner: OwnerReference) => KnownOwners | undefined
  /** Kinds all of whose objects are recorded: one of them of which nothing is known has no owners. */
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

/** Tells owners apart. By the kind as well: a reference may name a UID under a kind that the object never had. */
export const ownerKey = (reference: Pick<OwnerReference, "apiVersion" | "kind" | "uid">): string =>
  objectKey(gvkOfReference(reference), reference.uid)

/** The same of an object that is no owner yet. */
export const objectKey = (gvk: string, uid: string): string => `${groupKindOf(gvk)} ${uid}`

/** An object of which is asked whether it is owned. */
export interface OwnedObject {
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

  /** Owners met so far above which the chain is not known. */
  get unknown(): ReadonlyArray<Ancestor> {
    return [...this.#unknown.values()]
  }

  /**
   * All owners above an object, in SimKube's order: the first reference, what owns that, …, then the second reference. Each
   * once; circles, which the API server does not prevent, end.
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
   * Whether one of the owners above is in a set, one outside the object's own circle: what owns itself, or is owned by what it owns,
   * is made again by nobody unless something else owns the circle. Without `object` whatever stands above counts. The set must be the
   * same in every call: verdicts are kept.
   */
  isBelow(
    references: ReadonlyArray<OwnerReference>,
    isMember: (owner: OwnerReference) => boolean,
    object?: OwnedObject,
  ): boolean {
    this.#circles ??= new OwnerCircles({ keyOf: ownerKey, above: (owner) => this.#referencesOf(owner), isMember })
    const all = this.#circles
    const circles = references.map((reference) => all.of(reference))
    // After its owners: if it stands above one of them it is known by now.
    const own = object === undefined ? undefined : all.known(objectKey(object.gvk, object.uid))
    return circles.some((circle) => circle.isBelowMember || (circle.holdsMember && circle !== own))
  }

  /** Whether each of the two is above the other. Takes time in proportion to the owners above them once, then none. */
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
