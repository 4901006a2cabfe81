/** The owner-resolver as others see it. */
import * as Schema from "effect/Schema"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import type { ActorDefinition } from "../../runtime/actor.ts"
import type { LookUpLimits } from "./look-up-queue.ts"

export interface OwnerResolverConfig {
  /** The data directory; opened read-only. */
  readonly directory: string
  readonly endpoint: ApiEndpoint
  readonly userAgent: string
  /**
   * Kinds all of whose objects are recorded (no selector, no namespaces, not `skipOwned: ingest`): never looked up. Changeable by
   * the control call of that name.
   */
  readonly recordedKinds: ReadonlyArray<string>
  readonly limits: LookUpLimits
}

export type OwnerResolverReport =
  | { readonly type: "unauthorized" }
  /** A look-up fails; said once per kind and reason until one of that kind succeeds. */
  | { readonly type: "alarm"; readonly detail: string }

/** Gauges, and counters since this life began. */
const OwnerResolverStatistics = Schema.Struct({
  /** Owners without an answer. */
  pending: Schema.Number,
  /** Requests under way. */
  running: Schema.Number,
  requests: Schema.Number,
  failures: Schema.Number,
  /** Owners seen lately. */
  remembered: Schema.Number,
})

/** An owner nobody could say anything about. */
const UnknownOwner = Schema.Struct({
  gvk: Schema.String,
  namespace: Schema.String,
  name: Schema.String,
})

/** What is left open when an export must begin. */
export const Settled = Schema.Struct({
  /** How many owners are unknown. */
  unknown: Schema.Number,
  /** The first {@link maximumNamed} of them. */
  first: Schema.Array(UnknownOwner),
})

export type Settled = typeof Settled.Type

/** Unknown owners that are named: a log line or a header holds no more. */
export const maximumNamed = 20

const ownerResolverControl = {
  /** New headers or certificates; what waits for them is tried at once. */
  credentials: { payload: Schema.Unknown, success: Schema.Void, error: Schema.Never },
  /** Takes the place of `recordedKinds` of the configuration; owners of kinds that are recorded no more are asked for from here on. */
  recordedKinds: { payload: Schema.Array(Schema.String), success: Schema.Void, error: Schema.Never },
  /**
   * Answers when every owner in the recording is known or gone, and what was learnt is committed; after `deadlineMs` at the
   * latest, with what is still open.
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
