/**
 * The present state of a selection while a subscriber takes it in its own time: each object once, as it is then. Whatever happens meanwhile to
 * objects that are still to come is part of it.
 */
import type { ResourceVersion } from "../../../kube/resource-version.ts"
import type { ObjectFilter } from "../hub-selection.ts"
import type { ObjectWalk } from "./object-places.ts"
import type { ObjectEvent, StateChange } from "./state-change.ts"

export class PresentState {
  readonly #walk: ObjectWalk
  /** `undefined`: all objects. */
  readonly #filter: ObjectFilter | undefined
  /** All changes up to it are part of the state. Objects that were taken late may be newer. */
  version: ResourceVersion | string

  /** `walk` has the state of `version`. */
  constructor(walk: ObjectWalk, filter: ObjectFilter | undefined, version: ResourceVersion | string) {
    this.#walk = walk
    this.#filter = filter
    this.version = version
  }

  /** Objects that are still to be looked at, at most. */
  get left(): number {
    return this.#walk.ahead
  }

  /** The addition of the next object that is selected; `undefined` at the end. */
  next(): ObjectEvent | undefined {
    for (let object = this.#walk.next(); object !== undefined; object = this.#walk.next())
      if (this.#filter === undefined || this.#filter(object))
        return { type: "added", object, isFinalStateUnknown: false }
    return undefined
  }

  /** Whether the object of the change is still to come: then nobody has to be told of the change. */
  includes(change: StateChange): boolean {
    return this.#walk.isBefore(change.ordinal)
  }
}
