/** The state of a kind as far as a request asks for it: what happens in namespaces that its filters exclude does not concern it. */
import { combinedState } from "../../actors/watcher/progress/namespace-states.ts"
import type { CompiledFilters } from "../../trace/selection/filters.ts"
import type { KindStatus } from "../status/kind-status.ts"

/**
 * The kind with the state of its requested namespaces; as it is if it is not watched namespace by namespace, or all of its namespaces
 * are requested; `undefined` if none of them is.
 */
export const requestedStatus = (
  status: KindStatus,
  { excludesNamespace }: Pick<CompiledFilters, "excludesNamespace">,
): KindStatus | undefined => {
  const namespaces = status.namespaces.filter(({ namespace }) => !excludesNamespace(namespace))
  if (namespaces.length === status.namespaces.length) return status
  return namespaces.length === 0 ? undefined : { ...status, ...combinedState(namespaces), namespaces }
}
