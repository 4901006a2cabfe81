/** Deployments as their controller reads them. Defaults are the server's, for servers that fill in none. */

import type { ApiObject, Condition, PodTemplate, SelectorObject } from "../../../kube/client/objects.ts"
import { type IntOrPercent, scaledValue } from "../int-or-percent.ts"

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
  readonly spec: {
    readonly replicas?: number
    readonly selector: SelectorObject
    readonly template: PodTemplate
    readonly minReadySeconds?: number
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

export const maxSurge = (deployment: Deployment): number => (isRolling(deployment) ? fenceposts(deployment).surge : 0)

export const maxUnavailable = (deployment: Deployment): number =>
  isRolling(deployment) ? Math.min(fenceposts(deployment).unavailable, replicasOf(deployment)) : 0
