/** What a watch session tells whoever records: the few, total events of the protocol. */
import type { ObservedObject } from "./observed-object.ts"
import type { KindState, ListReason } from "./protocol/protocol.ts"

export interface WatchSink {
  /**
   * One object as the server sent it; the record is reused and valid only during the call. Each version that is not from a list
   * comes once. An exception is the recorder's and ends the session's thread.
   */
  observed(object: Readonly<ObservedObject>): void
  /** The bytes of one network read are through. */
  readDone(): void
  /**
   * Objects follow that are the present state. A list begun before and not completed counts for nothing. `detail`, for
   * people: what led to the list, where that is not what the reason says by itself.
   */
  listStarted(reason: ListReason, detail: string | undefined): void
  /** The list is whole: objects not in it are gone. The kind is complete up to `version`. */
  listCompleted(version: string): void
  /** The kind is complete up to `version` without an event having said so (a bookmark). */
  progressed(version: string): void
  /** A new history begins; versions of the old one compare with none of the new. */
  epochStarted(detail: string): void
  /** False: stop reading. The sink calls the session's `resume` when it is true again. */
  readonly isWritable: boolean
}

/** Who is told how a watch session fares; all rare. */
export interface SessionListener {
  stateChanged(state: KindState, detail: string): void
  /** Something an operator should see: malformed lines, relists in a row. */
  alarm(detail: string): void
  /** The server does not accept the credentials (401). */
  unauthorized(): void
  /** UID of namespace kube-system. */
  clusterIdentified(uid: string): void
}
