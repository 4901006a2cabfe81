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

export {
  type ApiServerOptions,
  discoveryScope,
  type ExpiredAs,
  type GvkName,
  KindConflictError,
  type KubernetesObject,
  type ObjectMetadata,
  type PrinterColumn,
  type RequestEntry,
  type RequestFilter,
  type RequestLog,
  type Resource,
  type ServerTls,
  type StoredAs,
  type StoredObject,
  type StreamingList,
  type Subresource,
  UnknownKindError,
} from "../apiserver/index.ts"
export {
  type ContainerEnd,
  type ContainerStart,
  type ControllerName,
  controllerNames,
  type Delays,
  defaultDelays,
  everything,
  type FaultKind,
  type Faults,
  type KindedObject,
  kubeconfigOf,
  type Ledger,
  type LedgerEntry,
  type LedgerMode,
  type LoadedObject,
  type LocalAnswer,
  LocalCluster,
  type LocalClusterOptions,
  type LocalProcessOptions,
  type LocalRequest,
  localProcess,
  notImplementedSubresources,
  type ObservedChange,
  otherLimits,
  type PartialLifecycle,
  PodProcesses,
  type PodProcessesOptions,
  processNode,
  type Randomness,
  type RequestTarget,
  type RespondOptions,
  type Restart,
  type RestartOptions,
  RevisionNotHeldError,
  type RunContainer,
  Sandbox,
  type SandboxOptions,
  type SandboxUser,
  systemRandomness,
  UnknownObjectError,
  type VirtualNodesOptions,
  WorkloadManager,
  type WorkloadOptions,
} from "../sandbox/index.ts"
