/** One change of one object, and what a subscription with a filter sees of it. */

import type { ResourceVersion } from "../../../kube/offline.ts"
import { noOrdinal } from "./object-places.ts"
import type { ObjectFilter, ObjectState } from "./object-state.ts"

/** What a subscription receives about an object. */
export interface ObjectEvent {
  readonly type: "added" | "modified" | "deleted"
  /** Of one that is gone: its last state. */
  readonly object: ObjectState
  /**
   * The object was deleted while no watch was open: a list has shown that it is gone, and `object` is the last state known, which may not be
   * its last.
   */
  readonly isFinalStateUnknown: boolean
  /** Of a deletion: the subscriber has not received the object's addition. */
  readonly isUnknown?: boolean
}

const event = (type: ObjectEvent["type"], object: ObjectState, isFinalStateUnknown = false): ObjectEvent => ({
  type,
  object,
  isFinalStateUnknown,
})

interface ChangeDetails {
  /** Absent: the object exists. */
  readonly end?: "deleted" | "vanished"
  /** See {@link StateChange.ordinal}. Default: that of an object that the selection does not have. */
  readonly ordinal?: number
}

export class StateChange {
  readonly previous: ObjectState | undefined
  /** Of a deletion: the last state. */
  readonly object: ObjectState
  /** Where walks through the selection come to the object. */
  readonly ordinal: number
  /** For subscriptions without a filter, which share it. */
  readonly whole: ObjectEvent
  #left: ObjectEvent | undefined

  constructor(
    previous: ObjectState | undefined,
    object: ObjectState,
    { end, ordinal = noOrdinal }: ChangeDetails = {},
  ) {
    this.previous = previous
    this.object = object
    this.ordinal = ordinal
    if (end === undefined) this.whole = event(previous === undefined ? "added" : "modified", object)
    else this.whole = event("deleted", object, end === "vanished")
  }

  /** Bytes that this change may keep alive. */
  get bytes(): number {
    return this.object.bytes.length + (this.previous?.bytes.length ?? 0)
  }

  /**
   * What a watch with that selector would send: an object that stops matching is deleted with its last state that matched, under the version
   * of the change. `undefined`: nothing.
   */
  within(filter: ObjectFilter | undefined): ObjectEvent | undefined {
    if (filter === undefined) return this.whole
    const { previous, object, whole } = this
    const hasMatched = previous !== undefined && filter(previous)
    if (whole.type === "deleted") return hasMatched || (previous === undefined && filter(object)) ? whole : undefined
    if (filter(object)) return hasMatched === (previous !== undefined) ? whole : event("added", object)
    if (!hasMatched) return undefined
    this.#left ??= event("deleted", previous.withVersion(object.version))
    return this.#left
  }
}

/**
 * What a consumer receives that has not taken `waiting` yet. If it does not know the object, it receives an addition,
 * even if the object has changed since, and a deletion all the same. If it knows the object, it receives no addition
 * when the object has left the selection and come back.
 */
export const foldEvents = (waiting: ObjectEvent, next: ObjectEvent): ObjectEvent => {
  const isKnown = waiting.type === "modified" || (waiting.type === "deleted" && waiting.isUnknown !== true)
  if (next.type === "deleted") return isKnown ? next : { ...next, isUnknown: true }
  const type = isKnown ? "modified" : "added"
  return next.type === type ? next : event(type, next.object)
}

/** Whether a version is above another one of the same history. False if there is none, or if they cannot be compared. */
export const isAbove = (
  version: ResourceVersion | string | undefined,
  other: ResourceVersion | string | undefined,
): boolean => isComparable(version) && isComparable(other) && version > other

const isComparable = (version: ResourceVersion | string | undefined): version is ResourceVersion =>
  version !== undefined && typeof version !== "string"
