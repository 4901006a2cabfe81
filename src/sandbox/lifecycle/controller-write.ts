/** Writes of the controllers: past validation, but owned by the manager that owns them in a real cluster. */

import type { Change } from "../../apiserver/watch/change.ts"
import type { MutableObject, Subresource } from "../rules/kind-rules.ts"
import type { Collection, LiveObject } from "../store/collection.ts"
import { trackReplacement } from "../writes/field-owners.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"

/** Of the garbage collector, the namespace controller and whoever publishes the root certificate. */
export const controllerManager = "kube-controller-manager"

interface ControllerWrite {
  readonly collection: Collection
  readonly live: LiveObject
  /** The stored state, parsed; not changed. */
  readonly before: MutableObject
  /** The next state, with metadata of its own; belongs to the store from then on. */
  readonly after: MutableObject
  /** Default {@link controllerManager}. */
  readonly manager?: string
  readonly subresource?: Subresource | "finalize"
}

/** Stores the next state; an unchanged one takes no version. */
export const writeAsController = (around: WriteSurroundings, write: ControllerWrite): Change => {
  const { collection, live, before, after, manager = controllerManager, subresource = "" } = write
  const kind = around.kindOf(collection.resource)
  after.metadata.managedFields = trackReplacement(around, kind, before, after, manager, subresource)
  return around.store.write(collection, after, live, before)
}
