/** CronJobs as their controller reads them. */

import type { ApiObject, Metadata } from "../../../kube/client/objects.ts"
import type { Job } from "../job/job-object.ts"

export interface JobReference {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly apiVersion: string
  readonly resourceVersion: string
}

export interface CronJobStatus {
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
