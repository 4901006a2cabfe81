/**
 * Ownership at export time: the chains of ownerReferences, as recorded and as looked up later.
 *
 * By UID, over any number of steps, whatever the order of recording, even if an owner is gone by now or is cluster-scoped (SimKube asks the
 * live cluster, by name, and only about what it has exported so far: W-09, W-13).
 */
import type { OwnerReference } from "./owner-references.ts"

/** Owners that are all above each other; usually a single one. */
interface OwnerCircle {
  /** Whether one of its owners is a member. */
  readonly holdsMember: boolean
  /** Whether a member is above it, outside of it. */
  readonly isBelowMember: boolean
}

interface OwnerGraph<Owner> {
  readonly keyOf: (owner: Owner) => string
  /** The direct owners. Called once per owner, as is `isMember`. */
  readonly above: (owner: Owner) => ReadonlyArray<Owner>
  readonly isMember: (owner: Owner) => boolean
}

interface Node<Owner> {
  readonly owner: Owner
  readonly above: ReadonlyArray<Owner>
  /** How many of `above` have been visited. */
  looked: number
  readonly number: number
  /** The lowest number among the owners on the path that are above this one. */
  lowest: number
  circle: OwnerCircle | undefined
}

/**
 * Circles of owners, each of which is above itself: the API server does not prevent them, but no controller would
 * recreate them unless something outside owns them, so an owner is judged together with its whole circle. Tarjan's
 * algorithm, without recursion, over the owners asked about so far: each is visited once. Not usable any more once
 * `above` or `isMember` has thrown.
 */
class OwnerCircles<Owner> {
  readonly #graph: OwnerGraph<Owner>
  readonly #nodes = new Map<string, Node<Owner>>()

  constructor(graph: OwnerGraph<Owner>) {
    this.#graph = graph
  }

  /** The circle of an owner that was asked about, or that is above such an owner; `undefined` for any other. */
  known(key: string): OwnerCircle | undefined {
    return this.#nodes.get(key)?.circle
  }

  of(owner: Owner): OwnerCircle {
    const key = this.#graph.keyOf(owner)
    const found = this.known(key)
    if (found !== undefined) return found
    const start = this.#enter(owner, key)
    const path = [start]
    /** Owners whose circles are not complete yet. */
    const open = [start]
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const next = node.above[node.looked++]
      if (next === undefined) {
        path.pop()
        const below = path.at(-1)
        if (below !== undefined) below.lowest = Math.min(below.lowest, node.lowest)
        if (node.lowest === node.number) this.#close(open.splice(open.lastIndexOf(node)))
        continue
      }
      const nextKey = this.#graph.keyOf(next)
      const known = this.#nodes.get(nextKey)
      if (known === undefined) {
        const entered = this.#enter(next, nextKey)
        path.push(entered)
        open.push(entered)
      } else if (known.circle === undefined) node.lowest = Math.min(node.lowest, known.number)
    }
    return start.circle as OwnerCircle
  }

  #enter(owner: Owner, key: string): Node<Owner> {
    const number = this.#nodes.size
    const above = this.#graph.above(owner)
    const node: Node<Owner> = { owner, above, looked: 0, number, lowest: number, circle: undefined }
    this.#nodes.set(key, node)
    return node
  }

  /** Completes a circle; everything above its owners outside of it is already complete. */
  #close(nodes: ReadonlyArray<Node<Owner>>): void {
    let [holdsMember, isBelowMember] = [false, false]
    for (const { owner, above } of nodes) {
      holdsMember ||= this.#graph.isMember(owner)
      for (const each of above) {
        const outside = this.known(this.#graph.keyOf(each))
        if (outside !== undefined) isBelowMember ||= outside.holdsMember || outside.isBelowMember
      }
    }
    const circle = { holdsMember, isBelowMember }
    for (const node of nodes) node.circle = circle
  }
}

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
