/** The ReplicaSets of a Deployment: which is the new one, and sums over them (deployment_util.go). */

import { sameJson } from "../../../host/cache/same-json.ts"
import type { PodTemplate } from "../../../kube/client/objects.ts"
import { createdMs } from "../pod-facts.ts"
import type { ReplicaSet } from "../replica-set/replica-set-object.ts"
import { wantedReplicas } from "../replica-set/replica-set-object.ts"
import type { Deployment } from "./deployment-object.ts"

export const hashLabel = "pod-template-hash"

export interface Family {
  readonly current: ReplicaSet | undefined
  /** Oldest first. */
  readonly old: ReadonlyArray<ReplicaSet>
}

const byAge = (left: ReplicaSet, right: ReplicaSet): number =>
  createdMs(left) - createdMs(right) || (left.metadata.name < right.metadata.name ? -1 : 1)

/** If several have the Deployment's template, the oldest is the new one, so that the choice is always the same. */
export const familyOf = (deployment: Deployment, replicaSets: ReadonlyArray<ReplicaSet>): Family => {
  const sorted = [...replicaSets].sort(byAge)
  const current = sorted.find(({ spec }) => sameTemplate(spec.template, deployment.spec.template))
  return { current, old: sorted.filter((replicaSet) => replicaSet !== current) }
}

export const membersOf = ({ current, old }: Family): ReadonlyArray<ReplicaSet> =>
  current === undefined ? old : [...old, current]

/** Equal apart from the hash label: a Deployment rolls back by naming a template that has existed. */
export const sameTemplate = (left: PodTemplate, right: PodTemplate): boolean =>
  sameJson(withoutHash(left), withoutHash(right))

const withoutHash = (template: PodTemplate): unknown => {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  return { ...template, metadata: { ...template.metadata, labels } }
}

export const isWanted = (replicaSet: ReplicaSet): boolean => wantedReplicas(replicaSet) > 0

export const sumOf = (replicaSets: ReadonlyArray<ReplicaSet>, count: (replicaSet: ReplicaSet) => number): number =>
  replicaSets.reduce((sum, replicaSet) => sum + count(replicaSet), 0)

export const wantedOf = (replicaSets: ReadonlyArray<ReplicaSet>): number => sumOf(replicaSets, wantedReplicas)

export const availableOf = (replicaSets: ReadonlyArray<ReplicaSet>): number =>
  sumOf(replicaSets, ({ status }) => status?.availableReplicas ?? 0)
