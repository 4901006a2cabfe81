/** The Pods that a Job creates and deletes next, as pure functions (job_controller.go, manageJob). */

import type { Pod } from "../../../kube/client/objects.ts"
import { isFinished, isTerminating, phaseOf } from "../pod-facts.ts"
import { podsToDelete } from "../replica-set/deletion-order.ts"
import { parseIndexes } from "./index-intervals.ts"
import { indexOf, isIndexed, isTracked, type Job } from "./job-object.ts"

export interface JobView {
  readonly job: Job
  /** The Job's own Pods. */
  readonly pods: ReadonlyArray<Pod>
  /** RFC 3339. */
  readonly now: string
  /** ms that the next Pod must wait after failures. */
  readonly backOffMs: number
}

/** Whether Pods that are being deleted are replaced, or only failed ones. */
const replacesTerminating = ({ spec }: Job): boolean => spec.podReplacementPolicy !== "Failed"

/** Failed, or counted as failed because it is being deleted. */
export const hasFailed = (job: Job, pod: Pod): boolean =>
  phaseOf(pod) === "Failed" || (replacesTerminating(job) && isTerminating(pod) && phaseOf(pod) !== "Succeeded")

/** Completed indexes, including those of Pods not yet released. */
export const doneIndexes = ({ job, pods }: JobView): ReadonlySet<number> => {
  if (!isIndexed(job)) return new Set()
  const completions = job.spec.completions ?? 0
  const done = new Set(parseIndexes(job.status?.completedIndexes, completions))
  for (const pod of pods) {
    const index = indexOf(pod)
    if (index !== undefined && index < completions && phaseOf(pod) === "Succeeded" && isTracked(pod)) done.add(index)
  }
  return done
}

export interface PodChange {
  /** One Pod for each item; the number is its index, absent for Jobs without indexes. */
  readonly create: ReadonlyArray<number | undefined>
  readonly delete: ReadonlyArray<Pod>
}

const none: PodChange = { create: [], delete: [] }

/** `active`: running Pods; `succeeded`: the number of succeeded ones; `done`: the completed indexes. */
export const manage = (
  view: JobView,
  active: ReadonlyArray<Pod>,
  succeeded: number,
  done: ReadonlySet<number>,
): PodChange => {
  const { job, pods, now, backOffMs } = view
  if (job.metadata.deletionTimestamp !== undefined) return none
  if (job.spec.suspend === true) return { create: [], delete: active }
  const { parallelism = 1, completions } = job.spec
  const open = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded
  const wanted = Math.max(0, Math.min(open, completions === undefined && succeeded > 0 ? active.length : parallelism))
  if (active.length > wanted) {
    return { create: [], delete: podsToDelete(active, active, active.length - wanted, Date.parse(now)) }
  }
  const leaving = replacesTerminating(job) ? [] : pods.filter((pod) => isTerminating(pod) && !isFinished(pod))
  const missing = wanted - active.length - leaving.length
  if (missing <= 0 || backOffMs > 0) return none
  if (!isIndexed(job)) return { create: Array.from({ length: missing }, () => undefined), delete: [] }
  const taken = new Set([...done, ...[...active, ...leaving].map(indexOf)])
  const create: number[] = []
  for (let index = 0; index < (completions ?? 0) && create.length < missing; index++) {
    if (!taken.has(index)) create.push(index)
  }
  return { create, delete: [] }
}
