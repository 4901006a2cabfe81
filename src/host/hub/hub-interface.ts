/** The hub's interface as an actor: its configuration, its control calls, its reports and its mailboxes. */
import * as Schema from "effect/Schema"
import type { ApiEndpoint, KindState, WatchPolicy } from "../../kube/index.ts"
import type { ActorDefinition, Supervisor } from "../../runtime/index.ts"
import { PassedEndpoint } from "../executor/given-credentials.ts"
import { HubStatistics } from "./hub-change.ts"
import { InvalidSubscription } from "./hub-selection.ts"
import type { WatchHubOptions } from "./watch-hub.ts"

/** Plain data. Absent members have the defaults of the engine. */
export interface HubConfig extends Pick<WatchHubOptions, "graceMs" | "journalBytes" | "waitingBytes"> {
  /** Of the API server, with the hub's own credentials. */
  readonly endpoint: ApiEndpoint
  /** `kubereel/<version>`: how an operator finds us in audit logs. */
  readonly userAgent: string
  readonly policy?: Partial<WatchPolicy> | undefined
  /**
   * Bytes of deliveries that a receiver may hold without having acknowledged them. Default 1 MiB: what waits beyond it waits in the
   * subscriptions, where it is folded, and so is not out of date when it is sent.
   */
  readonly windowBytes?: number | undefined
}

/** What a hub reports; rare. */
export type HubReport =
  /** `selection`: kind, then what is selected of it. */
  | { readonly type: "state"; readonly selection: string; readonly state: KindState; readonly detail: string }
  | { readonly type: "alarm"; readonly detail: string }
  /** The server rejects the credentials (401): pass fresh ones with `credentials`. */
  | { readonly type: "unauthorized" }

/** The mailbox of deliveries to one receiver: link it from the hub to the receiver. Its frames are read with `readDeliveries`. */
export const deliveriesMailbox = (receiver: string): string => `deliveries to ${receiver}`

/** A subscription of a receiver. Its number is the receiver's own, an integer from 0 to 2³²−1, and names it in the frames. */
const Subscriber = { receiver: Schema.String, id: Schema.Number } as const

const hubControl = {
  /** New headers or certificates; requests that wait for them are retried at once. */
  credentials: { payload: PassedEndpoint, success: Schema.Void, error: Schema.Never },
  /** Begins a subscription; its changes may arrive before the call has settled. Members as in `HubSubscriptionRequest`. */
  subscribe: {
    payload: Schema.Struct({
      ...Subscriber,
      /** `apps/v1.Deployment`. */
      gvk: Schema.String,
      namespace: Schema.optional(Schema.String),
      labelSelector: Schema.optional(Schema.String),
      fieldSelector: Schema.optional(Schema.String),
      managedFields: Schema.optional(Schema.Boolean),
      after: Schema.optional(Schema.String),
    }),
    success: Schema.Void,
    error: InvalidSubscription,
  },
  /** Ends a subscription, if there is one of that number. Its rows may still arrive, from frames that are under way. */
  unsubscribe: { payload: Schema.Struct(Subscriber), success: Schema.Void, error: Schema.Never },
  /** While a subscription is paused, its changes wait and are folded, and others of the receiver are not held up. */
  pause: {
    payload: Schema.Struct({ ...Subscriber, isPaused: Schema.Boolean }),
    success: Schema.Void,
    error: Schema.Never,
  },
  /** Ends all subscriptions of a receiver: its thread has ended, and its next life subscribes anew, with other numbers. */
  release: { payload: Schema.Struct({ receiver: Schema.String }), success: Schema.Void, error: Schema.Never },
  /** The same, for a receiver that has no next life: its mailbox is closed, and what waits in it is dropped. */
  forget: { payload: Schema.Struct({ receiver: Schema.String }), success: Schema.Void, error: Schema.Never },
  statistics: { payload: Schema.Void, success: HubStatistics, error: Schema.Never },
} as const

export type HubControl = typeof hubControl
export type Hub = Supervisor<HubConfig, HubControl, HubReport>

export const hubDefinition: ActorDefinition<HubConfig, HubControl, HubReport> = { role: "hub", control: hubControl }
