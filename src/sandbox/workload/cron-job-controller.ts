/** Starts the Jobs of CronJobs (pkg/controller/cronjob). */

import { type Controller, recordAs, type Surroundings } from "../../host/index.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  type CronSchedule,
  controllerReference,
  isControlledBy,
  kinds,
  type Metadata,
  parseSchedule,
} from "../../kube/index.ts"
import { finishedAs, type Job } from "./job-objects.ts"
import { objectController, type PlannedEvent, writeStatus } from "./pods/object-controller.ts"

export const cronJobController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const jobs = cluster.cache<Job>(kinds.jobs)
  const record = recordAs(events, { component: "cronjob-controller" })

  /** The Job under its name: a new one, or the one that an interrupted pass has created. */
  const create = async (cronJob: CronJob, wanted: Job): Promise<Job | undefined> => {
    try {
      const job = await cluster.create(kinds.jobs, wanted)
      record(cronJob, "Normal", "SuccessfulCreate", `Created job ${job.metadata.name}`)
      return job
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) {
        record(cronJob, "Warning", "FailedCreate", `Error creating job: ${String(error)}`)
        throw error
      }
      const existing = await cluster.api.get<Job>(kinds.jobs, wanted.metadata)
      return isControlledBy(existing, cronJob) ? existing : undefined
    }
  }

  const reconcile = async (cronJob: CronJob, again: (afterMs?: number) => void): Promise<void> => {
    const plan = planCronJob(cronJob, jobs.controlledBy(cronJob.metadata.uid), cluster.nowMs())
    for (const job of plan.delete) {
      await cluster.delete(kinds.jobs, job, { propagationPolicy: "Background" })
      record(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${job.metadata.name}`)
    }
    const created = plan.create === undefined ? undefined : await create(cronJob, plan.create)
    const active = [...(plan.status.active ?? []), ...(created === undefined ? [] : [referenceTo(created)])]
    const status = { ...plan.status, ...(active.length === 0 ? {} : { active }) }
    await writeStatus(cluster, kinds.cronJobs, cronJob, status)
    for (const { type, reason, message } of plan.events) record(cronJob, type, reason, message)
    again(plan.lookAgainMs)
  }

  return objectController(surroundings, { name: "cronjob", kind: kinds.cronJobs, owned: kinds.jobs }, reconcile)
}

const referenceTo = ({ metadata }: Job): JobReference => ({
  kind: "Job",
  namespace: metadata.namespace ?? "",
  name: metadata.name,
  uid: metadata.uid ?? "",
  apiVersion: "batch/v1",
  resourceVersion: metadata.resourceVersion ?? "",
})

// Plans the next steps for a CronJob, as a pure function (cronjob_controllerv2.go, syncCronJob).

interface CronJobPlan {
  /** Deleted before `create`: the Jobs that the new one replaces, and finished ones beyond the history limits. */
  readonly delete: ReadonlyArray<Job>
  readonly create: Job | undefined
  /** The status before `create`; the new Job is added when it has a UID. */
  readonly status: CronJobStatus
  readonly events: ReadonlyArray<PlannedEvent>
  readonly lookAgainMs: number | undefined
}

const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** The real controller acts 100 ms after the scheduled time, so that small clock differences do not matter. */
const delayMs = 100

const planCronJob = (cronJob: CronJob, jobs: ReadonlyArray<Job>, nowMs: number): CronJobPlan => {
  const events: PlannedEvent[] = []
  const settled = settle(cronJob, jobs, events)
  const expired = expiredJobs(cronJob, jobs)
  const idle = { delete: expired, create: undefined, status: settled, events, lookAgainMs: undefined }
  const { spec, metadata } = cronJob
  if (metadata.deletionTimestamp !== undefined) return idle
  const schedule = parseSchedule(spec.schedule, spec.timeZone)
  if ("problem" in schedule) {
    const message = `unparseable schedule: ${JSON.stringify(spec.schedule)} : ${schedule.problem}`
    events.push({ type: "Warning", reason: "UnparseableSchedule", message })
    return idle
  }
  if (spec.suspend === true) return idle
  const due = dueTime(cronJob, settled, schedule, nowMs)
  const next = schedule.next(due ?? nowMs)
  const waiting = { ...idle, lookAgainMs: next === undefined ? undefined : Math.max(1, next + delayMs - nowMs) }
  const name = due === undefined ? "" : jobName(cronJob, due)
  const active = settled.active ?? []
  const isStarted =
    due !== undefined && (settled.lastScheduleTime === iso(due) || active.some((job) => job.name === name))
  if (due === undefined || isStarted) return waiting
  if (spec.startingDeadlineSeconds !== undefined && due + spec.startingDeadlineSeconds * 1000 < nowMs) {
    const message = `Missed scheduled time to start a job: ${new Date(due).toUTCString().replace("GMT", "UTC")}`
    events.push({ type: "Warning", reason: "MissSchedule", message })
    return waiting
  }
  if (spec.concurrencyPolicy === "Forbid" && active.length > 0) {
    const message = "Not starting job because prior execution is running and concurrency policy is Forbid"
    events.push({ type: "Normal", reason: "JobAlreadyActive", message })
    return waiting
  }
  const replaced =
    spec.concurrencyPolicy === "Replace" ? jobs.filter((job) => active.some(({ uid }) => uid === job.metadata.uid)) : []
  return {
    ...waiting,
    delete: [...expired, ...replaced],
    create: jobAt(cronJob, due, name),
    status: {
      ...settled,
      active: active.filter(({ uid }) => !replaced.some((job) => job.metadata.uid === uid)),
      lastScheduleTime: iso(due),
    },
  }
}

/** `<cronjob>-<minutes since the epoch>`: a scheduled time never starts two Jobs. */
const jobName = ({ metadata }: CronJob, atMs: number): string => `${metadata.name}-${Math.floor(atMs / 60_000)}`

/**
 * The most recent scheduled time whose Job has not been started; `undefined` if there is none. Earlier missed ones are
 * skipped.
 */
const dueTime = (
  cronJob: CronJob,
  status: CronJobStatus,
  schedule: CronSchedule,
  nowMs: number,
): number | undefined => {
  const { startingDeadlineSeconds } = cronJob.spec
  const since = Date.parse(status.lastScheduleTime ?? cronJob.metadata.creationTimestamp ?? "") || nowMs
  const earliest =
    startingDeadlineSeconds === undefined ? since : Math.max(since, nowMs - startingDeadlineSeconds * 1000)
  const first = schedule.next(earliest)
  if (first === undefined || first > nowMs) return undefined
  const second = schedule.next(first)
  if (second === undefined || second > nowMs) return first
  // Starts near the end, for a CronJob that was not processed for years.
  const period = second - first
  const skipped = first + Math.max(0, Math.floor((nowMs - first) / period) - 1) * period
  let latest = first
  for (let time = schedule.next(skipped); time !== undefined && time <= nowMs; time = schedule.next(time)) latest = time
  return latest
}

const settle = (cronJob: CronJob, jobs: ReadonlyArray<Job>, events: PlannedEvent[]): CronJobStatus => {
  const before = cronJob.status ?? {}
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]))
  const active = (before.active ?? []).filter(({ uid, name }) => {
    const job = byUid.get(uid)
    const finish = job === undefined ? undefined : finishedAs(job)
    if (job === undefined)
      events.push({ type: "Normal", reason: "MissingJob", message: `Active job went missing: ${name}` })
    if (finish !== undefined) {
      const message = `Saw completed job: ${name}, condition: ${finish.type}`
      events.push({ type: "Normal", reason: "SawCompletedJob", message })
    }
    return job !== undefined && finish === undefined
  })
  const successes = jobs
    .filter((job) => finishedAs(job)?.type === "Complete")
    .flatMap(({ status }) => status?.completionTime ?? [])
  const last = [...successes, ...(before.lastSuccessfulTime === undefined ? [] : [before.lastSuccessfulTime])]
    .sort()
    .at(-1)
  return {
    ...(active.length === 0 ? {} : { active }),
    ...(before.lastScheduleTime === undefined ? {} : { lastScheduleTime: before.lastScheduleTime }),
    ...(last === undefined ? {} : { lastSuccessfulTime: last }),
  }
}

/** The oldest finished ones beyond the limits. */
const expiredJobs = ({ spec }: CronJob, jobs: ReadonlyArray<Job>): ReadonlyArray<Job> => {
  const beyond = (type: string, limit: number): ReadonlyArray<Job> => {
    const finished = jobs
      .filter((job) => finishedAs(job)?.type === type && job.metadata.deletionTimestamp === undefined)
      .sort((left, right) => Date.parse(left.status?.startTime ?? "") - Date.parse(right.status?.startTime ?? ""))
    return finished.slice(0, Math.max(0, finished.length - limit))
  }
  return [
    ...beyond("Complete", spec.successfulJobsHistoryLimit ?? 3),
    ...beyond("Failed", spec.failedJobsHistoryLimit ?? 1),
  ]
}

const jobAt = (cronJob: CronJob, atMs: number, name: string): Job => {
  const { metadata, spec } = cronJob.spec.jobTemplate
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name,
      namespace: cronJob.metadata.namespace,
      ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
      annotations: { ...metadata?.annotations, "batch.kubernetes.io/cronjob-scheduled-timestamp": iso(atMs) },
      ownerReferences: [controllerReference(cronJob)],
    },
    spec,
  }
}

// CronJobs as their controller reads them.

interface JobReference {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly apiVersion: string
  readonly resourceVersion: string
}

interface CronJobStatus {
  readonly active?: ReadonlyArray<JobReference>
  readonly lastScheduleTime?: string
  readonly lastSuccessfulTime?: string
}

export interface CronJob extends ApiObject {
  readonly spec: {
    readonly schedule: string
    readonly timeZone?: string
    readonly startingDeadlineSeconds?: number
    readonly concurrencyPolicy?: string
    readonly suspend?: boolean
    readonly successfulJobsHistoryLimit?: number
    readonly failedJobsHistoryLimit?: number
    readonly jobTemplate: { readonly metadata?: Partial<Metadata>; readonly spec: Job["spec"] }
  }
  readonly status?: CronJobStatus
}
