/** How many Pods each ReplicaSet of a Deployment should have (rolling.go, sync.go, deployment_util.go). */

import { createdMs } from "../pod-facts.ts"
import { type ReplicaSet, wantedReplicas } from "../replica-set/replica-set-object.ts"
import { type Deployment, isRolling, maxSurge, maxUnavailable, replicasOf } from "./deployment-object.ts"
import { availableOf, type Family, isWanted, membersOf, wantedOf } from "./replica-set-family.ts"
import { annotatedSize, desiredAnnotation, maximumAnnotation } from "./revisions.ts"

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

/** The next step down of the old ReplicaSets: first Pods that are unavailable anyway, then those that the new one replaces. */
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

/** After a change of the size, or while paused: a single active ReplicaSet gets the whole size, several share it in proportion. */
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
