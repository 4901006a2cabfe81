/** Writes of the built-in controllers: without validation, but with the field manager that a real cluster has. */

import { type Change, troubleOf } from "../../apiserver/index.ts"
import { WorkQueue } from "../../host/index.ts"
import type { MutableObject, Subresource } from "../rules/kind-rules.ts"
import type { Collection, LiveObject } from "../store/collection.ts"
import { Refusal } from "../store/refusal.ts"
import { trackReplacement } from "../writes/field-owners.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { admitted } from "../writes/webhook-attempts.ts"

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

// Deferred work of the sandbox's built-in controllers: processed one key after the other, in a timer of the server's
// clock. So a controller never acts in the middle of the write that triggered it, and a test with its own clock decides
// when it acts. A key whose processing fails is reported and dropped; the others are processed. One that an admission
// webhook refuses is tried again later, as by the real controllers.

export const deferredWork = (
  around: WriteSurroundings,
  work: (around: WriteSurroundings, key: string) => void,
): WorkQueue => {
  const { clock, onTrouble } = around
  const queue = new WorkQueue({
    clock,
    process: (key) => admitted(around, (own) => work(own, key)),
    concurrency: 1,
    start: "timer",
    maximumRetries: 0,
    onError(key, error) {
      onTrouble(troubleOf(`work on ${JSON.stringify(key)}`, error))
      if (error instanceof Refusal) queue.addRateLimited(key)
    },
  })
  return queue
}
