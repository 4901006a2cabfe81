/**
 * Workload behaviour for a cluster that has only an API server: the usual controllers, a scheduler of one rule and
 * virtual nodes, all of them ordinary clients.
 *
 * ```ts
 * const manager = await WorkloadManager.start({ server: sandbox.endpoint, nodes: 4 })
 * await manager.close()
 * ```
 */

export {
  AlreadyExistsError,
  type ApiError,
  ApiRefusalError,
  ApiUnreachableError,
  ConflictError,
  NotFoundError,
} from "../../kube/client/api-errors.ts"
export { type Delays, defaultDelays } from "./pod-runner.ts"
export type { VirtualNodesOptions } from "./virtual-nodes.ts"
export { type ControllerName, controllerNames, WorkloadManager, type WorkloadOptions } from "./workload-manager.ts"
