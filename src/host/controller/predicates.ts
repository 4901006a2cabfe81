/**
 * Which changes of an object wake a controller. Names and rules are controller-runtime's: additions and deletions always pass; only changes of an object
 * that was known before are judged.
 *
 * A predicate only saves work. It sees the last two states that this process knows, so intermediate ones may be missing after an interruption.
 */

import { isDeepStrictEqual } from "node:util"
import type { ApiObject, ObjectBase } from "../../kube/client/objects.ts"
import type { ObjectChange } from "../cache/change-feed.ts"

/** `previous` is absent for an object that was not known, `current` for one that is gone. Returns whether the change counts. */
export type Predicate<T extends ObjectBase = ApiObject> = (change: ObjectChange<T>) => boolean

const whenBoth =
  (differs: (previous: ObjectBase, current: ObjectBase) => boolean): Predicate =>
  ({ previous, current }) =>
    previous === undefined || current === undefined || differs(previous, current)

/**
 * The spec has changed, or the deletion began: the server counts both in `metadata.generation`. For kinds that have generations: custom ones (those with a
 * `status` subresource count only the spec) and most built-in ones, but not ConfigMaps, Secrets and the like, for which it would never pass.
 */
export const generationChanged: Predicate = whenBoth(
  (previous, current) => previous.metadata.generation !== current.metadata.generation,
)

export const labelsChanged: Predicate = whenBoth(
  (previous, current) => !isDeepStrictEqual(previous.metadata.labels ?? {}, current.metadata.labels ?? {}),
)

export const annotationsChanged: Predicate = whenBoth(
  (previous, current) => !isDeepStrictEqual(previous.metadata.annotations ?? {}, current.metadata.annotations ?? {}),
)

/** At least one of them passes. */
export const anyOf =
  <T extends ObjectBase = ApiObject>(...predicates: ReadonlyArray<Predicate<T>>): Predicate<T> =>
  (change) =>
    predicates.some((passes) => passes(change))

/** All of them pass. */
export const allOf =
  <T extends ObjectBase = ApiObject>(...predicates: ReadonlyArray<Predicate<T>>): Predicate<T> =>
  (change) =>
    predicates.every((passes) => passes(change))
