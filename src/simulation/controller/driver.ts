/** What the cluster says about the driver of a Simulation: its Job, and the pod of the present repetition. */
import type { ControllerCluster } from "../../host/index.ts"
import { type ApiObject, type Pod, type PodStatus, unlessNotFound } from "../../kube/index.ts"
import { derivedNames, nameOfKind } from "../api/derived-names.ts"
import { isOwnedBy, type Job, managedBy, ownedBy } from "./driver-job.ts"
import type { DriverJob } from "./state/decide.ts"
import { holderAnnotation, type TurnLease } from "./state/life.ts"

// The Lease `sk-lease` as it is written: taken, renewed while the simulation lasts, and deleted at the end. It is SimKube's, so that its tools show who runs.

/** SimKube's. */
export const turnLease = "sk-lease"

/** ms between two renewals. */
export const renewMs = 10_000
/** s that the Lease claims to be valid for without a renewal. It is never taken over because of its age: only once its holder is settled or gone. */
const durationSeconds = 60

/** From the server: whose turn it is must not depend on how far a cache is. */
export const readLease = (cluster: ControllerCluster, namespace: string): Promise<TurnLease | undefined> =>
  unlessNotFound(cluster.getLive<TurnLease>(nameOfKind.lease, { namespace, name: turnLease }))

/** Rejects with AlreadyExistsError or ConflictError if another process was faster. */
export const takeLease = async (
  cluster: ControllerCluster,
  namespace: string,
  simulation: ApiObject,
  lease: TurnLease | undefined,
): Promise<void> => {
  const { name, uid = "" } = simulation.metadata
  const now = microTime(cluster)
  const own = {
    annotations: { [holderAnnotation]: uid },
    // With the Simulation, also if its finalizer was removed by hand.
    ownerReferences: [ownedBy(simulation)],
  }
  const spec = { holderIdentity: name, leaseDurationSeconds: durationSeconds, acquireTime: now, renewTime: now }
  if (lease === undefined) {
    const metadata = { namespace, name: turnLease, labels: managedBy, ...own }
    await cluster.create({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec })
    return
  }
  await cluster.update({ ...lease, metadata: { ...lease.metadata, ...own }, spec: { ...lease.spec, ...spec } })
}

/** Sends nothing if the last renewal is fresh. */
export const renewLease = async (cluster: ControllerCluster, lease: TurnLease | undefined): Promise<void> => {
  if (lease === undefined) return
  const age = Date.parse(cluster.now()) - Date.parse(lease.spec?.renewTime ?? "")
  // A second less: the next look comes after exactly one period.
  if (age < renewMs - 1000) return
  const { resourceVersion } = lease.metadata
  await cluster.patch(lease, "merge", { metadata: { resourceVersion }, spec: { renewTime: microTime(cluster) } })
}

/** Of a Lease that is gone already there is nothing to release. */
export const releaseLease = (cluster: ControllerCluster, lease: TurnLease | undefined): Promise<void> =>
  lease === undefined ? Promise.resolve() : cluster.delete(lease)

/** metav1.MicroTime. */
const microTime = (cluster: ControllerCluster): string => cluster.now().replace("Z", ".000000Z")

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
  return unlessNotFound(cluster.getLive<Job>(nameOfKind.job, { namespace, name }))
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
