/** Deployments as their controller reads them. Defaults are the server's, for servers that fill in none. */

import { stableText } from "../../host/index.ts"
import type { ApiObject, Condition, PodTemplate, StringMap } from "../../kube/index.ts"
import { fillPodTemplate } from "../rules/index.ts"
import type { Fields } from "../rules/kind-rules.ts"
import type { PodsSpec } from "./pods/object-controller.ts"
import { createdMs } from "./pods/pods.ts"
import { type IntOrPercent, scaledValue } from "./pods/statuses.ts"
import { type ReplicaSet, wantedReplicas } from "./replica-set-controller.ts"

export interface DeploymentStatus {
  readonly observedGeneration?: number
  readonly replicas?: number
  readonly updatedReplicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly unavailableReplicas?: number
  readonly conditions?: ReadonlyArray<Condition>
  readonly collisionCount?: number
}

export interface Deployment extends ApiObject {
  readonly spec: PodsSpec & {
    readonly replicas?: number
    readonly paused?: boolean
    readonly revisionHistoryLimit?: number
    readonly progressDeadlineSeconds?: number
    readonly strategy?: {
      readonly type?: string
      readonly rollingUpdate?: { readonly maxSurge?: IntOrPercent; readonly maxUnavailable?: IntOrPercent }
    }
  }
  readonly status?: DeploymentStatus
}

/** The largest int32 means "none" in the API. */
const none = 2 ** 31 - 1

export const replicasOf = ({ spec }: Deployment): number => spec.replicas ?? 1

export const isRolling = ({ spec }: Deployment): boolean => spec.strategy?.type !== "Recreate"

/** s, or `undefined` for no deadline. */
export const progressDeadlineOf = ({ spec }: Deployment): number | undefined =>
  spec.progressDeadlineSeconds === undefined || spec.progressDeadlineSeconds === none
    ? undefined
    : spec.progressDeadlineSeconds

export const historyLimitOf = ({ spec }: Deployment): number | undefined =>
  spec.revisionHistoryLimit === none ? undefined : spec.revisionHistoryLimit

/** If both are 0, which would block every rollout, one Pod may be unavailable (ResolveFenceposts). */
const fenceposts = (deployment: Deployment): { readonly surge: number; readonly unavailable: number } => {
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {}
  const surge = scaledValue(maxSurge, replicasOf(deployment), true)
  const unavailable = scaledValue(maxUnavailable, replicasOf(deployment), false)
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

const maxSurge = (deployment: Deployment): number => (isRolling(deployment) ? fenceposts(deployment).surge : 0)

export const maxUnavailable = (deployment: Deployment): number =>
  isRolling(deployment) ? Math.min(fenceposts(deployment).unavailable, replicasOf(deployment)) : 0

// The ReplicaSets of a Deployment: which is the new one, and sums over them (deployment_util.go).

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
 * Equal apart from the hash label: a Deployment rolls back by naming a template that has existed. Both are compared
 * with the server's defaults: a Deployment that was stored by `Sandbox.put` has none, its ReplicaSets have them, and
 * without this it would get one ReplicaSet after the other.
 */
export const sameTemplate = (left: PodTemplate, right: PodTemplate): boolean => comparable(left) === comparable(right)

/**
 * By template: a cache keeps an object as long as it does not change, and each look at a Deployment compares all of its
 * ReplicaSets.
 */
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

// Revision numbers, and the annotations that hold them in Deployments and their ReplicaSets.

const prefix = "deployment.kubernetes.io"
export const revisionAnnotation = `${prefix}/revision`
const historyAnnotation = `${prefix}/revision-history`
export const desiredAnnotation = `${prefix}/desired-replicas`
const maximumAnnotation = `${prefix}/max-replicas`

/** Not copied from the Deployment to its ReplicaSets. */
const own = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maximumAnnotation,
  "deprecated.deployment.rollback.to",
])

/** Characters of the history annotation; more than some 100 revisions are of no use. */
const maximumHistory = 2000

/** 0 without one; `undefined` if it is not a number. */
export const revisionOf = ({ metadata }: ReplicaSet): number | undefined => {
  const text = metadata.annotations?.[revisionAnnotation]
  if (text === undefined) return 0
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined
}

export const nextRevision = (old: ReadonlyArray<ReplicaSet>): number =>
  Math.max(0, ...old.map((replicaSet) => revisionOf(replicaSet) ?? 0)) + 1

/** The annotations of the new ReplicaSet at this revision; for an existing one, sizes are left to scaling. */
export const newReplicaSetAnnotations = (
  deployment: Deployment,
  annotations: StringMap,
  revision: number,
  exists: boolean,
): StringMap => {
  const next: Record<string, string> = { ...annotations }
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!own.has(name)) next[name] = value
  }
  const before = annotations[revisionAnnotation]
  if (before === undefined || before === "" || /^[+-]?\d+$/.test(before)) {
    if (Number(before ?? 0) < revision) {
      next[revisionAnnotation] = String(revision)
      if (before !== undefined) next[historyAnnotation] = grownHistory(annotations[historyAnnotation] ?? "", before)
    }
  }
  return exists ? next : { ...next, ...sizeAnnotations(deployment) }
}

const grownHistory = (history: string, revision: string): string => {
  if (history === "") return revision
  const entries = [...history.split(","), revision]
  while (entries.join(",").length > maximumHistory && entries.length > 1) entries.shift()
  return entries.join(",")
}

/** The Deployment's size and maximum size when the ReplicaSet was last scaled: the base of proportional scaling. */
export const sizeAnnotations = (deployment: Deployment): StringMap => ({
  [desiredAnnotation]: String(replicasOf(deployment)),
  [maximumAnnotation]: String(replicasOf(deployment) + maxSurge(deployment)),
})

/** A size annotation as a number; `undefined` if it is missing or not an int32. */
export const annotatedSize = (replicaSet: ReplicaSet, annotation: string): number | undefined => {
  const text = replicaSet.metadata.annotations?.[annotation] ?? ""
  return /^\d+$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : undefined
}

// How many Pods each ReplicaSet of a Deployment should have (rolling.go, sync.go, deployment_util.go).

export interface Resize {
  readonly replicaSet: ReplicaSet
  readonly replicas: number
}

/** The size of the new ReplicaSet: as large as the surge allows beside the others. */
export const newReplicaSetSize = (
  deployment: Deployment,
  others: ReadonlyArray<ReplicaSet>,
  present: number,
): number => {
  if (!isRolling(deployment)) return replicasOf(deployment)
  const room = replicasOf(deployment) + maxSurge(deployment) - wantedOf(others) - present
  return room <= 0 ? present : present + Math.min(room, replicasOf(deployment) - present)
}

/**
 * The next step down of the old ReplicaSets: first Pods that are unavailable anyway, then those that the new one
 * replaces.
 */
export const shrinkOldReplicaSets = (
  deployment: Deployment,
  current: ReplicaSet,
  old: ReadonlyArray<ReplicaSet>,
): ReadonlyArray<Resize> => {
  const active = old.filter(isWanted)
  const minimumAvailable = replicasOf(deployment) - maxUnavailable(deployment)
  const currentMissing = wantedReplicas(current) - (current.status?.availableReplicas ?? 0)
  const maximumDown = wantedOf([...active, current]) - minimumAvailable - currentMissing
  if (active.length === 0 || maximumDown <= 0) return []
  const steps: Resize[] = []
  const sizes = new Map(active.map((replicaSet) => [replicaSet, wantedReplicas(replicaSet)]))
  const shrink = (replicaSet: ReplicaSet, by: number): void => {
    const replicas = (sizes.get(replicaSet) ?? 0) - by
    sizes.set(replicaSet, replicas)
    steps.push({ replicaSet, replicas })
  }
  let unhealthyLeft = maximumDown
  for (const replicaSet of active) {
    const unhealthy = wantedReplicas(replicaSet) - (replicaSet.status?.availableReplicas ?? 0)
    const by = Math.min(unhealthyLeft, unhealthy)
    if (by <= 0) continue
    shrink(replicaSet, by)
    unhealthyLeft -= by
  }
  let left = availableOf([...active, current]) - minimumAvailable
  for (const replicaSet of active) {
    const by = Math.min(sizes.get(replicaSet) ?? 0, left)
    if (by <= 0) continue
    shrink(replicaSet, by)
    left -= by
  }
  return steps
}

/**
 * After a change of the size, or while paused: a single active ReplicaSet gets the whole size, several share it in
 * proportion.
 */
export const scaleFamily = (deployment: Deployment, family: Family): ReadonlyArray<Resize> => {
  const single = activeOrLatest(family)
  if (single !== undefined) return [{ replicaSet: single, replicas: replicasOf(deployment) }]
  const { current, old } = family
  if (current !== undefined && isSaturated(deployment, current)) {
    return old.filter(isWanted).map((replicaSet) => ({ replicaSet, replicas: 0 }))
  }
  return isRolling(deployment) ? proportionalSizes(deployment, membersOf(family).filter(isWanted)) : []
}

/** `undefined` if several are active or none exists. */
const activeOrLatest = (family: Family): ReplicaSet | undefined => {
  const active = membersOf(family).filter(isWanted)
  if (active.length === 0) return family.current ?? family.old.at(-1)
  return active.length === 1 ? active[0] : undefined
}

const isSaturated = (deployment: Deployment, replicaSet: ReplicaSet): boolean =>
  wantedReplicas(replicaSet) === replicasOf(deployment) &&
  annotatedSize(replicaSet, desiredAnnotation) === replicasOf(deployment) &&
  (replicaSet.status?.availableReplicas ?? 0) === replicasOf(deployment)

/**
 * Larger sets get more; the remainder of rounding goes to the largest. Among equal sizes, newer ones grow first and
 * older ones shrink first.
 */
const proportionalSizes = (deployment: Deployment, active: ReadonlyArray<ReplicaSet>): ReadonlyArray<Resize> => {
  const allowed = replicasOf(deployment) > 0 ? replicasOf(deployment) + maxSurge(deployment) : 0
  const toAdd = allowed - wantedOf(active)
  const sorted = [...active].sort((left, right) => {
    const bySize = wantedReplicas(right) - wantedReplicas(left)
    return bySize !== 0 ? bySize : toAdd > 0 ? createdMs(right) - createdMs(left) : createdMs(left) - createdMs(right)
  })
  let added = 0
  const resizes = sorted.map((replicaSet) => {
    const share = toAdd === 0 ? 0 : shareOf(deployment, replicaSet, toAdd, added)
    added += share
    return { replicaSet, replicas: wantedReplicas(replicaSet) + share }
  })
  return resizes.map(({ replicaSet, replicas }, index) => ({
    replicaSet,
    replicas: index === 0 ? Math.max(0, replicas + toAdd - added) : replicas,
  }))
}

const shareOf = (deployment: Deployment, replicaSet: ReplicaSet, toAdd: number, added: number): number => {
  const size = wantedReplicas(replicaSet)
  if (size === 0 || toAdd === added) return 0
  const fraction = fractionOf(deployment, replicaSet, size)
  return toAdd > 0 ? Math.min(fraction, toAdd - added) : Math.max(fraction, toAdd - added)
}

const fractionOf = (deployment: Deployment, replicaSet: ReplicaSet, size: number): number => {
  if (replicasOf(deployment) === 0) return -size
  const before = annotatedSize(replicaSet, maximumAnnotation) || (deployment.status?.replicas ?? 0)
  if (before === 0) return 0
  const exact = (size * (replicasOf(deployment) + maxSurge(deployment))) / before
  // Sizes are not negative, so this rounds halves away from zero, as the real controller does.
  return Math.round(exact) - size
}
