/**
 * Finds out what was deleted while nothing watched: compares the objects that a controller knows with the state that its watch begins with.
 *
 * ```
 *            seen, ended                  completed
 *  comparing ───────────▶ comparing  ───────────────▶ over: nothing is left to compare
 * ```
 *
 * Guaranteed, in whatever order the state arrives and changes meanwhile: each known object that is not in the state is returned exactly once,
 * before another object of its name and at the latest with the completed state; none is returned that is in the state, or whose deletion was
 * delivered by the watch itself. UIDs decide: an object that was deleted and created again is two.
 */
import { keyOf } from "../cache/object-cache.ts"
import type { KnownObject } from "./known-objects.ts"

export class StateComparison {
  readonly #unseen = new Map<string, KnownObject>()
  readonly #uids = new Map<string, Set<string>>()
  /** Deleted while the state arrived: a part of the state that was read earlier may still have them. */
  readonly #ended = new Set<string>()

  constructor(known: Iterable<KnownObject>) {
    for (const object of known) {
      const { uid } = object.metadata
      const key = keyOf(object)
      this.#unseen.set(uid, object)
      this.#uids.set(key, (this.#uids.get(key) ?? new Set()).add(uid))
    }
  }

  /** The state has an object. Returns the former objects of its name, which must be gone. */
  seen(key: string, uid: string): ReadonlyArray<KnownObject> {
    this.#unseen.delete(uid)
    const uids = this.#uids.get(key)
    if (uids === undefined) return []
    this.#uids.delete(key)
    return [...uids].flatMap((other) => this.#take(other) ?? [])
  }

  /** The watch itself delivers the deletion. */
  ended(uid: string): void {
    this.#unseen.delete(uid)
    this.#ended.add(uid)
  }

  /** Whether the deletion of the object has been delivered since the comparison began. */
  hasEnded(uid: string): boolean {
    return this.#ended.has(uid)
  }

  /** The state is complete. Returns what else is gone. */
  completed(): ReadonlyArray<KnownObject> {
    const gone = [...this.#unseen.values()]
    this.#unseen.clear()
    this.#uids.clear()
    return gone
  }

  #take(uid: string): KnownObject | undefined {
    const object = this.#unseen.get(uid)
    this.#unseen.delete(uid)
    return object
  }
}
