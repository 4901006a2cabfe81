/**
 * Runs Jobs to their completion, and deletes finished ones when their time is up (pkg/controller/job,
 * ttlafterfinished).
 */
import {
  type Controller,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  keyOf,
  objectKey,
  recordAs,
  type Surroundings,
} from "../../host/index.ts"
import { type Condition, controllerOf, kinds, NotFoundError, type Pod } from "../../kube/index.ts"
import {
  finishedAs,
  indexOf,
  isIndexed,
  isTracked,
  type Job,
  type JobStatus,
  jobPod,
  trackingFinalizer,
} from "./job-objects.ts"
import { type PlannedEvent, writeStatus } from "./pods/object-controller.ts"
import {
  claimObjects,
  conditionOf,
  createPod,
  deletePod,
  inSlowStartBatches,
  isActive,
  isFinished,
  isReady,
  isTerminating,
  phaseOf,
  podsToDelete,
} from "./pods/pods.ts"
import { formatIndexes, parseIndexes, withoutZeros } from "./pods/statuses.ts"

// How long a Job waits before the next Pod after failures: 10 s after the first, doubled for each further one, at most
// 10 min, counted from the last failure; a success resets it (backoff_utils.go).

const initialMs = 10_000
const maximumMs = 600_000

/** Computed from existing Pods; deleted ones no longer count. */
const remainingBackOffMs = (pods: ReadonlyArray<Pod>, nowMs: number): number => {
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

export const jobController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const jobs = cluster.cache<Job>(kinds.jobs)
  const pods = cluster.cache<Pod>(kinds.pods)
  const record = recordAs(events, { component: "job-controller" })

  const release = async (pod: Pod): Promise<void> => {
    const { uid, finalizers = [] } = pod.metadata
    const left = finalizers.filter((finalizer) => finalizer !== trackingFinalizer)
    try {
      await cluster.patch<Pod>(kinds.pods, pod, "merge", { metadata: { uid, finalizers: left } })
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
    }
  }

  /** Releases Pods whose Job is gone or replaced by another of that name: they are no longer counted. */
  const releaseOrphans = async (key: string, job: Job | undefined): Promise<void> => {
    const [namespace = ""] = key.split("/")
    const orphans = pods.inNamespace(namespace).filter((pod) => {
      const owner = controllerOf(pod)
      return (
        isTracked(pod) &&
        owner?.kind === "Job" &&
        objectKey(namespace, owner.name) === key &&
        owner.uid !== job?.metadata.uid
      )
    })
    await Promise.all(orphans.map(release))
  }

  const afterFinish = async (key: string, job: Job): Promise<void> => {
    await Promise.all(pods.controlledBy(job.metadata.uid).filter(isTracked).map(release))
    const expiry = untilExpiry(job, cluster.nowMs())
    if (expiry === undefined || job.metadata.deletionTimestamp !== undefined) return
    if (expiry > 0) return controller.enqueueAfter(key, expiry)
    await cluster.delete(kinds.jobs, job, { propagationPolicy: "Foreground" })
  }

  const reconcile = async (key: string): Promise<void> => {
    const job = jobs.byKey(key)
    await releaseOrphans(key, job)
    if (job === undefined) return
    if (finishedAs(job) !== undefined) return afterFinish(key, job)
    const own = await claimObjects<Pod>(cluster, kinds.pods, job, kinds.jobs, job.spec.selector)
    const backOffMs = remainingBackOffMs(own, cluster.nowMs())
    const plan = planJob({ job, pods: own, now: cluster.now(), backOffMs })
    await Promise.all(plan.delete.map((pod) => deletePod(cluster, record, job, pod)))
    const failure = await inSlowStartBatches(plan.create.length, (index) =>
      createPod(cluster, record, job, jobPod(job, plan.create[index])),
    )
    // The counts state what was created; after a failure the next pass corrects them.
    if (failure !== undefined) throw failure
    const noted = await writeStatus(cluster, kinds.jobs, job, plan.noted)
    await Promise.all(plan.release.map(release))
    await writeStatus(cluster, kinds.jobs, noted, plan.counted)
    for (const { type, reason, message } of plan.events) record(job, type, reason, message)
    controller.enqueueAfter(key, plan.lookAgainMs)
  }

  const controller = new KeyedController("job", surroundings, reconcile, () => [
    ...[...jobs.all()].map(keyOf),
    ...[...pods.all()].filter(isTracked).map((pod) => objectKey(pod.metadata.namespace, controllerOf(pod)?.name ?? "")),
  ])
  jobs.onChange(enqueueSelf(controller))
  pods.onChange(enqueueOwners(controller, kinds.jobs, surroundings))
  return controller
}

// Plans the next steps for a Job, as a pure function (job_controller.go, syncJob and
// trackJobStatusAndRemoveFinalizers): Pods to create and delete; a first status that notes which ended Pods are about
// to be counted; the Pods to release; then the status with them counted. A Pod is counted exactly once, even after an
// interruption: it is noted by UID before its finalizer is removed, and counted only afterwards.
//
// Not provided: backoffLimitPerIndex, podFailurePolicy, successPolicy.

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
  readonly events: ReadonlyArray<PlannedEvent>
  /** ms until the Job must be checked even if nothing changes. */
  readonly lookAgainMs: number | undefined
}

export const planJob = (view: JobView): JobPlan => {
  const { job, pods, now } = view
  const { completions, suspend } = job.spec
  const before = job.status ?? {}
  const startTime = before.startTime ?? (suspend === true ? undefined : now)
  const tally = tallyOf(view)
  const { active, succeeded, failed, done } = tally
  const goal = known(before) ?? failure(view, failed, startTime)
  const change = goal === undefined ? manage(view, active, succeeded, done) : { create: [], delete: active }
  const activeCount = active.length + change.create.length - change.delete.length
  const isReached = activeCount === 0 && (completions === undefined ? succeeded > 0 : succeeded >= completions)
  const reached = "Reached expected number of succeeded pods"
  const end = goal ?? (isReached ? condition("SuccessCriteriaMet", "CompletionsReached", reached, now) : undefined)
  const isFailure = end?.type === "FailureTarget"
  const release = pods.filter((pod) => isTracked(pod) && mayLeave(job, pod, end))
  const counts = countsOf(view, tally, release, isFailure)
  const terminating = pods.filter((pod) => isTerminating(pod) && !isFinished(pod)).length + change.delete.length
  const paused = suspension(before, suspend === true, goal === undefined && !isReached, now)
  const isNew = end !== undefined && conditionOf(paused.conditions, end.type) === undefined
  const conditions = isNew ? [...paused.conditions, end] : paused.conditions
  const finish =
    end !== undefined && counts.left === 0 && terminating === 0
      ? condition(isFailure ? "Failed" : "Complete", end.reason ?? "", end.message ?? "", now)
      : undefined
  const common = {
    ...(startTime === undefined ? {} : { startTime: paused.restarts ? now : startTime }),
    ...withoutZeros({ active: activeCount }),
    terminating,
    ...(isIndexed(job) && done.size > 0 ? { completedIndexes: formatIndexes(done) } : {}),
    ready: active.filter((pod) => isReady(pod) && !change.delete.includes(pod)).length,
  }
  return {
    ...change,
    noted: { ...listed(conditions), ...common, ...counts.noted },
    release,
    counted: {
      ...listed(finish === undefined ? conditions : [...conditions, finish]),
      ...common,
      ...(finish?.type === "Complete" ? { completionTime: now } : {}),
      ...counts.counted,
    },
    events: [...paused.events, ...(finish === undefined ? [] : [finishEvent(finish)])],
    lookAgainMs: lookAgain(view, startTime, end, change),
  }
}

const listed = (conditions: ReadonlyArray<Condition>): Pick<JobStatus, "conditions"> =>
  conditions.length === 0 ? {} : { conditions }

/** What the Pods of a Job and its status say together. */
interface Tally {
  readonly active: ReadonlyArray<Pod>
  readonly succeeded: number
  readonly failed: number
  /** The completed indexes. */
  readonly done: ReadonlySet<number>
}

const tallyOf = (view: JobView): Tally => {
  const { job, pods } = view
  const { succeeded = 0, failed = 0, uncountedTerminatedPods = {} } = job.status ?? {}
  const { succeeded: ended = [], failed: broken = [] } = uncountedTerminatedPods
  const noted = new Set([...ended, ...broken])
  const fresh = pods.filter((pod) => isTracked(pod) && !noted.has(uidOf(pod)))
  const done = doneIndexes(view)
  const newlySucceeded = fresh.filter((pod) => phaseOf(pod) === "Succeeded").length
  return {
    active: pods.filter(isActive),
    succeeded: isIndexed(job) ? done.size : succeeded + ended.length + newlySucceeded,
    failed: failed + broken.length + fresh.filter((pod) => hasFailed(job, pod)).length,
    done,
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ""

type Counts = Pick<JobStatus, "succeeded" | "failed" | "uncountedTerminatedPods">

/** The counts of both statuses. `left`: how many ended Pods remain to be counted by a later pass. */
const countsOf = (
  { job, pods }: JobView,
  { done }: Tally,
  release: ReadonlyArray<Pod>,
  isFailure: boolean,
): { readonly noted: Counts; readonly counted: Counts; readonly left: number } => {
  const { succeeded = 0, failed = 0, uncountedTerminatedPods = {} } = job.status ?? {}
  const before = { succeeded: uncountedTerminatedPods.succeeded ?? [], failed: uncountedTerminatedPods.failed ?? [] }
  const noted = new Set([...before.succeeded, ...before.failed])
  const held = new Set(pods.filter(isTracked).map(uidOf))
  const released = new Set(release.map(uidOf))
  // A noted Pod that is no longer held was released by an earlier pass that did not get to counting it.
  const lost = (uids: ReadonlyArray<string>): number => uids.filter((uid) => !held.has(uid)).length
  const waiting = (uids: ReadonlyArray<string>, isWanted: (pod: Pod) => boolean): ReadonlyArray<string> => [
    ...uids.filter((uid) => held.has(uid)),
    ...release.filter((pod) => isWanted(pod) && !noted.has(uidOf(pod))).map(uidOf),
  ]
  const hasSucceeded = (pod: Pod): boolean => phaseOf(pod) === "Succeeded"
  const isBroken = (pod: Pod): boolean => !hasSucceeded(pod) && (hasFailed(job, pod) || isFailure)
  const uncounted = {
    succeeded: isIndexed(job) ? [] : waiting(before.succeeded, hasSucceeded),
    failed: waiting(before.failed, isBroken),
  }
  const stays = (uids: ReadonlyArray<string>): ReadonlyArray<string> => uids.filter((uid) => !released.has(uid))
  const left = { succeeded: stays(uncounted.succeeded), failed: stays(uncounted.failed) }
  const base = {
    succeeded: isIndexed(job) ? done.size : succeeded + lost(before.succeeded),
    failed: failed + lost(before.failed),
  }
  const counted = {
    succeeded: base.succeeded + uncounted.succeeded.length - left.succeeded.length,
    failed: base.failed + uncounted.failed.length - left.failed.length,
  }
  return {
    noted: { ...withoutZeros(base), uncountedTerminatedPods: withoutEmpty(uncounted) },
    counted: { ...withoutZeros(counted), uncountedTerminatedPods: withoutEmpty(left) },
    left: left.succeeded.length + left.failed.length,
  }
}

/** ms from the finish until the Job is to be deleted; `undefined` without a limit. */
const untilExpiry = ({ spec, status }: Job, nowMs: number): number | undefined => {
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

const withoutEmpty = ({ succeeded, failed }: Readonly<Record<"succeeded" | "failed", ReadonlyArray<string>>>) => ({
  ...(succeeded.length === 0 ? {} : { succeeded }),
  ...(failed.length === 0 ? {} : { failed }),
})

const finishEvent = ({ type, reason = "", message = "" }: Condition): PlannedEvent =>
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
