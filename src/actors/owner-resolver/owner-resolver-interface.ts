/** The owner-resolver's interface. */
import * as Schema from "effect/Schema"
import type { ApiEndpoint } from "../../kube/index.ts"
import type { ActorDefinition } from "../../runtime/index.ts"
import type { LookUpLimits } from "./look-up-queue.ts"

export interface OwnerResolverConfig {
  /** The data directory; opened read-only. */
  readonly directory: string
  readonly endpoint: ApiEndpoint
  readonly userAgent: string
  /**
   * Kinds all of whose objects are recorded (no selector, no namespaces, not `skipOwned: ingest`): never looked up. The control call of
   * that name changes them.
   */
  readonly recordedKinds: ReadonlyArray<string>
  readonly limits: LookUpLimits
}

export type OwnerResolverReport =
  | { readonly type: "unauthorized" }
  /** A look-up fails; reported once per kind and reason until one of that kind succeeds. */
  | { readonly type: "alarm"; readonly detail: string }

/** Gauges, and counters since this life began. */
const OwnerResolverStatistics = Schema.Struct({
  /** Owners that are still to be looked up. */
  pending: Schema.Number,
  /** Requests in flight. */
  running: Schema.Number,
  requests: Schema.Number,
  failures: Schema.Number,
  /** Owners cached. */
  remembered: Schema.Number,
})

/** An owner that could not be looked up. */
const UnknownOwner = Schema.Struct({
  gvk: Schema.String,
  namespace: Schema.String,
  name: Schema.String,
})

/** The owners still unknown when an export must start. */
export const Settled = Schema.Struct({
  /** How many owners are unknown. */
  unknown: Schema.Number,
  /** The first {@link maximumNamed} of them. */
  first: Schema.Array(UnknownOwner),
})

export type Settled = typeof Settled.Type

/** Maximum number of unknown owners that are named: no more fit into a log line or a header. */
export const maximumNamed = 20

const ownerResolverControl = {
  /** New headers or certificates; look-ups that wait for them are retried at once. */
  credentials: { payload: Schema.Unknown, success: Schema.Void, error: Schema.Never },
  /** Replaces `recordedKinds` of the configuration; owners of kinds that are no longer recorded are looked up from now on. */
  recordedKinds: { payload: Schema.Array(Schema.String), success: Schema.Void, error: Schema.Never },
  /**
   * Replies when every owner in the recording is known or gone and the results are committed, or after `deadlineMs` with the owners that
   * are still open.
   */
  settle: { payload: Schema.Struct({ deadlineMs: Schema.Number }), success: Settled, error: Schema.Never },
  statistics: { payload: Schema.Void, success: OwnerResolverStatistics, error: Schema.Never },
} as const

export type OwnerResolverControl = typeof ownerResolverControl

export const ownerResolverDefinition: ActorDefinition<OwnerResolverConfig, OwnerResolverControl, OwnerResolverReport> =
  {
    role: "owner-resolver",
    control: ownerResolverControl,
  }
