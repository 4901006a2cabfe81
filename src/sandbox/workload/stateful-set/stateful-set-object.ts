/** StatefulSets as their controller reads them, and their Pods and claims. */

import type { ApiObject, ControllerRevision, Pod, PodTemplate, SelectorObject } from "../../../kube/client/objects.ts"
import { templateOf } from "../controller-revisions.ts"
import { podOfTemplate } from "../pod-control.ts"

export interface StatefulSetStatus {
  readonly observedGeneration?: number
  readonly replicas: number
  readonly readyReplicas?: number
  readonly currentReplicas?: number
  readonly updatedReplicas?: number
  readonly currentRevision?: string
  readonly updateRevision?: string
  readonly collisionCount?: number
  readonly availableReplicas: number
}

export interface StatefulSet extends ApiObject {
  readonly spec: {
    readonly replicas?: number
    readonly selector: SelectorObject
    readonly template: PodTemplate
    readonly serviceName?: string
    readonly podManagementPolicy?: string
    readonly minReadySeconds?: number
    readonly revisionHistoryLimit?: number
    readonly ordinals?: { readonly start?: number }
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } }
    readonly volumeClaimTemplates?: ReadonlyArray<ApiObject>
    readonly persistentVolumeClaimRetentionPolicy?: { readonly whenDeleted?: string; readonly whenScaled?: string }
  }
  readonly status?: StatefulSetStatus
}

export const revisionLabel = "controller-revision-hash"

export const firstOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0

/** -1 for a Pod whose name does not belong to the set. */
export const ordinalOf = (set: StatefulSet, pod: Pod): number => {
  const { name } = pod.metadata
  const prefix = `${set.metadata.name}-`
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : ""
  return /^(0|[1-9]\d*)$/.test(digits) ? Number(digits) : -1
}

/** The Pod of an ordinal with the template of a revision, and the claims it needs. */
export const statefulPod = (set: StatefulSet, ordinal: number, revision: ControllerRevision): Pod => {
  const name = `${set.metadata.name}-${ordinal}`
  const template = templateOf(revision)
  const claims = claimsOf(set, ordinal)
  const claimed = new Set(claims.map(({ volume }) => volume))
  const volumes = [
    ...claims.map(({ volume, claim }) => ({ name: volume, persistentVolumeClaim: { claimName: claim.metadata.name } })),
    ...(template.spec.volumes ?? []).filter((volume) => !claimed.has(volume.name)),
  ]
  return podOfTemplate(template, set, {
    name,
    labels: {
      [revisionLabel]: revision.metadata.name,
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal),
    },
    spec: {
      hostname: name,
      ...(set.spec.serviceName === undefined ? {} : { subdomain: set.spec.serviceName }),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  })
}

/** The claims of an ordinal: `<template>-<set>-<ordinal>`, with the labels of the selector. */
export const claimsOf = (
  set: StatefulSet,
  ordinal: number,
): ReadonlyArray<{ readonly volume: string; readonly claim: ApiObject }> =>
  (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    volume: template.metadata.name,
    claim: {
      ...template,
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      status: undefined,
      metadata: {
        ...template.metadata,
        name: `${template.metadata.name}-${set.metadata.name}-${ordinal}`,
        namespace: set.metadata.namespace,
        labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
      },
    },
  }))
