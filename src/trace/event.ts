/**
 * The event model: the contents of a recording, independent of how it is stored or written to a file.
 *
 * Events are read from a recording in the order of (time, sequence); the events of one object always in sequence order.
 */

/**
 * What happened to the object. `deleted` carries the object's last state as the server sent it. `vanished` is a deletion that was not
 * observed but follows from a list without the object: it carries no object bytes, and a gap of the same kind covers the time in which it
 * happened.
 */
export type Action = "applied" | "deleted" | "vanished"

/** One observed change of one object. */
export interface ObjectEvent {
  readonly type: "object"
  /** Position in the recording; unique, increases by one per event. */
  readonly sequence: number
  /**
   * When it happened: µs since the Unix epoch by the receiver's clock (an integer below 2^53). That is when its bytes were read, and an
   * estimate if they were read later than it happened.
   */
  readonly time: number
  /** When its bytes were read, in the same unit; only if that was later than it happened. */
  readonly received?: number
  /** `apps/v1.Deployment`; older recordings and foreign traces have objects without apiVersion and kind, so this is the authority. */
  readonly gvk: string
  readonly action: Action
  readonly uid: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  /**
   * As the server wrote it. For `vanished`: the version of the list without the object, or of the object that replaced it under its name.
   */
  readonly resourceVersion: string
  /**
   * The JSON of the object exactly as the server sent it, with the kind and apiVersion that lists omit; empty for `vanished`. Valid until the
   * next event is taken.
   */
  readonly object: Uint8Array
}

/**
 * Why changes were received later than they happened: no recorder was running, its stream was disconnected, or the stream was silent or
 * behind.
 */
export type LateCause = "stopped" | "disconnected" | "delayed"

/** Which time of an event counts: when it happened, which may be an estimate, or when it was received. */
export type EventTimes = "happened" | "received"

/**
 * Changes of a kind that were received later than they happened. None is missing, but when each of them happened is an estimate: it is
 * between `notBefore` and `notAfter`, and not after it was received. Times are µs since the Unix epoch.
 */
export interface LateChanges {
  readonly gvk: string
  /** The only namespace of the changes; the empty string: they may be of any, or the kind is cluster-scoped. */
  readonly namespace: string
  readonly notBefore: number
  readonly notAfter: number
  /** When the first and the last of them were received. */
  readonly receivedFrom: number
  readonly receivedTo: number
  /** How many they are. */
  readonly events: number
  readonly cause: LateCause
}

/** Why a range of versions of one kind is not in the recording. */
export type GapReason = "expired" | "overload" | "stopped" | "cluster-restored" | "damaged"

/** The same of all gaps. `dropped-before-upload`: a full disk had no room for it until it was archived. */
export type RecordedGapReason = GapReason | "dropped-before-upload"

/** The same of a trace. `unlogged`: it was made from audit logs, which have changes without the objects that these led to. */
export type TraceGapReason = RecordedGapReason | "unlogged"

/** A range of one kind's history that is missing from the recording. It is in every export of the kind and namespace concerned. */
export interface GapEvent {
  readonly type: "gap"
  readonly sequence: number
  /** µs since the Unix epoch at which the gap was closed (the list that ended it was complete). */
  readonly time: number
  readonly gvk: string
  /** The only namespace in which changes are missing; the empty string: they may be missing in any, or the kind is cluster-scoped. */
  readonly namespace: string
  /** Last complete version; the empty string if nothing was known. */
  readonly fromVersion: string
  /** Version from which the recording is complete again; the empty string while the gap is open. */
  readonly toVersion: string
  /** µs since the Unix epoch: the last moment known to be complete, and the moment it was complete again. */
  readonly fromTime: number
  readonly toTime: number
  readonly reason: TraceGapReason
  /** One sentence for people: the server's response. */
  readonly detail: string
}

export type TraceEvent = ObjectEvent | GapEvent
