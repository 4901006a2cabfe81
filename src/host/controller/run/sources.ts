/** From changes of watched objects to keys of the controller's objects. */

import type { ApiObject, Kind } from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import type { ObjectChange } from "../../cache/change-feed.ts"
import { keyOf, objectKey } from "../../cache/object-cache.ts"
import { frozen, type ObjectName } from "../access/cached-objects.ts"
import type { DefinedController, Owned, Predicate, Reads, Selection, Subject, Watch } from "../define-controller.ts"
import { groupOf } from "../objects/owner-references.ts"

/** A watched selection and what a change in it concerns. */
export interface Source {
  readonly selection: Selection
  /** The keys that a change concerns, some perhaps repeatedly. May throw: the caller's functions are called. */
  keysOf(change: ObjectChange<ApiObject>): Iterable<string>
}

/** `subject`: the resource of `for`. `reads`: for the map functions. */
export const sourcesOf = (controller: DefinedController, subject: Kind, reads: Reads): ReadonlyArray<Source> => [
  ofSubject(controller.for),
  ...controller.owns.map((owned) => ofOwned(owned, controller.for, subject)),
  ...controller.watches.map((watch) => ofWatch(watch, reads)),
]

/** Calls `enqueue` for every key that the changes concern. A function of the controller that throws costs only its own change, and is reported. */
export const deliver = (
  { selection, keysOf }: Source,
  changes: ReadonlyArray<ObjectChange<ApiObject>>,
  enqueue: (key: string) => void,
  trouble: (detail: string) => void,
): void => {
  for (const change of changes) {
    try {
      for (const key of keysOf(change)) enqueue(key)
    } catch (error) {
      const object = change.current ?? change.previous
      trouble(
        `${selection.kind} ${object === undefined ? "" : keyOf(object)}: a predicate or map threw: ${messageOf(error)}`,
      )
    }
  }
}

/** The objects are those of the shared cache, so they are frozen before a function of the controller gets them. */
const passes = (predicate: Predicate | undefined, change: ObjectChange<ApiObject>): boolean => {
  if (predicate === undefined) return true
  frozen(change.previous)
  frozen(change.current)
  return predicate(change)
}

const ofSubject = (subject: Subject): Source => ({
  selection: subject,
  keysOf: (change) => {
    const object = change.current ?? change.previous
    return object === undefined || !passes(subject.predicate, change) ? [] : [keyOf(object)]
  },
})

const ofOwned = (owned: Owned, { namespace: only }: Subject, { gvk, namespaced }: Kind): Source => ({
  selection: owned,
  *keysOf(change) {
    if (!passes(owned.predicate, change)) return
    // Before and after: an object that was released or adopted concerns both owners.
    for (const object of [change.previous, change.current]) {
      const { namespace, ownerReferences = [] } = object?.metadata ?? {}
      for (const reference of ownerReferences) {
        if (reference.controller !== true && owned.matchEveryOwner !== true) continue
        // Any version: an owner keeps the reference of the version that its controller used then.
        if (reference.kind !== gvk.kind || groupOf(reference.apiVersion) !== gvk.group) continue
        if (!namespaced || only === undefined || only === namespace)
          yield objectKey(namespaced ? namespace : undefined, reference.name)
      }
    }
  },
})

const ofWatch = (watch: Watch, reads: Reads): Source => ({
  selection: watch,
  *keysOf(change) {
    if (!passes(watch.predicate, change)) return
    for (const object of [change.previous, change.current])
      if (object !== undefined) for (const named of watch.map(frozen(object), reads)) yield keyOfName(named)
  },
})

const keyOfName = (named: string | ObjectName): string =>
  typeof named === "string" ? named : objectKey(named.namespace, named.name)
