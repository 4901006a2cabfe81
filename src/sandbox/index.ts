/**
 * An embedded Kubernetes API server for tests, benchmarks and demonstrations: the protocol that recorders and
 * controllers use (discovery, get, paged lists, watches with bookmarks and initial events, all writes) over real
 * HTTP, with faults on command.
 *
 * - {@link Sandbox}: an in-memory store, changed by clients over HTTP and by plain method calls; a ledger of all
 * changes
 *   to compare with; with `lifecycle`, the controllers that an API server's own kinds need.
 * - {@link LocalCluster}: a sandbox with controllers, a scheduler and virtual nodes.
 * - {@link PodProcesses}: a node whose pods are processes of this machine, for a sandbox or any other API server.
 * - {@link Faults}: expired versions, refusals, hang-ups, stalls, black holes, cut and broken lines, a server that is
 *   down; the sandbox can also restart with a different history.
 *
 * ```ts
 * const sandbox = await Sandbox.start({ historyLimit: 50 })
 * sandbox.put("apps/v1.Deployment", { metadata: { name: "web" }, spec: { replicas: 3 } })
 * sandbox.faults.forceExpired("deployments", 1)
 * await sandbox.requests.waitFor({ resource: "deployments", verb: "watch" }, 2)
 * for (const entry of sandbox.ledger.of("apps/v1.Deployment")) console.log(entry.action, entry.resourceVersion)
 * await sandbox.close()
 * ```
 *
 * Not for production: without `authorization` anyone who connects may do everything, nothing is persistent, and memory
 * grows with what is kept (history, ledger, unread lines). Its limits are listed in {@link notImplementedSubresources}
 * and {@link otherLimits}.
 */

export type { ApiServerOptions, ServerTls } from "../apiserver/api-server-options.ts"
export {
  discoveryScope,
  type RequestEntry,
  type RequestFilter,
  type RequestLog,
} from "../apiserver/http/request-log.ts"
export type { KubernetesObject, ObjectMetadata, StoredObject } from "../apiserver/kinds/kubernetes-object.ts"
export type { GvkName, PrinterColumn, Resource, StoredAs, Subresource } from "../apiserver/kinds/resources.ts"
export { KindConflictError, UnknownKindError } from "../apiserver/kinds/resources.ts"
export type { ExpiredAs, StreamingList } from "../apiserver/list/list-options.ts"
export type { SandboxUser } from "./access/authentication.ts"
export type { FaultKind, Faults } from "./faults/faults.ts"
export { everything, type RespondOptions } from "./faults/scripted-answers.ts"
export { kubeconfigOf, LocalCluster, type LocalClusterOptions } from "./local-cluster.ts"
export { type LocalProcessOptions, localProcess } from "./local-process.ts"
export type { LocalAnswer, LocalRequest, RequestTarget } from "./local-request.ts"
export { PodProcesses, type PodProcessesOptions, processNode } from "./processes/pod-processes.ts"
export type { ContainerEnd, ContainerStart, RunContainer } from "./processes/run-container.ts"
export {
  type LoadedObject,
  type ObservedChange,
  type PartialLifecycle,
  type Restart,
  type RestartOptions,
  Sandbox,
  type SandboxOptions,
} from "./sandbox.ts"
export type { Ledger, LedgerEntry, LedgerMode } from "./store/ledger.ts"
export type { KindedObject } from "./store/past.ts"
export { type Randomness, systemRandomness } from "./store/stamps.ts"
export { RevisionNotHeldError, UnknownObjectError } from "./store/store-errors.ts"
export {
  type ControllerName,
  controllerNames,
  type Delays,
  defaultDelays,
  type VirtualNodesOptions,
  WorkloadManager,
  type WorkloadOptions,
} from "./workload/index.ts"
export { notImplementedSubresources, otherLimits } from "./writes/not-implemented.ts"
