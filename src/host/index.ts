/**
 * Controllers in one process, beyond what they are written with (controllers.ts): modules in WebAssembly, scripts with threads of their own, shared
 * watches, the object cache and the work queue.
 *
 * Guarantee: no change of an object is missed between two runs of a controller, also over a restart; a module that fails or loops delays itself only.
 */

export { AdmissionServer } from "./admission/admission-server.ts"
export { makeServerCertificate, type ServerCertificate } from "./admission/certificate.ts"
export {
  type AdmissionCall,
  type AdmissionTerms,
  certifiedHost,
  clientConfigOf,
  configurationKinds,
  configurationOf,
  secretName,
  type WebhookAddress,
} from "./admission/registration.ts"
export { allowedWith, answerReview, type ReviewRequest, ReviewServer } from "./admission/review-server.ts"
export type { ObjectChange } from "./cache/change-feed.ts"
export { keyOf, type ObjectCache, objectKey } from "./cache/object-cache.ts"
export { sameJson, stableText } from "./cache/same-json.ts"
export { SharedInformer } from "./cache/shared-informer.ts"
export { Cluster } from "./cluster.ts"
export type { ControllerCluster, NewObject } from "./controller/access/controller-cluster.ts"
export { EventRecorder } from "./controller/access/event-recorder.ts"
export { admissionTermsOf } from "./controller/define-admission.ts"
export {
  type DefinedController,
  defineController,
  type ReconcileResult,
  type Reconciliation,
} from "./controller/define-controller.ts"
export { setCondition } from "./controller/objects/status-conditions.ts"
export { rulesOf, webhookRulesOf } from "./controller/rbac-rules.ts"
export { type PolicyRule, type ReasonedRule, RuleSet, type ScopedRules } from "./controller/rule-set.ts"
export type { ControllerStatistics } from "./controller/run/controller-statistics.ts"
export { type RunningControllers, type RunOptions, runControllers } from "./controller/run/running-controllers.ts"
export {
  type Controller,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  type Record,
  recordAs,
  type Surroundings,
} from "./controller.ts"
export type { ModuleStatus, WorkerStatus } from "./dispatcher/module-lifecycle.ts"
export { WatchAccess } from "./dispatcher/watch-access.ts"
export { gvkOf } from "./dispatcher/watch-registry.ts"
export { ModuleRunner } from "./dispatcher/worker/module-runner.ts"
export { watchFailure, watchValueOf } from "./dispatcher/worker/watch-value.ts"
export { type ModuleLimits, RequestExecutor } from "./executor/request-executor.ts"
export { encodeGuestResponse, type WatchRequest } from "./guest/abi-values.ts"
export { type CompiledGuest, compileGuest } from "./guest/compiled-guest.ts"
export { GuestInstance } from "./guest/guest-instance.ts"
export type { HubStatistics, HubSubscriptionHandle } from "./hub/hub-change.ts"
export { InvalidSubscription } from "./hub/hub-selection.ts"
export { WatchHub } from "./hub/watch-hub.ts"
export { AccessReviewer } from "./identity/access-reviewer.ts"
export type { ServiceAccountName } from "./identity/service-account.ts"
export { TokenRefused, TokenSource } from "./identity/token-source.ts"
export { ModuleHost } from "./module-host.ts"
export { codeOf, fileSystem } from "./modules/directory-io.ts"
export { type ModuleChanges, ModuleDirectory } from "./modules/module-directory.ts"
export { defaultMemoryBytes, type ModuleFile } from "./modules/module-file.ts"
export { listModules, type ModuleSource } from "./modules/module-listing.ts"
export { describeRefusal } from "./modules/module-problem.ts"
export { WorkQueue } from "./queue/work-queue.ts"
export type { ScriptStatus } from "./scripts/script-host.ts"
export { provideScriptLibrary } from "./scripts/script-library.ts"
export { loadScript, ScriptRefused } from "./scripts/thread/load-script.ts"
export { startHostThread } from "./worker-entries.ts"
