/**
 * Controllers in TypeScript: what controller-runtime is for Go.
 *
 * ```ts
 * import { defineController, runControllers, setControllerReference } from "kubereel/host"
 *
 * const controller = defineController<SimplePod>({
 *   name: "simplepod",
 *   for: "slinky.dev/v1.SimplePod",
 *   owns: ["v1.Pod"],
 *   reconcile: async ({ object, cluster }) => {
 *     if (object === undefined) return
 *     await cluster.apply(setControllerReference(object, podFor(object)))
 *   },
 * })
 * await using running = await runControllers([controller])
 * await running.closed
 * ```
 *
 * The guide is docs/guides/controllers.md. Types for custom resources are made by `reel crd types FILE`.
 */

export { type Clock, systemClock } from "../clock.ts"
export {
  AlreadyExistsError,
  type ApiEndpoint,
  type ApiError,
  type ApiObject,
  ApiRefusalError,
  ApiUnreachableError,
  type Condition,
  ConflictError,
  type ConnectionOptions,
  type DeleteOptions,
  type EndpointSource,
  ExpiredError,
  ForbiddenError,
  InvalidError,
  type Kind,
  type LeaderElectionOptions,
  type Metadata,
  NotFoundError,
  type ObjectBase,
  type OwnerReference,
  type PatchType,
  type Pod,
  TooManyRequestsError,
  UnauthorizedError,
} from "../kube/index.ts"
export type { AdmissionCall, WebhookAddress } from "./admission/registration.ts"
export type { ReviewRequest } from "./admission/review-server.ts"
export type { ObjectChange } from "./cache/change-feed.ts"
export type { CachedListOptions, CachedObjects, ObjectName } from "./controller/access/cached-objects.ts"
export type { ControllerCluster, EventDetails, NewObject } from "./controller/access/controller-cluster.ts"
export type { AdmissionDefinition, AdmissionRequest, Verdict } from "./controller/define-admission.ts"
export {
  allOf,
  annotationsChanged,
  anyOf,
  type ControllerDefinition,
  type DefinedController,
  defineController,
  type FinalizerDefinition,
  generationChanged,
  type Index,
  labelsChanged,
  type Owned,
  type Predicate,
  type Reads,
  type Reconcile,
  type ReconcileResult,
  type Reconciliation,
  type Selection,
  type Subject,
  type Watch,
  type Write,
} from "./controller/define-controller.ts"
export { InvalidControllerError, NotWatchedError, OwnershipError, TerminalError } from "./controller/errors.ts"
export { setControllerReference, setOwnerReference } from "./controller/objects/owner-references.ts"
export {
  findCondition,
  isConditionTrue,
  type NewCondition,
  removeCondition,
  setCondition,
} from "./controller/objects/status-conditions.ts"
export { type RulesOptions, rulesOf, webhookRulesOf } from "./controller/rbac-rules.ts"
export type { PolicyRule, ScopedRules } from "./controller/rule-set.ts"
export type { ControllerState, ControllerStatistics, ReconciledRun } from "./controller/run/controller-statistics.ts"
export type { CheckpointLocation } from "./controller/run/durable-progress.ts"
export type { RunningControllers, RunOptions } from "./controller/run/running-controllers.ts"
export { runControllers } from "./controller/run/running-controllers.ts"
