/** Rolls Deployments out (pkg/controller/deployment): plans the next writes of each, and executes them. */

import {
  type Cluster,
  type Controller,
  keyOf,
  objectKey,
  type Record,
  recordAs,
  type Surroundings,
  sameJson,
} from "../../host/index.ts"
import {
  AlreadyExistsError,
  controllerOf,
  controllerReference,
  isControlledBy,
  isTerminatingNamespace,
  kinds,
  type Pod,
} from "../../kube/index.ts"
import { requirementsOf } from "../../kube/offline.ts"
import {
  annotatedSize,
  type Deployment,
  desiredAnnotation,
  type Family,
  familyOf,
  hashLabel,
  historyLimitOf,
  isRolling,
  isWanted,
  membersOf,
  newReplicaSetAnnotations,
  newReplicaSetSize,
  nextRevision,
  progressDeadlineOf,
  type Resize,
  replicasOf,
  revisionAnnotation,
  revisionOf,
  sameTemplate,
  scaleFamily,
  shrinkOldReplicaSets,
  sizeAnnotations,
} from "./deployment-replica-sets.ts"
import { deploymentCondition, isComplete, plainStatus, rolloutStatus, untilDeadline } from "./deployment-status.ts"
import { hashTemplate } from "./pods/controller-revisions.ts"
import { objectController } from "./pods/object-controller.ts"
import { claimObjects, conditionOf, createdMs, isFinished } from "./pods/pods.ts"
import { withCondition } from "./pods/statuses.ts"
import { type ReplicaSet, wantedReplicas } from "./replica-set-controller.ts"

export const deploymentController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const replicaSets = cluster.cache<ReplicaSet>(kinds.replicaSets)
  const pods = cluster.cache<Pod>(kinds.pods)
  const record = recordAs(events, { component: "deployment-controller" })

  const carryOut = async (deployment: Deployment, action: DeploymentAction): Promise<void> => {
    switch (action.type) {
      case "create":
        return createReplicaSet(cluster, record, deployment, action)
      case "update":
        await cluster.update(kinds.replicaSets, action.replicaSet)
        if (action.event !== undefined) record(deployment, "Normal", "ScalingReplicaSet", action.event)
        return
      case "delete":
        return cluster.delete(kinds.replicaSets, action.replicaSet, { propagationPolicy: "Background" })
      case "status":
        await cluster.updateStatus(kinds.deployments, action.deployment)
        return
      case "look-again":
        return controller.enqueueAfter(keyOf(deployment), action.afterMs)
      case "warn":
        return record(deployment, "Warning", action.reason, action.message)
    }
  }

  const reconcile = async (deployment: Deployment): Promise<void> => {
    const { selector } = deployment.spec
    const own = await claimObjects<ReplicaSet>(cluster, kinds.replicaSets, deployment, kinds.deployments, selector)
    const ownPods = own.flatMap(({ metadata }) => pods.controlledBy(metadata.uid))
    const view = { deployment, replicaSets: own, pods: ownPods, now: cluster.now() }
    for (const action of planDeployment(view)) await carryOut(deployment, action)
  }

  const own = { name: "deployment", kind: kinds.deployments, owned: kinds.replicaSets }
  const controller = objectController(surroundings, own, reconcile)
  // Recreate waits for the last old Pod to be gone.
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      if (previous === undefined || current !== undefined) continue
      const owner = controllerOf(previous)
      const replicaSet =
        owner?.kind === "ReplicaSet" ? replicaSets.get(previous.metadata.namespace, owner.name) : undefined
      const deployment = replicaSet === undefined ? undefined : controllerOf(replicaSet)
      if (deployment?.kind === "Deployment") controller.enqueue(objectKey(previous.metadata.namespace, deployment.name))
    }
  })
  return controller
}

/** Creates the ReplicaSet of a new template; one of the same name that is ours, as after an interruption, counts. */
const createReplicaSet = async (
  cluster: Cluster,
  record: Record,
  deployment: Deployment,
  { replicaSet, revision, event }: Extract<DeploymentAction, { type: "create" }>,
): Promise<void> => {
  const { name } = replicaSet.metadata
  try {
    await cluster.create(kinds.replicaSets, replicaSet)
  } catch (error) {
    if (isTerminatingNamespace(error)) throw error
    if (!(error instanceof AlreadyExistsError)) {
      const message = `Failed to create new replica set "${name}": ${String(error)}`
      record(deployment, "Warning", "ReplicaSetCreateError", message)
      await cluster.updateStatus(kinds.deployments, afterFailedCreation(deployment, message, cluster.now()))
      throw error
    }
    const existing = await cluster.api.get<ReplicaSet>(kinds.replicaSets, replicaSet.metadata)
    if (isControlledBy(existing, deployment) && sameTemplate(existing.spec.template, deployment.spec.template)) return
    // Two templates with one hash: the next try uses a higher collision count.
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1
    await cluster.updateStatus(kinds.deployments, { ...deployment, status: { ...deployment.status, collisionCount } })
    return
  }
  if (event !== undefined) record(deployment, "Normal", "ScalingReplicaSet", event)
  await cluster.updateStatus(kinds.deployments, afterCreation(deployment, name, revision, cluster.now()))
}

// Plans the next steps for a Deployment: a pure function from the current state to the next writes, in the real
// controller's order (deployment_controller.go, syncDeployment).
//
// The plan ends after a write that the rest depends on (a new ReplicaSet, a revision); the write's event triggers the
// next plan with the new state. The real controller continues with the old state and runs into a conflict.

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

const afterFailedCreation = (deployment: Deployment, message: string, now: string): Deployment =>
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

/**
 * Whether the size has changed; distinguished from a rollout by the size for which the ReplicaSets were last scaled.
 */
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

// The writes of a plan for a Deployment.

type DeploymentAction =
  /** On success the Deployment becomes `then` (by a status write), including its Progressing condition. */
  | {
      readonly type: "create"
      readonly replicaSet: ReplicaSet
      readonly revision: number
      readonly event: string | undefined
    }
  | { readonly type: "update"; readonly replicaSet: ReplicaSet; readonly event?: string }
  | { readonly type: "delete"; readonly replicaSet: ReplicaSet }
  | { readonly type: "status"; readonly deployment: Deployment }
  | { readonly type: "look-again"; readonly afterMs: number }
  | { readonly type: "warn"; readonly reason: string; readonly message: string }

/** The ReplicaSet of a template that has none yet. */
const createNew = (deployment: Deployment, old: ReadonlyArray<ReplicaSet>): DeploymentAction => {
  const { spec, metadata } = deployment
  const hash = hashTemplate(spec.template, deployment.status?.collisionCount)
  const labels = { ...spec.template.metadata?.labels, [hashLabel]: hash }
  const revision = nextRevision(old)
  const replicas = newReplicaSetSize(deployment, old, 0)
  const name = `${metadata.name.slice(0, 253 - 1 - hash.length)}-${hash}`
  const replicaSet: ReplicaSet = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name,
      namespace: metadata.namespace,
      labels,
      annotations: newReplicaSetAnnotations(deployment, {}, revision, false),
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      ...(spec.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
      selector: { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, [hashLabel]: hash } },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  }
  const event = replicas === 0 ? undefined : `Scaled up replica set ${name} from 0 to ${replicas}`
  return { type: "create", replicaSet, revision, event }
}

/** The updates that set each size; none for ReplicaSets that already have it. */
const resizesOf = (deployment: Deployment, resizes: ReadonlyArray<Resize>): ReadonlyArray<DeploymentAction> => {
  const last = new Map(resizes.map(({ replicaSet, replicas }) => [replicaSet, replicas]))
  return [...last]
    .filter(
      ([replicaSet, replicas]) => wantedReplicas(replicaSet) !== replicas || isScaledForOther(deployment, replicaSet),
    )
    .map(([replicaSet, replicas]) => resize(deployment, { replicaSet, replicas }))
}

const isScaledForOther = (deployment: Deployment, replicaSet: ReplicaSet): boolean =>
  isWanted(replicaSet) && annotatedSize(replicaSet, desiredAnnotation) !== replicasOf(deployment)

/** One such update, with its Event. */
const resize = (deployment: Deployment, { replicaSet, replicas }: Resize): DeploymentAction => {
  const { metadata, spec } = replicaSet
  const before = wantedReplicas(replicaSet)
  const annotations = { ...metadata.annotations, ...sizeAnnotations(deployment) }
  const changed = { ...replicaSet, metadata: { ...metadata, annotations }, spec: { ...spec, replicas } }
  if (before === replicas) return { type: "update", replicaSet: changed }
  const direction = before < replicas ? "up" : "down"
  return {
    type: "update",
    replicaSet: changed,
    event: `Scaled ${direction} replica set ${metadata.name} from ${before} to ${replicas}`,
  }
}
