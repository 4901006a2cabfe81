/**
 * How long a Job waits before the next Pod after failures: 10 s after the first, doubled for each further one, at most
 * 10 min, counted from the last failure; a success resets it (backoff_utils.go).
 */

import type { Pod } from "../../../kube/client/objects.ts"
import { phaseOf } from "../pod-facts.ts"

const initialMs = 10_000
const maximumMs = 600_000

/** Computed from existing Pods; deleted ones no longer count. */
export const remainingBackOffMs = (pods: ReadonlyArray<Pod>, nowMs: number): number => {
  const ended = pods
    .filter((pod) => phaseOf(pod) === "Succeeded" || phaseOf(pod) === "Failed")
    .map((pod) => ({ hasFailed: phaseOf(pod) === "Failed", atMs: finishedMs(pod) }))
    .sort((left, right) => left.atMs - right.atMs)
  const lastSuccess = ended.findLastIndex(({ hasFailed }) => !hasFailed)
  const failures = ended.slice(lastSuccess + 1)
  const last = failures.at(-1)
  if (last === undefined) return 0
  const pause = Math.min(maximumMs, initialMs * 2 ** (failures.length - 1))
  return Math.max(0, last.atMs + pause - nowMs)
}

const finishedMs = ({ status, metadata }: Pod): number => {
  const times = (status?.containerStatuses ?? []).map(
    ({ state }) => Date.parse(state.terminated?.finishedAt ?? "") || 0,
  )
  return Math.max(0, ...times) || Date.parse(metadata.deletionTimestamp ?? metadata.creationTimestamp ?? "") || 0
}
