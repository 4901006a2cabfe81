/** What the cluster says about the driver of a Simulation: its Job, and the pod of the present repetition. */
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import { NotFoundError } from "../../../kube/client/api-errors.ts"
import type { ApiObject, Pod, PodStatus } from "../../../kube/client/objects.ts"
import { derivedNames } from "../../api/derived-names.ts"
import { isOwnedBy } from "../objects/belonging.ts"
import type { Job } from "../objects/driver-job.ts"
import type { DriverJob } from "../state/observation.ts"
import { nameOfKind } from "./kinds.ts"

/**
 * The Job that belongs to the Simulation, or the one that has its name. `isSure`: asked of the server if the cache has none, because from its absence follows
 * what cannot be taken back. `namespace`: absent if the Simulation cannot be read.
 */
export const findJob = async (
  cluster: ControllerCluster,
  simulation: ApiObject,
  namespace: string | undefined,
  isSure: boolean,
): Promise<Job | undefined> => {
  const name = derivedNames(simulation.metadata.name).driver
  const known = cluster.cached<Job>(nameOfKind.job).list()
  const own = known.find((job) => job.metadata.name === name && isOwnedBy(job, simulation))
  if (own !== undefined || namespace === undefined) return own
  const named = known.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
  if (named !== undefined || !isSure) return named
  try {
    return await cluster.getLive<Job>(nameOfKind.job, { namespace, name })
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}

/** Asks for the pods of a Job that has failed: why is in the words that the last one left. */
export const observeDriver = async (
  cluster: ControllerCluster,
  simulation: ApiObject,
  job: Job | undefined,
): Promise<DriverJob> => {
  if (job === undefined) return { tag: "absent" }
  if (!isOwnedBy(job, simulation)) return { tag: "foreign" }
  const { startTime, succeeded: completedRuns = 0, conditions = [] } = job.status ?? {}
  const isDeleting = job.metadata.deletionTimestamp !== undefined
  const end = conditions.find(({ type, status }) => status === "True" && (type === "Complete" || type === "Failed"))
  if (end !== undefined) {
    const tag = end.type === "Complete" ? "complete" : "failed"
    const endTime = end.lastTransitionTime ?? undefined
    const message = tag === "complete" ? "" : await failureOf(cluster, job, end.message ?? end.reason ?? "")
    return { tag, isDeleting, startTime, endTime, completedRuns, message }
  }
  const pods = cluster
    .cached<Pod>(nameOfKind.pod)
    .list({ namespace: job.metadata.namespace })
    .filter((pod) => isOwnedBy(pod, job))
  const hasRun = completedRuns > 0 || pods.some(({ status }) => hasStarted(status))
  const createdMs = Date.parse(job.metadata.creationTimestamp ?? "")
  return {
    tag: "active",
    isDeleting,
    startTime,
    completedRuns,
    notStartedMs: hasRun ? undefined : Date.parse(cluster.now()) - createdMs,
    trouble: pods.map(troubleOf).find((trouble) => trouble !== undefined),
  }
}

const hasStarted = (status: PodStatus | undefined): boolean =>
  status?.phase !== undefined && status.phase !== "Pending" && status.phase !== "Unknown"

/** Reasons for which a container waits and that do not pass by themselves. */
const stuck = new Set([
  "ImagePullBackOff",
  "ErrImagePull",
  "ErrImageNeverPull",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
])

const troubleOf = ({ metadata, status }: Pod): string | undefined => {
  if (status?.phase !== "Pending") return undefined
  const waiting = status.containerStatuses
    ?.map(({ state }) => state.waiting)
    .find((state) => stuck.has(state?.reason ?? ""))
  if (waiting !== undefined)
    return `the pod ${metadata.name} of the driver waits: ${waiting.reason}${waiting.message === undefined ? "" : `, ${waiting.message}`}`
  const unscheduled = status.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False")
  return unscheduled === undefined
    ? undefined
    : `no node takes the pod ${metadata.name} of the driver: ${unscheduled.message ?? unscheduled.reason ?? ""}`
}

interface Ended {
  readonly terminated?: { readonly exitCode: number; readonly reason?: string; readonly message?: string }
}

/** `said`: by the Job, for want of something better. */
const failureOf = async (cluster: ControllerCluster, job: Job, said: string): Promise<string> => {
  const { namespace = "", name } = job.metadata
  const pods = await cluster.listLive<Pod>(nameOfKind.pod, { namespace, labelSelector: `job-name=${name}` })
  const failed = pods
    .filter((pod) => pod.status?.phase === "Failed" && isOwnedBy(pod, job))
    .sort((one, other) => ((one.metadata.creationTimestamp ?? "") < (other.metadata.creationTimestamp ?? "") ? 1 : -1))
  const [last] = failed
  if (last === undefined) return `the driver's Job has failed: ${said}`
  const { terminated } = (last.status?.containerStatuses?.find(({ name }) => name === "driver")?.state ?? {}) as Ended
  const words = terminated?.message?.trim() || last.status?.message?.trim()
  const how = terminated === undefined ? (last.status?.reason ?? said) : `exit code ${terminated.exitCode}`
  return `the pod ${last.metadata.name} of the driver has failed: ${words || how}`
}
