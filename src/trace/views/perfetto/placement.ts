/**
 * Finds the lane of each object: below the object at the top of its owner chain, in the lane of its own namespace.
 *
 * The trace is read once, and an owned object may come before its owner: kinds are watched on streams of their own, and the objects of the
 * start come kind by kind. So an object waits for its owner, for a limited time, and holds its packets; then its owner's name is all that is
 * drawn of it. A state machine for each object: waiting → placed, and nothing after that.
 *
 * Memory: objects that are alive, and those that ended less than the limit ago.
 */
import { Lanes } from "./lanes.ts"
import { labelOf, type ObjectLife, type Root } from "./object-life.ts"
import { type OwnerName, placeKey } from "./owner-names.ts"
import type { PacketWriter } from "./tracks.ts"

/**
 * µs of the trace's time. Streams of one API server that are healthy differ by less than a second; those that are behind by more have
 * events with an estimated time, which is right to some seconds.
 */
const LONGEST_WAIT = 10_000_000

/** The object that an object of that namespace names as its owner, if it is alive. */
export type FindOwner = (owner: OwnerName, namespace: string) => ObjectLife | undefined

/** Places objects. */
export class Placement {
  readonly #lanes: Lanes
  readonly #findOwner: FindOwner
  /** Since when, in µs since the Unix epoch; in that order. */
  readonly #waiting = new Map<ObjectLife, number>()
  /** Who waits for an object of that kind and name, in any namespace. */
  readonly #awaited = new Map<string, Set<ObjectLife>>()
  /** Objects that ended while they waited. */
  readonly #ended = new Set<ObjectLife>()

  constructor(findOwner: FindOwner, write: PacketWriter) {
    this.#findOwner = findOwner
    this.#lanes = new Lanes(write)
  }

  /** A new object, of which nothing has been drawn; {@link FindOwner} finds it. Release it when it is gone. */
  add(life: ObjectLife, time: number): void {
    if (life.owner === undefined) life.placeOn(this.#takeTop(life, life.namespace))
    else {
      this.#waiting.set(life, time)
      const key = nameKey(life.owner)
      this.#awaited.set(key, (this.#awaited.get(key) ?? new Set()).add(life))
    }
    this.#settle(life)
  }

  /** The object is gone: its lane goes too when nothing else is in it. */
  release(life: ObjectLife): void {
    if (life.root === undefined) this.#ended.add(life)
    else this.#lanes.release(life.root.lane)
  }

  /** Places what has waited for too long at `time`, in µs since the Unix epoch. */
  expire(time: number): void {
    for (const [life, since] of this.#waiting) {
      if (since + LONGEST_WAIT > time) return
      this.#placeByName(this.#topOf(life))
      // In a circle of owners nobody is at the top.
      if (life.root === undefined) this.#placeByName(life)
    }
  }

  /** The lane of an owner that an object of that namespace names; give it back. */
  takeRootOf(owner: OwnerName, namespace: string): Root {
    const above = this.#findOwner(owner, namespace)?.root
    return above === undefined ? this.#takeTop(owner, namespace) : this.#take(above.identity, above.label, namespace)
  }

  /** Gives a lane of {@link takeRootOf} back. */
  giveBack({ lane }: Root): void {
    this.#lanes.release(lane)
  }

  /** The lane of an object at the top of a chain, in a namespace. */
  #takeTop(root: Named, namespace: string): Root {
    const identity = root.uid === "" ? placeKey(root.gvk, namespace, root.name) : `uid ${root.uid}`
    return this.#take(identity, labelOf(root), namespace)
  }

  #take(identity: string, label: string, namespace: string): Root {
    const above = namespace === "" ? "objects without a namespace" : `namespace ${namespace}`
    const parent = { key: `namespace ${namespace}`, name: above, children: "by name" } as const
    const lane = this.#lanes.take({ key: `${namespace} ${identity}`, name: label, parent, children: "by time" })
    return { identity, label, lane }
  }

  #ownerOf(life: ObjectLife): ObjectLife | undefined {
    return life.owner === undefined ? undefined : this.#findOwner(life.owner, life.namespace)
  }

  /** The last object above it that waits; it may be the object itself. */
  #topOf(life: ObjectLife): ObjectLife {
    const seen = new Set([life])
    let top = life
    for (let owner = this.#ownerOf(top); owner !== undefined && owner.root === undefined; owner = this.#ownerOf(top)) {
      if (seen.has(owner)) break
      seen.add(owner)
      top = owner
    }
    return top
  }

  /** Places what its owner's lane shows where to place, and then all that waited for that. */
  #settle(first: ObjectLife): void {
    const ahead = [first]
    for (let life = ahead.pop(); life !== undefined; life = ahead.pop()) {
      if (life.root === undefined) {
        const above = this.#ownerOf(life)?.root
        if (above === undefined) continue
        this.#place(life, this.#take(above.identity, above.label, life.namespace))
      }
      for (const waiting of this.#awaited.get(nameKey(life)) ?? [])
        if (this.#ownerOf(waiting) === life) ahead.push(waiting)
    }
  }

  #placeByName(life: ObjectLife): void {
    if (life.owner === undefined) return
    this.#place(life, this.#takeTop(life.owner, life.namespace))
    this.#settle(life)
  }

  #place(life: ObjectLife, root: Root): void {
    this.#waiting.delete(life)
    if (life.owner !== undefined) {
      const key = nameKey(life.owner)
      const others = this.#awaited.get(key)
      others?.delete(life)
      if (others?.size === 0) this.#awaited.delete(key)
    }
    life.placeBelow(root)
    if (this.#ended.delete(life)) this.#lanes.release(root.lane)
  }
}

/** What tells an object by. */
type Named = Pick<OwnerName, "gvk" | "name" | "uid">

const nameKey = ({ gvk, name }: Pick<Named, "gvk" | "name">): string => placeKey(gvk, "", name)
