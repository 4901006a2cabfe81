/**
 * The present objects of one selection, each once, as bytes; and what changes when the watch delivers an event or a list is complete.
 *
 * UIDs identify objects: an object that is deleted and created again under its name is two objects. A list shows which objects have been
 * deleted while no watch was open, and those deletions come first, so no two objects ever have one name.
 */

import type { ObservedObject } from "../../../kube/index.ts"
import { compareResourceVersions } from "../../../kube/offline.ts"
import { ObjectPlaces, type ObjectWalk } from "./object-places.ts"
import { identityOf, keptBytes, ObjectState, uidOf } from "./object-state.ts"
import { StateChange } from "./state-change.ts"

const deletedAction = 2

export class SelectionState {
  readonly #keepManagedFields: boolean
  readonly #objects = new ObjectPlaces()
  #listed = new Map<string, ObjectState>()
  #bytes = 0
  /** The known versions are those of a former history. */
  #isOutdated = false

  constructor(keepManagedFields: boolean) {
    this.#keepManagedFields = keepManagedFields
  }

  get size(): number {
    return this.#objects.size
  }

  /** Bytes of the present objects. */
  get bytes(): number {
    return this.#bytes
  }

  /** Through the present objects, for a subscriber that takes them in its own time. */
  walk(): ObjectWalk {
    return this.#objects.walk()
  }

  /** An event of the watch. */
  watched(observed: Readonly<ObservedObject>): StateChange {
    const uid = uidOf(observed)
    const known = this.#objects.get(uid)
    const object = this.#stateOf(observed, uid, known)
    if (observed.action === deletedAction) {
      return new StateChange(known, object, { end: "deleted", ordinal: this.#remove(uid) })
    }
    return new StateChange(known, object, { ordinal: this.#enter(object, known) })
  }

  /** Items of a former list that was not completed are forgotten. */
  listStarted(): void {
    this.#listed = new Map()
  }

  listed(observed: Readonly<ObservedObject>): void {
    const uid = uidOf(observed)
    const known = this.#objects.get(uid)
    const isSame = known !== undefined && !this.#isOutdated && known.version === observed.version
    this.#listed.set(uid, isSame ? known : this.#stateOf(observed, uid, known))
  }

  /**
   * The list replaces what was known. Returns the differences: first the objects that are gone, then the others in the
   * order of their versions, so that a version can be taken for the progress of a consumer that got all changes up to
   * it.
   */
  listCompleted(): ReadonlyArray<StateChange> {
    const listed = this.#listed
    this.#listed = new Map()
    const changes: StateChange[] = []
    const vanished = [...this.#objects].filter(({ uid }) => !listed.has(uid))
    for (const known of vanished)
      changes.push(new StateChange(known, known, { end: "vanished", ordinal: this.#remove(known.uid) }))
    for (const object of [...listed.values()].sort(byVersion)) {
      const known = this.#objects.get(object.uid)
      if (known === object) continue
      const ordinal = this.#enter(object, known)
      if (known === undefined || !known.bytes.equals(object.bytes))
        changes.push(new StateChange(known, object, { ordinal }))
    }
    this.#isOutdated = false
    return changes
  }

  /** Versions of the known objects cannot be compared with later ones: what the next list contains replaces them. */
  historyStarted(): void {
    this.#isOutdated = true
  }

  #stateOf(observed: Readonly<ObservedObject>, uid: string, known: ObjectState | undefined): ObjectState {
    // Names never change, so all states of an object share their strings.
    return new ObjectState(
      known ?? identityOf(observed, uid),
      observed.version,
      keptBytes(observed, this.#keepManagedFields),
    )
  }

  #enter(object: ObjectState, known: ObjectState | undefined): number {
    this.#bytes += object.bytes.length - (known?.bytes.length ?? 0)
    return this.#objects.put(object)
  }

  #remove(uid: string): number {
    this.#bytes -= this.#objects.get(uid)?.bytes.length ?? 0
    return this.#objects.remove(uid)
  }
}

const byVersion = ({ version: left }: ObjectState, { version: right }: ObjectState): number =>
  typeof left === "string" || typeof right === "string" ? 0 : compareResourceVersions(left, right)
