/** The ReplicaSets of a Deployment: which is the new one, and sums over them (deployment_util.go). */

import { stableText } from "../../../host/cache/same-json.ts"
import type { PodTemplate } from "../../../kube/client/objects.ts"
import { fillPodTemplate } from "../../rules/index.ts"
import type { Fields } from "../../rules/kind-rules.ts"
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

/**
 * Equal apart from the hash label: a Deployment rolls back by naming a template that has existed. Both are compared with the server's defaults: a
 * Deployment that was stored by `Sandbox.put` has none, its ReplicaSets have them, and without this it would get one ReplicaSet after the other.
 */
export const sameTemplate = (left: PodTemplate, right: PodTemplate): boolean => comparable(left) === comparable(right)

/** By template: a cache keeps an object as long as it does not change, and each look at a Deployment compares all of its ReplicaSets. */
const comparableTexts = new WeakMap<PodTemplate, string>()

const comparable = (template: PodTemplate): string => {
  const known = comparableTexts.get(template)
  if (known !== undefined) return known
  const complete = structuredClone(template) as unknown as Fields & PodTemplate
  fillPodTemplate(complete)
  const { [hashLabel]: _hash, ...labels } = complete.metadata?.labels ?? {}
  const text = stableText({ ...complete, metadata: { ...complete.metadata, labels } })
  comparableTexts.set(template, text)
  return text
}

export const isWanted = (replicaSet: ReplicaSet): boolean => wantedReplicas(replicaSet) > 0

export const sumOf = (replicaSets: ReadonlyArray<ReplicaSet>, count: (replicaSet: ReplicaSet) => number): number =>
  replicaSets.reduce((sum, replicaSet) => sum + count(replicaSet), 0)

export const wantedOf = (replicaSets: ReadonlyArray<ReplicaSet>): number => sumOf(replicaSets, wantedReplicas)

export const availableOf = (replicaSets: ReadonlyArray<ReplicaSet>): number =>
  sumOf(replicaSets, ({ status }) => status?.availableReplicas ?? 0)
