/**
 * The objects of a selection by UID, in the order in which they became known, and walks through them that may take any time: what a slow subscriber has
 * not been given of the present state costs a few numbers, not an entry for each object.
 *
 * A walk passes each object that existed when it began and still exists when it gets there, once, in the state of that moment. Places of objects that
 * are gone stay empty until half of all are.
 */
import type { ObjectState } from "./object-state.ts"

interface Place {
  /** Its order among all objects that the selection has ever had. */
  readonly ordinal: number
  /** `undefined`: the object is gone. */
  object: ObjectState | undefined
}

/** The ordinal of an object that is not here: no walk has it before it. */
export const noOrdinal = 0

/** Below so many places, empty ones are left. */
const fewPlaces = 64

/** The index of the first item from `start` on for which `holds`, as it must for all that follow; the length if there is none. */
export const firstIndex = <Item>(items: ReadonlyArray<Item>, start: number, holds: (item: Item) => boolean): number => {
  let low = start
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(items[middle] as Item)) high = middle
    else low = middle + 1
  }
  return low
}

export class ObjectPlaces {
  readonly #byUid = new Map<string, Place>()
  /** With rising ordinals. */
  #places: Place[] = []
  #lastOrdinal = noOrdinal

  get size(): number {
    return this.#byUid.size
  }

  get(uid: string): ObjectState | undefined {
    return this.#byUid.get(uid)?.object
  }

  *[Symbol.iterator](): Iterator<ObjectState> {
    for (const { object } of this.#places) if (object !== undefined) yield object
  }

  /** Adds the object, or replaces its state. Returns its ordinal, which it keeps until it is removed. */
  put(object: ObjectState): number {
    const known = this.#byUid.get(object.uid)
    if (known !== undefined) {
      known.object = object
      return known.ordinal
    }
    const place: Place = { ordinal: ++this.#lastOrdinal, object }
    this.#byUid.set(object.uid, place)
    this.#places.push(place)
    return place.ordinal
  }

  /** Returns the ordinal that the object had; {@link noOrdinal} if it is not here. */
  remove(uid: string): number {
    const place = this.#byUid.get(uid)
    if (place === undefined) return noOrdinal
    this.#byUid.delete(uid)
    place.object = undefined
    if (this.#places.length > fewPlaces && this.#places.length > 2 * this.#byUid.size)
      this.#places = this.#places.filter(({ object }) => object !== undefined)
    return place.ordinal
  }

  /** A walk through the present objects. */
  walk(): ObjectWalk {
    return new ObjectWalk(this, this.#lastOrdinal)
  }

  /** For walks: the place at an index. */
  at(index: number): Place | undefined {
    return this.#places[index]
  }

  /** For walks: the index of the first place after an ordinal. */
  indexAfter(ordinal: number): number {
    return firstIndex(this.#places, 0, (place) => place.ordinal > ordinal)
  }
}

export class ObjectWalk {
  readonly #objects: ObjectPlaces
  /** The last object that belongs to it. */
  readonly #end: number
  #passed = noOrdinal
  /** Of the next place, unless places have closed up since. */
  #index = 0

  constructor(objects: ObjectPlaces, end: number) {
    this.#objects = objects
    this.#end = end
  }

  /** Passes the next object and returns it; `undefined` at the end. */
  next(): ObjectState | undefined {
    for (let place = this.#ahead(); place !== undefined; place = this.#ahead()) {
      this.#passed = place.ordinal
      this.#index++
      if (place.object !== undefined) return place.object
    }
    return undefined
  }

  /** Objects that it has not passed, at most: those that are gone meanwhile may be among them. */
  get ahead(): number {
    return this.#objects.indexAfter(this.#end) - this.#objects.indexAfter(this.#passed)
  }

  /** Whether the walk comes to the object of that ordinal, if that exists then. */
  isBefore(ordinal: number): boolean {
    return ordinal > this.#passed && ordinal <= this.#end
  }

  #ahead(): Place | undefined {
    // They only ever move towards the beginning.
    if (this.#index > 0 && this.#objects.at(this.#index - 1)?.ordinal !== this.#passed)
      this.#index = this.#objects.indexAfter(this.#passed)
    const place = this.#objects.at(this.#index)
    return place === undefined || place.ordinal > this.#end ? undefined : place
  }
}
