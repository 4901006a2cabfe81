/** The status of a Deployment and its conditions, with the messages of the real controller (sync.go, progress.go). */
import type { Condition } from "../../kube/index.ts"
import {
  availableOf,
  type Deployment,
  type DeploymentStatus,
  type Family,
  maxUnavailable,
  membersOf,
  progressDeadlineOf,
  replicasOf,
  sumOf,
  wantedOf,
} from "./deployment-replica-sets.ts"
import { conditionOf } from "./pods/pods.ts"
import { type Conditions, withCondition, withoutCondition, withoutZeros } from "./pods/statuses.ts"
import type { ReplicaSet } from "./replica-set-controller.ts"

/** `now` in RFC 3339. */
export const deploymentCondition = (
  type: string,
  status: string,
  reason: string,
  message: string,
  now: string,
): Condition => ({
  type,
  status,
  lastUpdateTime: now,
  lastTransitionTime: now,
  reason,
  message,
})

/** Sets counts and availability and keeps the other conditions. */
export const plainStatus = (deployment: Deployment, family: Family, now: string): DeploymentStatus => {
  const members = membersOf(family)
  const available = availableOf(members)
  const isEnough = available >= replicasOf(deployment) - maxUnavailable(deployment)
  const availability = isEnough
    ? deploymentCondition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
    : deploymentCondition(
        "Available",
        "False",
        "MinimumReplicasUnavailable",
        "Deployment does not have minimum availability.",
        now,
      )
  const { conditions = [], collisionCount } = deployment.status ?? {}
  return {
    ...withoutZeros({
      observedGeneration: deployment.metadata.generation ?? 0,
      replicas: sumOf(members, ({ status }) => status?.replicas ?? 0),
      updatedReplicas: family.current?.status?.replicas ?? 0,
      readyReplicas: sumOf(members, ({ status }) => status?.readyReplicas ?? 0),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, wantedOf(members) - available),
    }),
    conditions: withCondition(conditions, availability),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  }
}

/** The same with an estimate of the progress. */
export const rolloutStatus = (deployment: Deployment, family: Family, now: string): DeploymentStatus => {
  const status = plainStatus(deployment, family, now)
  const progressed = withProgress(deployment, family, status, now)
  const failure = replicaFailure(family)
  const conditions =
    failure === undefined ? withoutCondition(progressed, "ReplicaFailure") : withCondition(progressed, failure)
  return { ...status, conditions }
}

export const isComplete = (deployment: Deployment, status: DeploymentStatus | undefined): boolean => {
  const replicas = replicasOf(deployment)
  return (
    (status?.updatedReplicas ?? 0) === replicas &&
    (status?.replicas ?? 0) === replicas &&
    (status?.availableReplicas ?? 0) === replicas &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  )
}

/** ms until a rollout without progress must be checked again; `undefined` if none is under way. */
export const untilDeadline = (deployment: Deployment, status: DeploymentStatus, nowMs: number): number | undefined => {
  const condition = conditionOf(deployment.status?.conditions, "Progressing")
  const deadline = progressDeadlineOf(deployment)
  if (deadline === undefined || condition === undefined) return undefined
  if (isComplete(deployment, status) || condition.reason === timedOut) return undefined
  // One more second, since the times in conditions are whole seconds.
  return Math.max(1000, Date.parse(condition.lastUpdateTime ?? "") + deadline * 1000 - nowMs + 1000)
}

const timedOut = "ProgressDeadlineExceeded"
const newAvailable = "NewReplicaSetAvailable"

const withProgress = (
  deployment: Deployment,
  { current }: Family,
  status: DeploymentStatus,
  now: string,
): Conditions => {
  const conditions = status.conditions ?? []
  const deadline = progressDeadlineOf(deployment)
  if (deadline === undefined) return withoutCondition(conditions, "Progressing")
  const known = conditionOf(deployment.status?.conditions, "Progressing")
  const subject =
    current === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${current.metadata.name}"`
  const progressing = (value: string, reason: string, what: string): Condition =>
    deploymentCondition("Progressing", value, reason, `${subject} ${what}`, now)
  // A single ReplicaSet, rolled out already: nothing to estimate.
  if (status.replicas === status.updatedReplicas && known?.reason === newAvailable) return conditions
  if (isComplete(deployment, status)) {
    return withCondition(conditions, progressing("True", newAvailable, "has successfully progressed."))
  }
  if (makesProgress(deployment.status ?? {}, status)) {
    const next = progressing("True", "ReplicaSetUpdated", "is progressing.")
    // The time of the last progress must change even if status and reason stay.
    const kept = known?.status === "True" ? { ...next, lastTransitionTime: known.lastTransitionTime } : next
    return [...withoutCondition(conditions, "Progressing"), kept]
  }
  const isLate =
    known !== undefined &&
    known.reason !== newAvailable &&
    (known.reason === timedOut || Date.parse(known.lastUpdateTime ?? "") + deadline * 1000 < Date.parse(now))
  return isLate ? withCondition(conditions, progressing("False", timedOut, "has timed out progressing.")) : conditions
}

const makesProgress = (before: DeploymentStatus, after: DeploymentStatus): boolean => {
  const outdated = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    outdated(after) < outdated(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

/** The failure of the new ReplicaSet, or else that of any other. */
const replicaFailure = ({ current, old }: Family): Condition | undefined => {
  const ordered: ReadonlyArray<ReplicaSet> = current === undefined ? old : [current, ...old]
  const found = ordered.flatMap(({ status }) => conditionOf(status?.conditions, "ReplicaFailure") ?? [])[0]
  return found === undefined ? undefined : { ...found, lastUpdateTime: found.lastTransitionTime ?? "" }
}
