/**
 * Field numbers and shapes of `proto/observations.proto` that its writer and its reader share.
 *
 * The messages are coded by hand over protobufjs's Writer and Reader because generated code would create an array and an object per event;
 * a test compares every field with the .proto file through reflection.
 */

import type { Action, LateCause, RecordedGapReason, TraceGapReason } from "../trace/index.ts"

/** An action as encoded in its column. */
export type ActionCode = 1 | 2 | 3

/** The object is new or changed; includes its bytes. */
export const APPLIED: ActionCode = 1
/** The object was deleted; includes its last state. */
export const DELETED: ActionCode = 2
/** The object was missing from a list; without bytes. */
export const VANISHED: ActionCode = 3

/** Name of an action code; index 0 is no action. */
export const ACTION_NAMES: readonly [undefined, Action, Action, Action] = [undefined, "applied", "deleted", "vanished"]

/** Every valid reason of a gap; anything else on the wire is malformed. */
export const GAP_REASONS: ReadonlyArray<RecordedGapReason> = [
  ...(["expired", "overload", "stopped", "cluster-restored", "damaged", "dropped-before-upload"] as const),
]

/** Every valid cause of a late range; anything else on the wire is malformed. */
export const LATE_CAUSES: ReadonlyArray<LateCause> = ["stopped", "disconnected", "delayed"]

/** A new object: the facts that outlive its events. */
export interface NewObject {
  /** Number of this UID within its kind (1 … 2^32−1), assigned once, never reused. */
  readonly number: number
  readonly uid: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  /** The JSON array `metadata.ownerReferences` as the server sent it; absent if the object has none. */
  readonly ownerReferences?: Uint8Array
}

/** A range of one kind's versions that is not recorded, before the store has given it a sequence number. */
export interface Gap {
  /** Last complete version, the empty string if nothing was known. */
  readonly fromVersion: string
  /** Version from which on the recording is complete again, the empty string while it is not. */
  readonly toVersion: string
  /** µs since the Unix epoch: last moment known to be complete. */
  readonly fromTime: number
  /** µs since the Unix epoch: moment at which it was complete again. */
  readonly toTime: number
  readonly reason: TraceGapReason
  /** One sentence for people. */
  readonly detail: string
  /** The only namespace in which changes are missing; the empty string: they may be missing in all, or the kind has none. */
  readonly namespace: string
  /** The kind of the gap if it is not the frame's: the pod watcher reports gaps of pods and of their lifecycles. */
  readonly gvk?: string
}

/**
 * Changes of a kind that were received later than they happened. Each of them happened between `notBefore` and `notAfter`, and not after it
 * was received. Times are µs since the Unix epoch.
 */
export interface LateRange {
  readonly notBefore: number
  readonly notAfter: number
  /** When the first and the last of them were received. */
  readonly receivedFrom: number
  readonly receivedTo: number
  /** How many they are. */
  readonly events: number
  readonly cause: LateCause
  /** The only namespace of the changes; the empty string: they may be of any, or the kind has none. */
  readonly namespace: string
}

/** The identity of a pod, sent with the first record of its lifecycle. */
export interface PodIdentity {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** H of the stable pod spec (docs/facts/simkube.md#pod-lifecycles), an unsigned 64-bit integer. */
  readonly specHash: bigint
}

/** The state of a pod's lifecycle from now on. Start and end are whole seconds since the Unix epoch by the clock of the pod's node. */
export interface PodLife {
  /** The recording's number for the pod's UID (1 … 2^32−1), assigned once. */
  readonly pod: number
  /** µs since the Unix epoch: when it happened; that is when it was observed, unless it was observed later. */
  readonly time: number
  /** When it was observed; absent: when it happened. */
  readonly received?: number
  readonly start: number
  /** Never before `start`; `undefined` while it runs. */
  readonly end: number | undefined
  /** The pod no longer exists: nothing follows. */
  readonly gone: boolean
  /** Sent with the first record of a pod, and again with new owners. */
  readonly identity?: PodIdentity
  /** The JSON array `metadata.ownerReferences`, sent with `identity` if it has changed. */
  readonly ownerReferences?: Uint8Array
}

/** Bytes before the objects: the tag of field 1 and its length padded to five bytes. */
export const PAYLOAD_HEADER_BYTES = 6

/** Maximum bytes of all columns of one event: action 1, number 4, length 4, time 4, version 8, fingerprint 8, lateness 8. */
export const COLUMN_BYTES_PER_EVENT = 37
