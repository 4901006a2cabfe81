/** The writes of a plan for a Deployment. */

import { controllerReference } from "../../../kube/client/owner-references.ts"
import { type ReplicaSet, wantedReplicas } from "../replica-set/replica-set-object.ts"
import { hashTemplate } from "../template-hash.ts"
import { type Deployment, replicasOf } from "./deployment-object.ts"
import { hashLabel, isWanted } from "./replica-set-family.ts"
import {
  annotatedSize,
  desiredAnnotation,
  newReplicaSetAnnotations,
  nextRevision,
  sizeAnnotations,
} from "./revisions.ts"
import { newReplicaSetSize, type Resize } from "./scaling.ts"

export type DeploymentAction =
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
export const createNew = (deployment: Deployment, old: ReadonlyArray<ReplicaSet>): DeploymentAction => {
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
export const resizesOf = (deployment: Deployment, resizes: ReadonlyArray<Resize>): ReadonlyArray<DeploymentAction> => {
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
export const resize = (deployment: Deployment, { replicaSet, replicas }: Resize): DeploymentAction => {
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
