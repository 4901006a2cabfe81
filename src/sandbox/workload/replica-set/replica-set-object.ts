/** ReplicaSets as their controller and the Deployment controller read them. */

import type { ApiObject, Condition, PodTemplate, SelectorObject } from "../../../kube/client/objects.ts"

export interface ReplicaSetStatus {
  readonly replicas: number
  readonly fullyLabeledReplicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly observedGeneration?: number
  readonly conditions?: ReadonlyArray<Condition>
}

export interface ReplicaSet extends ApiObject {
  readonly spec: {
    readonly replicas?: number
    readonly minReadySeconds?: number | undefined
    readonly selector: SelectorObject
    readonly template: PodTemplate
  }
  readonly status?: ReplicaSetStatus
}

/** Replicas wanted; the server's default is 1. */
export const wantedReplicas = ({ spec }: ReplicaSet): number => spec.replicas ?? 1
