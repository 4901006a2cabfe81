/**
 * Finds the place of each object: below the object at the top of its owner chain, in the lane of its own namespace.
 *
 * The trace is read once, and an owned object may come before its owner: kinds are watched on streams of their own, and the objects of the
 * start come kind by kind. So an object waits for its owner, for a limited time, and its sketch holds what
 * it draws; then its owner's name is all that is known of the chain. A state machine for each object: waiting → placed, and nothing after that.
 *
 * Memory: objects that are alive, and those that ended less than the limit ago.
 */
import type { LifeSketch, Root, RootLanes } from "./life-sketch.ts"
import { labelOf, type ObjectLife } from "./object-life.ts"
import { type OwnerName, placeKey } from "./owner-names.ts"

/**
 * µs of the trace's time. Streams of one API server that are healthy differ by less than a second; those that are behind by more have
 * events with an estimated time, which is right to some seconds.
 */
const LONGEST_WAIT = 10_000_000

/** The object that an object of that namespace names as its owner, if it is alive. */
type FindOwner<Lane, Sketch extends LifeSketch<Lane>> = (
  owner: OwnerName,
  namespace: string,
) => ObjectLife<Lane, Sketch> | undefined

/** Places objects. */
export class Placement<Lane, Sketch extends LifeSketch<Lane>> {
  readonly #lanes: RootLanes<Lane>
  readonly #findOwner: FindOwner<Lane, Sketch>
  /** Since when, in µs since the Unix epoch; in that order. */
  readonly #waiting = new Map<ObjectLife<Lane, Sketch>, number>()
  /** Who waits for an object of that kind and name, in any namespace. */
  readonly #awaited = new Map<string, Set<ObjectLife<Lane, Sketch>>>()
  /** Objects that ended while they waited. */
  readonly #ended = new Set<ObjectLife<Lane, Sketch>>()

  constructor(findOwner: FindOwner<Lane, Sketch>, lanes: RootLanes<Lane>) {
    this.#findOwner = findOwner
    this.#lanes = lanes
  }

  /** A new object, of which nothing has been drawn; {@link FindOwner} finds it. Release it when it is gone. */
  add(life: ObjectLife<Lane, Sketch>, time: number): void {
    if (life.subject.owner === undefined)
      life.place({ root: this.#takeTop(life.subject, life.subject.namespace), isTop: true, owner: undefined })
    else {
      this.#waiting.set(life, time)
      const key = nameKey(life.subject.owner)
      this.#awaited.set(key, (this.#awaited.get(key) ?? new Set()).add(life))
    }
    this.#settle(life)
  }

  /** The object is gone: its lane goes too when nothing else is in it. */
  release(life: ObjectLife<Lane, Sketch>): void {
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
  takeRootOf(owner: OwnerName, namespace: string): Root<Lane> {
    const above = this.#findOwner(owner, namespace)?.root
    return above === undefined ? this.#takeTop(owner, namespace) : this.#take(above, namespace)
  }

  /** Gives a lane of {@link takeRootOf} back. */
  giveBack({ lane }: Root<Lane>): void {
    this.#lanes.release(lane)
  }

  /** The lane of an object at the top of a chain, in a namespace. */
  #takeTop(root: Named, namespace: string): Root<Lane> {
    const identity = root.uid === "" ? placeKey(root.gvk, namespace, root.name) : `uid ${root.uid}`
    return this.#take({ identity, label: labelOf(root), gvk: root.gvk, name: root.name, uid: root.uid }, namespace)
  }

  #take({ identity, label, gvk, name, uid }: Omit<Root<Lane>, "lane">, namespace: string): Root<Lane> {
    const lane = this.#lanes.takeRoot({ identity, label, gvk, name, uid }, namespace)
    return { identity, label, gvk, name, uid, lane }
  }

  #ownerOf(life: ObjectLife<Lane, Sketch>): ObjectLife<Lane, Sketch> | undefined {
    return life.subject.owner === undefined ? undefined : this.#findOwner(life.subject.owner, life.subject.namespace)
  }

  /** The last object above it that waits; it may be the object itself. */
  #topOf(life: ObjectLife<Lane, Sketch>): ObjectLife<Lane, Sketch> {
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
  #settle(first: ObjectLife<Lane, Sketch>): void {
    const ahead = [first]
    for (let life = ahead.pop(); life !== undefined; life = ahead.pop()) {
      if (life.root === undefined) {
        const owner = this.#ownerOf(life)
        if (owner?.root === undefined) continue
        this.#place(life, this.#take(owner.root, life.subject.namespace), owner.sketch)
      }
      for (const waiting of this.#awaited.get(nameKey(life.subject)) ?? [])
        if (this.#ownerOf(waiting) === life) ahead.push(waiting)
    }
  }

  #placeByName(life: ObjectLife<Lane, Sketch>): void {
    if (life.subject.owner === undefined) return
    this.#place(life, this.#takeTop(life.subject.owner, life.subject.namespace))
    this.#settle(life)
  }

  #place(life: ObjectLife<Lane, Sketch>, root: Root<Lane>, owner?: Sketch): void {
    this.#waiting.delete(life)
    if (life.subject.owner !== undefined) {
      const key = nameKey(life.subject.owner)
      const others = this.#awaited.get(key)
      others?.delete(life)
      if (others?.size === 0) this.#awaited.delete(key)
    }
    life.place({ root, isTop: false, owner })
    if (this.#ended.delete(life)) this.#lanes.release(root.lane)
  }
}

/** What tells an object by. */
type Named = Pick<OwnerName, "gvk" | "name" | "uid">

const nameKey = ({ gvk, name }: Pick<Named, "gvk" | "name">): string => placeKey(gvk, "", name)
