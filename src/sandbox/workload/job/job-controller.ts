/**
 * Executes the plan of job-plan.ts for each Job, and deletes finished ones when their time is up (pkg/controller/job,
 * ttlafterfinished).
 */

import { keyOf, objectKey } from "../../../host/cache/object-cache.ts"
import { sameJson } from "../../../host/cache/same-json.ts"
import {
  type Controller,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  recordAs,
  type Surroundings,
} from "../../../host/controller.ts"
import { NotFoundError } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { Pod } from "../../../kube/client/objects.ts"
import { controllerOf } from "../../../kube/client/owner-references.ts"
import { claimObjects } from "../claimed-objects.ts"
import { createPod, deletePod, inSlowStartBatches } from "../pod-control.ts"
import { phaseOf } from "../pod-facts.ts"
import { finishedAs, isTracked, type Job, jobPod, trackingFinalizer } from "./job-object.ts"
import { planJob, untilExpiry } from "./job-plan.ts"

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
    const isNews = !sameJson(job.status, plan.noted)
    const noted = isNews ? await cluster.updateStatus(kinds.jobs, { ...job, status: plan.noted }) : job
    await Promise.all(plan.release.map(release))
    if (!sameJson(noted.status, plan.counted))
      await cluster.updateStatus(kinds.jobs, { ...noted, status: plan.counted })
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
