/** The figures of a hub, as plain data that crosses threads. */
import * as Schema from "effect/Schema"

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
})
export type UpstreamStatistics = typeof UpstreamStatistics.Type

export const HubStatistics = Schema.Struct({
  upstreams: Schema.Array(UpstreamStatistics),
  subscriptions: Schema.Array(SubscriptionStatistics),
})
export type HubStatistics = typeof HubStatistics.Type
