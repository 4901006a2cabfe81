/**
 * An embedded API server with controllers and virtual nodes, for tests, benchmarks and demonstrations; the guide for users is in src/library/sandbox.ts.
 *
 * Guarantee: what it accepts, refuses and stores is what Kubernetes 1.34 does, except what `otherLimits` and `notImplementedSubresources` list.
 */

export type { SandboxUser } from "./access/authentication.ts"
export { cleanUpDemo, playDemo } from "./demo/demo-workload.ts"
export type { FaultKind, Faults } from "./faults/faults.ts"
export { everything, type RespondOptions } from "./faults/scripted-answers.ts"
export {
  kubeconfigOf,
  LocalCluster,
  type LocalClusterOptions,
  sandboxContext,
  writeKubeconfig,
} from "./local-cluster.ts"
export { type LocalProcessOptions, localProcess } from "./local-process.ts"
export type { LocalAnswer, LocalRequest, RequestTarget } from "./local-request.ts"
export { LocalTransport } from "./local-transport.ts"
export { PodProcesses, type PodProcessesOptions, processNode } from "./processes/pod-processes.ts"
export type { ContainerEnd, ContainerStart, RunContainer } from "./processes/run-container.ts"
export { isSame } from "./rules/fields.ts"
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
export { type Delays, defaultDelays } from "./workload/nodes/pod-runner.ts"
export type { VirtualNodesOptions } from "./workload/nodes/virtual-nodes.ts"
export {
  type ControllerName,
  controllerNames,
  WorkloadManager,
  type WorkloadOptions,
} from "./workload/workload-manager.ts"
export { notImplementedSubresources, otherLimits } from "./writes/not-implemented.ts"
