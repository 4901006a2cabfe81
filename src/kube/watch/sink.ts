/** The events that a watch session sends to the recorder: few, and complete for the protocol. */
import type { Writes } from "./liveness/written-time.ts"
import type { ObservedObject } from "./observed-object.ts"
import type { KindState, ListReason } from "./protocol/protocol.ts"

export interface WatchSink {
  /**
   * One object as the server sent it, with kind and apiVersion; the record is reused and valid only during the call. Each version that is not from a list comes once.
   * An exception of the recorder ends the session's thread.
   */
  observed(object: Readonly<ObservedObject>): void
  /**
   * What the version before said about its writes. `new`: there was none on this watch; `unknown`: the sink keeps nothing of such objects. Absent: the sink
   * does not ask when changes happened, and no times are read.
   */
  writesBefore?(object: Readonly<ObservedObject>): Writes | "new" | "unknown"
  /** All bytes of one network read have been processed. */
  readDone(): void
  /**
   * Objects follow that are the present state. They replace those of an earlier list that was not completed. `detail`, for people: the
   * cause of the list, if the reason does not say it.
   */
  listStarted(reason: ListReason, detail: string | undefined): void
  /** The list is complete: any object not in it is gone. The kind is complete up to `version`. */
  listCompleted(version: string): void
  /** The kind is complete up to `version`, which no event of its own shows (a bookmark). */
  progressed(version: string): void
  /** Until it is false again, what arrives happened before now, and more of it is to come. Absent: it does not matter. */
  behind?(isBehind: boolean): void
  /** The kind is not installed now. Absent: it does not matter. */
  absent?(): void
  /** A new history starts; versions of the old and the new history cannot be compared. */
  epochStarted(detail: string): void
  /** False: stop reading. The sink calls the session's `resume` when it becomes true again. */
  readonly isWritable: boolean
}

/** Receives the state of a watch session; all calls are rare. */
export interface SessionListener {
  stateChanged(state: KindState, detail: string): void
  /** Something an operator should see: malformed lines, repeated relists. */
  alarm(detail: string): void
  /** The current watch ended other than the server ends it, and is resumed at once; a state follows. Absent: no one is interested. */
  cut?(detail: string): void
  /** The server rejects the credentials (401). */
  unauthorized(): void
  /** UID of namespace kube-system. */
  clusterIdentified(uid: string): void
}
