/** What a consumer of a subscription gets, and what it asks for. */

import * as Schema from "effect/Schema"
import type { Kind } from "../../kube/index.ts"
import type { GroupVersionKind } from "../../kube/offline.ts"
import type { SelectionRequest } from "./hub-selection.ts"

export type HubChangeType = "added" | "modified" | "deleted" | "synced" | "bookmark" | "expired" | "history"

/** One change of an object, or a mark between changes, which has no object: its key, UID and bytes are empty (but see `bytes`). */
export interface HubChange {
  readonly type: HubChangeType
  /** `namespace/name`, or the bare name of a cluster-scoped object. */
  readonly key: string
  readonly uid: string
  /**
   * The version of the object; of one that has left the selection, the version with which it left; of a mark, the version up to which
   * everything has been delivered; empty for `history`: earlier versions cannot be compared with those that follow.
   */
  readonly version: string
  /**
   * JSON of the object; of one that is gone, its last state that matched. Of `expired` a Status, as the API
   * server answers a version that it no longer has. Shared: never write to it.
   */
  readonly bytes: Buffer
  /**
   * A list has shown that the object is gone: it was deleted while no watch was open, and `bytes` are its last known state, which may not
   * have been its last (DeletedFinalStateUnknown of client-go).
   */
  readonly isFinalStateUnknown: boolean
}

export interface HubSubscriptionRequest extends Omit<SelectionRequest, "gvk"> {
  /** Names the subscription in statistics and errors; the hub does not compare ids. */
  readonly id: string
  readonly kind: Kind | GroupVersionKind
  /**
   * Deliver nothing at or below this version and everything after it; `expired` if the changes since then are no longer known. Default: the
   * present state. The empty string and `0` count as absent, as in a request to the server.
   */
  readonly after?: string | undefined
}

export interface HubConsumer {
  /**
   * Changes are waiting. Called once, then again only for changes that come after a {@link HubSubscriptionHandle.take}.
   * What it throws is reported to the hub's owner, and no consumer loses a change.
   */
  available(): void
}

export interface HubSubscriptionHandle {
  /**
   * Changes and marks that wait. While the present state is being taken, all objects of the watch that are still to be looked at count, selected
   * or not.
   */
  readonly pending: number
  /**
   * Removes and returns what has waited longest: about that many bytes of objects, at least one change if any waits. Default 256 KiB, a
   * frame of a mailbox.
   */
  take(maximumBytes?: number): ReadonlyArray<HubChange>
  /** Nothing comes afterwards. */
  unsubscribe(): void
  statistics(): SubscriptionStatistics
}

const SubscriptionStatistics = Schema.Struct({
  id: Schema.String,
  /** `apps/v1.Deployment`. */
  kind: Schema.String,
  /** Whether everything known when it began has been taken. */
  isSynced: Schema.Boolean,
  /** Changes of objects that were taken. */
  delivered: Schema.Number,
  /** Changes of objects that were folded into later ones, or into the present state with which the subscription begins. */
  folded: Schema.Number,
  /** Changes and marks that wait; as in `HubSubscriptionHandle`. */
  pending: Schema.Number,
  /** Bytes that only this subscription keeps alive. */
  pendingBytes: Schema.Number,
})
export type SubscriptionStatistics = typeof SubscriptionStatistics.Type

const UpstreamStatistics = Schema.Struct({
  /** `apps/v1.Deployment`. */
  kind: Schema.String,
  /** Empty: all. The same holds for both selectors. */
  namespace: Schema.String,
  labelSelector: Schema.String,
  fieldSelector: Schema.String,
  state: Schema.Literals(["listing", "catching-up", "watching", "waiting", "forbidden", "failing", "stopped"]),
  /** For people: why it is in that state. */
  detail: Schema.String,
  subscriptions: Schema.Number,
  objects: Schema.Number,
  /** Bytes of the objects. */
  bytes: Schema.Number,
  /** Changes that subscribers can still resume from. */
  journalChanges: Schema.Number,
  journalBytes: Schema.Number,
  /** Changes since it began, those that lists have shown included. */
  changes: Schema.Number,
  watches: Schema.Number,
  relists: Schema.Number,
  /** Streaming lists that the server did not end. */
  unendedLists: Schema.Number,
})
export type UpstreamStatistics = typeof UpstreamStatistics.Type

export const HubStatistics = Schema.Struct({
  upstreams: Schema.Array(UpstreamStatistics),
  subscriptions: Schema.Array(SubscriptionStatistics),
})
export type HubStatistics = typeof HubStatistics.Type
