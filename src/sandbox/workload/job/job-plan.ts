/**
 * Plans the next steps for a Job, as a pure function (job_controller.go, syncJob and
 * trackJobStatusAndRemoveFinalizers): Pods to create and delete; a first status that notes which ended Pods are about
 * to be counted; the Pods to release; then the status with them counted. A Pod is counted exactly once, even after an
 * interruption: it is noted by UID before its finalizer is removed, and counted only afterwards.
 *
 * Not provided: backoffLimitPerIndex, podFailurePolicy, successPolicy.
 */

import type { Condition, Pod } from "../../../kube/client/objects.ts"
import { conditionOf, isActive, isFinished, isReady, isTerminating, phaseOf } from "../pod-facts.ts"
import { podsToDelete } from "../replica-set/deletion-order.ts"
import { withoutZeros } from "../without-zeros.ts"
import { indexOf, isIndexed, isTracked, type Job, type JobStatus } from "./job-object.ts"

// Completed indexes as the status writes them: `0,2-5,7`; two consecutive ones are `3,4`.

/** Indexes below `limit`, ascending. Unreadable parts are skipped. */
export const parseIndexes = (text: string | undefined, limit: number): ReadonlyArray<number> => {
  const indexes: number[] = []
  for (const part of (text ?? "").split(",")) {
    const [, first = "", last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    if (first === "") continue
    for (let index = Number(first); index <= Number(last) && index < limit; index++) indexes.push(index)
  }
  return indexes
}

/** The inverse; `indexes` in any order, each once. */
export const formatIndexes = (indexes: Iterable<number>): string => {
  const sorted = [...indexes].sort((left, right) => left - right)
  const parts: string[] = []
  for (let start = 0; start < sorted.length; ) {
    let end = start
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end++
    const length = end - start
    parts.push(length === 0 ? `${sorted[start]}` : `${sorted[start]}${length === 1 ? "," : "-"}${sorted[end]}`)
    start = end + 1
  }
  return parts.join(",")
}

// The Pods that a Job creates and deletes next, as pure functions (job_controller.go, manageJob).

interface JobView {
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
const hasFailed = (job: Job, pod: Pod): boolean =>
  phaseOf(pod) === "Failed" || (replacesTerminating(job) && isTerminating(pod) && phaseOf(pod) !== "Succeeded")

/** Completed indexes, including those of Pods not yet released. */
const doneIndexes = ({ job, pods }: JobView): ReadonlySet<number> => {
  if (!isIndexed(job)) return new Set()
  const completions = job.spec.completions ?? 0
  const done = new Set(parseIndexes(job.status?.completedIndexes, completions))
  for (const pod of pods) {
    const index = indexOf(pod)
    if (index !== undefined && index < completions && phaseOf(pod) === "Succeeded" && isTracked(pod)) done.add(index)
  }
  return done
}

interface PodChange {
  /** One Pod for each item; the number is its index, absent for Jobs without indexes. */
  readonly create: ReadonlyArray<number | undefined>
  readonly delete: ReadonlyArray<Pod>
}

const none: PodChange = { create: [], delete: [] }

/** `active`: running Pods; `succeeded`: the number of succeeded ones; `done`: the completed indexes. */
const manage = (view: JobView, active: ReadonlyArray<Pod>, succeeded: number, done: ReadonlySet<number>): PodChange => {
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

interface JobPlan extends PodChange {
  /** Written first. */
  readonly noted: JobStatus
  /** Pods whose finalizer is removed after that. */
  readonly release: ReadonlyArray<Pod>
  /** Written last. */
  readonly counted: JobStatus
  readonly events: ReadonlyArray<{
    readonly type: "Normal" | "Warning"
    readonly reason: string
    readonly message: string
  }>
  /** ms until the Job must be checked even if nothing changes. */
  readonly lookAgainMs: number | undefined
}

export const planJob = (view: JobView): JobPlan => {
  const { job, pods, now } = view
  const { spec } = job
  const before = job.status ?? {}
  const isSuspended = spec.suspend === true
  const startTime = before.startTime ?? (isSuspended ? undefined : now)
  const succeededUids = new Set(before.uncountedTerminatedPods?.succeeded)
  const failedUids = new Set(before.uncountedTerminatedPods?.failed)
  const fresh = pods
    .filter(({ metadata: { uid = "" } }) => !succeededUids.has(uid) && !failedUids.has(uid))
    .filter(isTracked)
  const done = doneIndexes(view)
  const succeeded = isIndexed(job)
    ? done.size
    : (before.succeeded ?? 0) + succeededUids.size + fresh.filter((pod) => phaseOf(pod) === "Succeeded").length
  const failed = (before.failed ?? 0) + failedUids.size + fresh.filter((pod) => hasFailed(job, pod)).length
  const active = pods.filter(isActive)
  const goal = known(before) ?? failure(view, failed, startTime)
  const change = goal === undefined ? manage(view, active, succeeded, done) : { create: [], delete: active }
  const activeCount = active.length + change.create.length - change.delete.length
  const isReached =
    spec.completions === undefined
      ? succeeded > 0 && activeCount === 0
      : succeeded >= spec.completions && activeCount === 0
  const end =
    goal ??
    (isReached
      ? condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods", now)
      : undefined)

  const release = pods.filter((pod) => isTracked(pod) && mayLeave(job, pod, end))
  const noted = new Set(release.map(({ metadata }) => metadata.uid ?? ""))
  const holds = new Set(pods.filter(isTracked).map(({ metadata }) => metadata.uid ?? ""))
  // A noted Pod that is no longer held was released by an earlier pass that did not get to counting it.
  const lost = {
    succeeded: [...succeededUids].filter((uid) => !holds.has(uid)),
    failed: [...failedUids].filter((uid) => !holds.has(uid)),
  }
  const newly = (isWanted: (pod: Pod) => boolean, old: ReadonlySet<string>): ReadonlyArray<string> => [
    ...[...old].filter((uid) => holds.has(uid)),
    ...release
      .filter(
        (pod) => isWanted(pod) && !succeededUids.has(pod.metadata.uid ?? "") && !failedUids.has(pod.metadata.uid ?? ""),
      )
      .map(({ metadata }) => metadata.uid ?? ""),
  ]
  const isFailureEnd = end?.type === "FailureTarget"
  const isFailedPod = (pod: Pod): boolean => phaseOf(pod) !== "Succeeded" && (hasFailed(job, pod) || isFailureEnd)
  const uncountedSucceeded = isIndexed(job) ? [] : newly((pod) => phaseOf(pod) === "Succeeded", succeededUids)
  const uncountedFailed = newly(isFailedPod, failedUids)
  const terminating = pods.filter((pod) => isTerminating(pod) && !isFinished(pod)).length + change.delete.length
  const paused = suspension(before, isSuspended, goal === undefined && !isReached, now)
  const conditions =
    end === undefined || conditionOf(paused.conditions, end.type) ? paused.conditions : [...paused.conditions, end]

  const common = {
    ...(startTime === undefined ? {} : { startTime: paused.restarts ? now : startTime }),
    ...withoutZeros({ active: activeCount }),
    terminating,
    ...(isIndexed(job) && done.size > 0 ? { completedIndexes: formatIndexes(done) } : {}),
    ready: active.filter((pod) => isReady(pod) && !change.delete.includes(pod)).length,
  }
  const succeededBase = isIndexed(job) ? done.size : (before.succeeded ?? 0) + lost.succeeded.length
  const failedBase = (before.failed ?? 0) + lost.failed.length
  const leaves = (uids: ReadonlyArray<string>): ReadonlyArray<string> => uids.filter((uid) => !noted.has(uid))
  const left = { succeeded: leaves(uncountedSucceeded), failed: leaves(uncountedFailed) }
  const isOver = end !== undefined && left.succeeded.length + left.failed.length === 0 && terminating === 0
  const finish = isOver
    ? condition(isFailureEnd ? "Failed" : "Complete", end.reason ?? "", end.message ?? "", now)
    : undefined
  return {
    ...change,
    noted: {
      ...(conditions.length === 0 ? {} : { conditions }),
      ...common,
      ...withoutZeros({ succeeded: succeededBase, failed: failedBase }),
      uncountedTerminatedPods: uncounted(uncountedSucceeded, uncountedFailed),
    },
    release,
    counted: {
      ...(finish === undefined
        ? conditions.length === 0
          ? {}
          : { conditions }
        : { conditions: [...conditions, finish] }),
      ...common,
      ...(finish?.type === "Complete" ? { completionTime: now } : {}),
      ...withoutZeros({
        succeeded: succeededBase + (uncountedSucceeded.length - left.succeeded.length),
        failed: failedBase + (uncountedFailed.length - left.failed.length),
      }),
      uncountedTerminatedPods: uncounted(left.succeeded, left.failed),
    },
    events: [...paused.events, ...(finish === undefined ? [] : [finishEvent(finish)])],
    lookAgainMs: lookAgain(view, startTime, end, change),
  }
}

/** ms from the finish until the Job is to be deleted; `undefined` without a limit. */
export const untilExpiry = ({ spec, status }: Job, nowMs: number): number | undefined => {
  const finish = status?.conditions?.find(({ type }) => type === "Complete" || type === "Failed")
  if (finish === undefined || spec.ttlSecondsAfterFinished === undefined) return undefined
  return Date.parse(finish.lastTransitionTime ?? "") + spec.ttlSecondsAfterFinished * 1000 - nowMs
}

const condition = (type: string, reason: string, message: string, now: string): Condition => ({
  type,
  status: "True",
  lastProbeTime: now,
  lastTransitionTime: now,
  reason,
  message,
})

/** The final condition decided by an earlier pass. */
const known = ({ conditions }: JobStatus): Condition | undefined =>
  conditions?.find(
    ({ type, status }) => (type === "SuccessCriteriaMet" || type === "FailureTarget") && status === "True",
  )

const failure = ({ job, pods, now }: JobView, failed: number, startTime: string | undefined): Condition | undefined => {
  const { backoffLimit = 6, activeDeadlineSeconds, template, suspend } = job.spec
  const restarts = pods
    .filter((pod) => phaseOf(pod) === "Running" || phaseOf(pod) === "Pending")
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0)
  const isPastRestarts = template.spec.restartPolicy === "OnFailure" && restarts > 0 && restarts >= backoffLimit
  if (failed > backoffLimit || isPastRestarts) {
    return condition("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now)
  }
  if (activeDeadlineSeconds === undefined || suspend === true || startTime === undefined) return undefined
  return Date.parse(now) - Date.parse(startTime) >= activeDeadlineSeconds * 1000
    ? condition("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline", now)
    : undefined
}

const mayLeave = (job: Job, pod: Pod, end: Condition | undefined): boolean =>
  job.metadata.deletionTimestamp !== undefined ||
  end !== undefined ||
  phaseOf(pod) === "Succeeded" ||
  hasFailed(job, pod)

const suspension = (before: JobStatus, isSuspended: boolean, applies: boolean, now: string) => {
  const conditions = before.conditions ?? []
  const given = conditionOf(conditions, "Suspended")
  const unchanged = { conditions, events: [], restarts: false }
  if (!applies || (given === undefined && !isSuspended) || given?.status === (isSuspended ? "True" : "False"))
    return unchanged
  const [reason, event, message] = isSuspended
    ? (["JobSuspended", "Suspended", "Job suspended"] as const)
    : (["JobResumed", "Resumed", "Job resumed"] as const)
  const next = { ...condition("Suspended", reason, message, now), status: isSuspended ? "True" : "False" }
  return {
    conditions: [...conditions.filter(({ type }) => type !== "Suspended"), next],
    events: [{ type: "Normal" as const, reason: event, message }],
    // The deadline counts from the resumption.
    restarts: !isSuspended,
  }
}

const uncounted = (succeeded: ReadonlyArray<string>, failed: ReadonlyArray<string>) => ({
  ...(succeeded.length === 0 ? {} : { succeeded }),
  ...(failed.length === 0 ? {} : { failed }),
})

const finishEvent = ({ type, reason = "", message = "" }: Condition): JobPlan["events"][number] =>
  type === "Complete"
    ? { type: "Normal", reason: "Completed", message: "Job completed" }
    : { type: "Warning", reason, message }

const lookAgain = (
  view: JobView,
  startTime: string | undefined,
  end: Condition | undefined,
  { create }: PodChange,
): number | undefined => {
  const { job, now, backOffMs } = view
  const { activeDeadlineSeconds, suspend } = job.spec
  if (end !== undefined) return undefined
  const waits: number[] = []
  if (backOffMs > 0 && create.length === 0) waits.push(backOffMs)
  if (activeDeadlineSeconds !== undefined && suspend !== true && startTime !== undefined) {
    waits.push(Math.max(1, Date.parse(startTime) + activeDeadlineSeconds * 1000 - Date.parse(now)))
  }
  return waits.length === 0 ? undefined : Math.min(...waits)
}
