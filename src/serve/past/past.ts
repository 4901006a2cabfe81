/**
 * A recorded past, as a source of states and changes: a recording's directory or a trace. All times are µs since the Unix epoch by the recorder's clock.
 *
 * Every method may take a while and is asynchronous, so that the reading can move to a thread of its own; it works in turns of a few ms and lets other
 * work run in between.
 */
import type { Action, GapEvent, LateChanges } from "../../trace/index.ts"

/** One state of one object. */
export interface PastChange {
  readonly time: number
  readonly action: Action
  /** Empty in traces that were written for replays. */
  readonly uid: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  /** Of the recorded object. If that has none, the change's number, which increases with each; then {@link PastChange.isNumbered}. */
  readonly version: bigint
  /** Whether the object itself has no resourceVersion, or none that is a number. */
  readonly isNumbered: boolean
  /** Whether its status may be older than the moment of the state, because changes of status were not recorded. */
  readonly isStatusUnknown: boolean
  /** The object's JSON. Empty for `vanished`, and for deletions of which only the name was written down. Belongs to the receiver. */
  readonly object: Buffer
}

/** A kind that is recorded in some part of the past. */
export interface PastKind {
  /** `apps/v1.Deployment` */
  readonly gvk: string
  /** The first moment at which all its objects are known. */
  readonly since: number
  /**
   * The moments at which its cluster was replaced by another state of it (a restored backup): `from` the last moment of the old history, `to` the
   * first at which all objects of the new one are known. Versions are comparable only between two of them. In order.
   */
  readonly restarts: ReadonlyArray<{ readonly from: number; readonly to: number }>
  /** What a reader should know of the kind whenever it reads it, one sentence each without a full stop. */
  readonly remarks: ReadonlyArray<string>
  /** The same, said only of moments at which the status of an object is unknown; absent if a remark says it of all. */
  readonly statusRemark?: string | undefined
  /** What the API server's discovery said of it; absent if that was not recorded. */
  readonly names?: DiscoveredNames | undefined
}

/** How a kind is named in URLs and by people. */
interface DiscoveredNames {
  /** `deployments` */
  readonly plural: string
  /** Empty if the server did not say. */
  readonly singular: string
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  readonly namespaced: boolean
}

/** What the state of a kind at a moment may lack. */
export interface Shortcomings {
  /** Those that are open at the moment, and what is damaged of its state. */
  readonly gaps: ReadonlyArray<GapEvent>
  readonly late: ReadonlyArray<LateChanges>
}

export interface Past {
  /** For people. */
  readonly name: string
  /** The first moment that can be served. */
  readonly begin: number
  /** The last one; later after a {@link refresh} if the past is still growing. */
  readonly end: number
  /** In the order in which they were first recorded. */
  readonly kinds: ReadonlyArray<PastKind>
  /** Reads anew how far the past reaches. */
  refresh(): Promise<void>
  /** The last state of every object that exists right after everything that happened up to and including the moment, in any order. */
  stateAt(gvk: string, time: number): AsyncIterable<ReadonlyArray<PastChange>>
  /** Everything that happened after a moment and up to and including another one, in order. */
  changes(gvk: string, after: number, through: number): AsyncIterable<ReadonlyArray<PastChange>>
  shortcomings(gvk: string, time: number): Promise<Shortcomings>
  close(): void
}

/** Of a kind whose changes of status were not recorded at all times. */
export const statusRemark = "status changes were not recorded, so the status of objects at this moment may be unknown"

/** Bytes of objects in one batch, unless a single object is larger. */
export const batchBytes = 1024 * 1024
