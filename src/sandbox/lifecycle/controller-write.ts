/** Writes of the built-in controllers: without validation, but with the field manager that a real cluster has. */

import type { Change } from "../../apiserver/watch/change.ts"
import type { MutableObject, Subresource } from "../rules/kind-rules.ts"
import type { Collection, LiveObject } from "../store/collection.ts"
import { trackReplacement } from "../writes/field-owners.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"

/** The manager of the garbage collector, the namespace controller and the root certificate publisher. */
export const controllerManager = "kube-controller-manager"

interface ControllerWrite {
  readonly collection: Collection
  readonly live: LiveObject
  /** The stored state, parsed; not changed. */
  readonly before: MutableObject
  /** The next state, with its own metadata; the store owns it from then on. */
  readonly after: MutableObject
  /** Default {@link controllerManager}. */
  readonly manager?: string
  readonly subresource?: Subresource | "finalize"
}

/** Stores the next state; an unchanged one gets no new version. */
export const writeAsController = (around: WriteSurroundings, write: ControllerWrite): Change => {
  const { collection, live, before, after, manager = controllerManager, subresource = "" } = write
  const kind = around.kindOf(collection.resource)
  after.metadata.managedFields = trackReplacement(around, kind, before, after, manager, subresource)
  return around.store.write(collection, after, live, before)
}
