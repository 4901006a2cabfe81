/** What a watch session tells whoever records: the few, total events of the protocol. */
import type { ResourceVersion } from "../resource-version.ts"
import type { ScannedObject } from "../scanner/object/scanned-object.ts"
import type { KindState, ListReason } from "./protocol/protocol.ts"

/** 1: added or modified. 2: deleted, with the last state. The same codes as the action column of a frame. */
export type ObservedAction = 1 | 2

export interface WatchSink {
  /**
   * One object as the server sent it: `bytes[start, end)`, valid only during the call, like `object`, which is reused. The
   * positions in `object` are positions in `bytes`, not all of them within [start, end).
   * `fromList` objects come in no order and may be known already; all others come in the order of their versions, each
   * version once. An exception is the recorder's and ends the session's thread.
   */
  observed(
    action: ObservedAction,
    fromList: boolean,
    version: ResourceVersion | string,
    bytes: Buffer,
    start: number,
    end: number,
    object: ScannedObject,
  ): void
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
  /** UID of namespace kube-system. */
  clusterIdentified(uid: string): void
  /** False: stop reading. The sink calls the session's `resume` when it is true again. */
  readonly isWritable: boolean
  stateChanged(state: KindState, detail: string): void
  /** Something an operator should see: malformed lines, relists in a row. */
  alarm(detail: string): void
  /** The server does not accept the credentials (401). */
  unauthorized(): void
}
