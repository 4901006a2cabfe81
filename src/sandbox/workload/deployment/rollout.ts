/**
 * Plans the next steps for a Deployment: a pure function from the current state to the next writes, in the real
 * controller's order (deployment_controller.go, syncDeployment).
 *
 * The plan ends after a write that the rest depends on (a new ReplicaSet, a revision); the write's event triggers the
 * next plan with the new state. The real controller continues with the old state and runs into a conflict.
 */

import { sameJson } from "../../../host/cache/same-json.ts"
import type { Pod } from "../../../kube/client/objects.ts"
import { requirementsOf } from "../../../kube/label-selector.ts"
import { withCondition } from "../conditions.ts"
import { conditionOf, createdMs, isFinished } from "../pod-facts.ts"
import { type ReplicaSet, wantedReplicas } from "../replica-set/replica-set-object.ts"
import { createNew, type DeploymentAction, resize, resizesOf } from "./deployment-action.ts"
import { type Deployment, historyLimitOf, isRolling, progressDeadlineOf, replicasOf } from "./deployment-object.ts"
import { deploymentCondition, isComplete, plainStatus, rolloutStatus, untilDeadline } from "./deployment-status.ts"
import { type Family, familyOf, isWanted, membersOf } from "./replica-set-family.ts"
import {
  annotatedSize,
  desiredAnnotation,
  newReplicaSetAnnotations,
  nextRevision,
  revisionAnnotation,
  revisionOf,
} from "./revisions.ts"
import { newReplicaSetSize, scaleFamily, shrinkOldReplicaSets } from "./scaling.ts"

interface DeploymentView {
  readonly deployment: Deployment
  /** The Deployment's own, after adoption and release. */
  readonly replicaSets: ReadonlyArray<ReplicaSet>
  /** Pods of these ReplicaSets. */
  readonly pods: ReadonlyArray<Pod>
  /** RFC 3339. */
  readonly now: string
}

export const planDeployment = (view: DeploymentView): ReadonlyArray<DeploymentAction> => {
  const { deployment, replicaSets, now } = view
  if (requirementsOf(deployment.spec.selector ?? {}).length === 0) {
    const message = "This deployment is selecting all pods. A non-empty selector is required."
    return [{ type: "warn", reason: "SelectingAll", message }]
  }
  const family = familyOf(deployment, replicaSets)
  if (deployment.metadata.deletionTimestamp === undefined) {
    const paused = pausedCondition(deployment, now)
    if (paused !== undefined) return [{ type: "status", deployment: paused }]
  }
  const revised = revise(deployment, family, now)
  if (revised !== undefined) return [revised]
  if (deployment.metadata.deletionTimestamp !== undefined) return plain(deployment, family, now)
  if (deployment.spec.paused === true || isBeingScaled(deployment, family)) {
    const resized = resizesOf(deployment, scaleFamily(deployment, family))
    const cleaned = deployment.spec.paused === true ? cleanUp(deployment, family) : []
    return [...resized, ...cleaned, ...plain(deployment, family, now)]
  }
  return isRolling(deployment) ? roll(view, family) : recreate(view, family)
}

/** The Deployment with its revision and the condition that a ReplicaSet has been created for it. */
export const afterCreation = (deployment: Deployment, name: string, revision: number, now: string): Deployment =>
  withProgressing(
    withRevision(deployment, String(revision)),
    "True",
    "NewReplicaSetCreated",
    `Created new replica set "${name}"`,
    now,
  )

export const afterFailedCreation = (deployment: Deployment, message: string, now: string): Deployment =>
  withProgressing(deployment, "False", "ReplicaSetCreateError", message, now)

const roll = ({ deployment, now }: DeploymentView, family: Family): ReadonlyArray<DeploymentAction> => {
  const { current, old } = family
  if (current === undefined) return [createNew(deployment, old)]
  const size = wantedReplicas(current)
  const wanted = replicasOf(deployment)
  const others = old
  const next = size > wanted ? wanted : size < wanted ? newReplicaSetSize(deployment, others, size) : size
  if (next !== size)
    return [resize(deployment, { replicaSet: current, replicas: next }), ...estimate(deployment, family, now)]
  const shrunk = resizesOf(deployment, shrinkOldReplicaSets(deployment, current, old))
  if (shrunk.length > 0) return [...shrunk, ...estimate(deployment, family, now)]
  const cleaned = isComplete(deployment, deployment.status) ? cleanUp(deployment, family) : []
  return [...cleaned, ...estimate(deployment, family, now)]
}

const recreate = ({ deployment, pods, now }: DeploymentView, family: Family): ReadonlyArray<DeploymentAction> => {
  const { current, old } = family
  const down = old.filter(isWanted).map((replicaSet) => resize(deployment, { replicaSet, replicas: 0 }))
  if (down.length > 0) return [...down, ...estimate(deployment, family, now)]
  const isOldRunning =
    old.some(({ status }) => (status?.replicas ?? 0) > 0) ||
    pods.some(
      (pod) => pod.metadata.ownerReferences?.every(({ uid }) => uid !== current?.metadata.uid) && !isFinished(pod),
    )
  if (isOldRunning) return estimate(deployment, family, now)
  if (current === undefined) return [createNew(deployment, old)]
  const up = resizesOf(deployment, [{ replicaSet: current, replicas: replicasOf(deployment) }])
  const cleaned = isComplete(deployment, deployment.status) ? cleanUp(deployment, family) : []
  return [...up, ...cleaned, ...estimate(deployment, family, now)]
}

/** Brings annotations and revision of an existing new ReplicaSet up to date; `undefined` if they are. */
const revise = (deployment: Deployment, { current, old }: Family, now: string): DeploymentAction | undefined => {
  if (current === undefined) return undefined
  const before = current.metadata.annotations ?? {}
  const annotations = newReplicaSetAnnotations(deployment, before, nextRevision(old), true)
  const { minReadySeconds = 0 } = deployment.spec
  if (!sameJson(before, annotations) || (current.spec.minReadySeconds ?? 0) !== minReadySeconds) {
    const spec = { ...current.spec, minReadySeconds }
    return { type: "update", replicaSet: { ...current, metadata: { ...current.metadata, annotations }, spec } }
  }
  const revised = withRevision(deployment, before[revisionAnnotation] ?? "")
  const isNew = conditionOf(deployment.status?.conditions, "Progressing") === undefined
  const found =
    isNew && progressDeadlineOf(deployment) !== undefined
      ? withProgressing(revised, "True", "FoundNewReplicaSet", `Found new replica set "${current.metadata.name}"`, now)
      : revised
  return found === deployment ? undefined : { type: "status", deployment: found }
}

/** Whether the size has changed; distinguished from a rollout by the size for which the ReplicaSets were last scaled. */
const isBeingScaled = (deployment: Deployment, family: Family): boolean =>
  membersOf(family)
    .filter(isWanted)
    .some(
      (replicaSet) =>
        (annotatedSize(replicaSet, desiredAnnotation) ?? replicasOf(deployment)) !== replicasOf(deployment),
    )

/** Old ReplicaSets beyond the history limit, oldest revision first; never those that have or want Pods. */
const cleanUp = (deployment: Deployment, { old }: Family): ReadonlyArray<DeploymentAction> => {
  const limit = historyLimitOf(deployment)
  if (limit === undefined) return []
  const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const byRevision = [...alive].sort(
    (left, right) => (revisionOf(left) ?? 0) - (revisionOf(right) ?? 0) || createdMs(left) - createdMs(right),
  )
  return byRevision
    .slice(0, Math.max(0, alive.length - limit))
    .filter(
      ({ metadata, spec, status }) =>
        (status?.replicas ?? 0) === 0 &&
        (spec.replicas ?? 1) === 0 &&
        (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0),
    )
    .map((replicaSet) => ({ type: "delete", replicaSet }))
}

const plain = (deployment: Deployment, family: Family, now: string): ReadonlyArray<DeploymentAction> => {
  const status = plainStatus(deployment, family, now)
  return sameJson(deployment.status, status) ? [] : [{ type: "status", deployment: { ...deployment, status } }]
}

const estimate = (deployment: Deployment, family: Family, now: string): ReadonlyArray<DeploymentAction> => {
  const status = rolloutStatus(deployment, family, now)
  if (!sameJson(deployment.status, status)) return [{ type: "status", deployment: { ...deployment, status } }]
  const afterMs = untilDeadline(deployment, status, Date.parse(now))
  return afterMs === undefined ? [] : [{ type: "look-again", afterMs }]
}

/** Records in the Deployment that it was paused or resumed, so that the pause does not count as lack of progress. */
const pausedCondition = (deployment: Deployment, now: string): Deployment | undefined => {
  if (progressDeadlineOf(deployment) === undefined) return undefined
  const known = conditionOf(deployment.status?.conditions, "Progressing")
  if (known?.reason === "ProgressDeadlineExceeded") return undefined
  const isKnownPaused = known?.reason === "DeploymentPaused"
  const isPaused = deployment.spec.paused === true
  if (isPaused === isKnownPaused) return undefined
  return isPaused
    ? withProgressing(deployment, "Unknown", "DeploymentPaused", "Deployment is paused", now)
    : withProgressing(deployment, "Unknown", "DeploymentResumed", "Deployment is resumed", now)
}

const withRevision = (deployment: Deployment, revision: string): Deployment => {
  const { metadata } = deployment
  if (revision === "" || metadata.annotations?.[revisionAnnotation] === revision) return deployment
  return {
    ...deployment,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [revisionAnnotation]: revision } },
  }
}

const withProgressing = (
  deployment: Deployment,
  status: string,
  reason: string,
  message: string,
  now: string,
): Deployment => {
  if (progressDeadlineOf(deployment) === undefined) return deployment
  const conditions = withCondition(
    deployment.status?.conditions ?? [],
    deploymentCondition("Progressing", status, reason, message, now),
  )
  return { ...deployment, status: { ...deployment.status, conditions } }
}
