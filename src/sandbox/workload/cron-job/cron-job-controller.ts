/** Executes the plan of cron-job-plan.ts for each CronJob (pkg/controller/cronjob). */

import { keyOf } from "../../../host/cache/object-cache.ts"
import { sameJson } from "../../../host/cache/same-json.ts"
import {
  type Controller,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  recordAs,
  type Surroundings,
} from "../../../host/controller.ts"
import { AlreadyExistsError } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import { isControlledBy } from "../../../kube/client/owner-references.ts"
import type { Job } from "../job/job-object.ts"
import type { CronJob, JobReference } from "./cron-job-object.ts"
import { planCronJob } from "./cron-job-plan.ts"

export const cronJobController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const cronJobs = cluster.cache<CronJob>(kinds.cronJobs)
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

  const reconcile = async (key: string): Promise<void> => {
    const cronJob = cronJobs.byKey(key)
    if (cronJob === undefined) return
    const plan = planCronJob(cronJob, jobs.controlledBy(cronJob.metadata.uid), cluster.nowMs())
    for (const job of plan.delete) {
      await cluster.delete(kinds.jobs, job, { propagationPolicy: "Background" })
      record(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${job.metadata.name}`)
    }
    const created = plan.create === undefined ? undefined : await create(cronJob, plan.create)
    const active = [...(plan.status.active ?? []), ...(created === undefined ? [] : [referenceTo(created)])]
    const status = { ...plan.status, ...(active.length === 0 ? {} : { active }) }
    if (!sameJson(cronJob.status, status)) await cluster.updateStatus(kinds.cronJobs, { ...cronJob, status })
    for (const { type, reason, message } of plan.events) record(cronJob, type, reason, message)
    controller.enqueueAfter(key, plan.lookAgainMs)
  }

  const controller = new KeyedController("cronjob", surroundings, reconcile, () => [...cronJobs.all()].map(keyOf))
  cronJobs.onChange(enqueueSelf(controller))
  jobs.onChange(enqueueOwners(controller, kinds.cronJobs, surroundings))
  return controller
}

const referenceTo = ({ metadata }: Job): JobReference => ({
  kind: "Job",
  namespace: metadata.namespace ?? "",
  name: metadata.name,
  uid: metadata.uid ?? "",
  apiVersion: "batch/v1",
  resourceVersion: metadata.resourceVersion ?? "",
})
