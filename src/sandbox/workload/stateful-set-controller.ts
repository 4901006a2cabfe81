/** Keeps the numbered Pods of StatefulSets (pkg/controller/statefulset). */

import { type Controller, recordAs, type Surroundings } from "../../host/index.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  type ControllerRevision,
  isTerminatingNamespace,
  kinds,
  type Pod,
} from "../../kube/index.ts"
import { latestRevision, revisionData, revisionHash, templateOf, truncateHistory } from "./pods/controller-revisions.ts"
import { objectController, type PodsSpec, writeStatus } from "./pods/object-controller.ts"
import {
  claimObjects,
  isAvailable,
  isFinished,
  isReady,
  isTerminating,
  phaseOf,
  podOfTemplate,
  untilAvailable,
} from "./pods/pods.ts"
import { withoutZeros } from "./pods/statuses.ts"

export const statefulSetController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  // Watched although only claimObjects reads it.
  cluster.cache<ControllerRevision>(kinds.revisions)
  const claims = cluster.cache<ApiObject>(kinds.claims)
  const record = recordAs(events, { component: "statefulset-controller" })

  const createClaims = async (set: StatefulSet, ordinal: number, pod: Pod): Promise<void> => {
    for (const { claim } of claimsOf(set, ordinal)) {
      if (claims.get(claim.metadata.namespace, claim.metadata.name) !== undefined) continue
      try {
        await cluster.create(kinds.claims, claim)
        const message = `create Claim ${claim.metadata.name} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} success`
        record(set, "Normal", "SuccessfulCreate", message)
      } catch (error) {
        if (!(error instanceof AlreadyExistsError)) throw error
      }
    }
  }

  const carryOut = async (set: StatefulSet, action: StatefulAction): Promise<void> => {
    const what = `Pod ${action.pod.metadata.name} in StatefulSet ${set.metadata.name}`
    switch (action.type) {
      case "claims":
        return createClaims(set, action.ordinal, action.pod)
      case "create":
        await createClaims(set, action.ordinal, action.pod)
        try {
          await cluster.create(kinds.pods, action.pod)
          return record(set, "Normal", "SuccessfulCreate", `create ${what} successful`)
        } catch (error) {
          // It is ours but not yet in the cache: the watch will deliver it.
          if (error instanceof AlreadyExistsError) return
          if (isTerminatingNamespace(error)) throw error
          record(set, "Warning", "FailedCreate", `create ${what} failed error: ${String(error)}`)
          throw error
        }
      case "delete":
        await cluster.delete(kinds.pods, action.pod)
        return record(set, "Normal", "SuccessfulDelete", `delete ${what} successful`)
    }
  }

  const reconcile = async (set: StatefulSet, again: (afterMs?: number) => void): Promise<void> => {
    const { selector, template, revisionHistoryLimit = 10, minReadySeconds = 0 } = set.spec
    const isMember = (pod: Pod): boolean => ordinalOf(set, pod) >= 0
    const own = (await claimObjects<Pod>(cluster, kinds.pods, set, kinds.statefulSets, selector, isMember)).filter(
      isMember,
    )
    const ownRevisions = await claimObjects<ControllerRevision>(
      cluster,
      kinds.revisions,
      set,
      kinds.statefulSets,
      selector,
    )
    const latest = await latestRevision(cluster, set, template, ownRevisions, set.status?.collisionCount ?? 0, {
      labels: template.metadata?.labels ?? {},
      hash: (collisions) => revisionHash(revisionData(template), collisions),
      hashLabel: "controller.kubernetes.io/hash",
    })
    const update = latest.revision
    const current = ownRevisions.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update
    const view = { set, pods: own, current, update, collisionCount: latest.collisionCount, nowMs: cluster.nowMs() }
    const plan = planStatefulSet(view)
    for (const action of plan.actions) await carryOut(set, action)
    await writeStatus(cluster, kinds.statefulSets, set, plan.status)
    const used = new Set([
      plan.status.currentRevision,
      update.metadata.name,
      ...own.map(({ metadata }) => metadata.labels?.[revisionLabel]),
    ])
    await truncateHistory(cluster, ownRevisions, ({ metadata }) => used.has(metadata.name), revisionHistoryLimit)
    again(untilAvailable(own, minReadySeconds, cluster.nowMs()))
  }

  return objectController(surroundings, { name: "statefulset", kind: kinds.statefulSets, owned: kinds.pods }, reconcile)
}

// Plans the next steps for a StatefulSet, as a pure function (stateful_set_control.go): first each replica in
// ascending order, then surplus ones in descending order, then the update from the last ordinal down to the
// partition. With `OrderedReady` every step waits until the previous replica is available.

type StatefulAction =
  | { readonly type: "create"; readonly pod: Pod; readonly ordinal: number }
  /** Makes sure that the claims of a pending Pod exist. */
  | { readonly type: "claims"; readonly ordinal: number; readonly pod: Pod }
  | { readonly type: "delete"; readonly pod: Pod }

interface StatefulView {
  readonly set: StatefulSet
  /** The StatefulSet's own Pods. */
  readonly pods: ReadonlyArray<Pod>
  readonly current: ControllerRevision
  readonly update: ControllerRevision
  readonly collisionCount: number
  readonly nowMs: number
}

interface StatefulPlan {
  readonly actions: ReadonlyArray<StatefulAction>
  readonly status: StatefulSetStatus
}

export const planStatefulSet = (view: StatefulView): StatefulPlan => {
  const actions: StatefulAction[] = []
  const { deletedForUpdate } = decide(view, actions)
  return { actions, status: statusOf(view, deletedForUpdate) }
}

const decide = (view: StatefulView, actions: StatefulAction[]): { readonly deletedForUpdate: number } => {
  const { set, pods, current, update, nowMs } = view
  const { replicas: count = 1, minReadySeconds = 0, podManagementPolicy, updateStrategy } = set.spec
  const isMonotonic = podManagementPolicy !== "Parallel"
  const first = firstOrdinal(set)
  const isUnavailable = (pod: Pod | undefined): boolean =>
    pod === undefined || isTerminating(pod) || !isReady(pod) || !isAvailable(pod, minReadySeconds, nowMs)
  const ordered = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]))
  const replicas = Array.from({ length: count }, (_, index) => ordered.get(first + index))
  const condemned = [...ordered]
    .filter(([ordinal]) => ordinal >= 0 && (ordinal < first || ordinal >= first + count))
    .sort(([left], [right]) => right - left)
    .map(([, pod]) => pod)
  const none = { deletedForUpdate: 0 }
  if (set.metadata.deletionTimestamp !== undefined) return none

  for (const [index, pod] of replicas.entries()) {
    const ordinal = first + index
    if (pod !== undefined && isFinished(pod)) {
      // It is recreated when this one is gone.
      if (!isTerminating(pod)) actions.push({ type: "delete", pod })
      if (isMonotonic) return none
      continue
    }
    if (pod === undefined) {
      const revision = isOnCurrent(set, ordinal) ? current : update
      actions.push({ type: "create", ordinal, pod: statefulPod(set, ordinal, revision) })
      if (isMonotonic) return none
      continue
    }
    if (phaseOf(pod) === "Pending") actions.push({ type: "claims", ordinal, pod })
    if (isMonotonic && isUnavailable(pod)) return none
  }

  const blocking = replicas.find(isUnavailable) ?? [...condemned].reverse().find(isUnavailable)
  for (const pod of condemned) {
    if (isTerminating(pod)) {
      if (isMonotonic) return none
      continue
    }
    if (isMonotonic && isUnavailable(pod) && pod !== blocking) return none
    actions.push({ type: "delete", pod })
    if (isMonotonic) return none
  }

  if (updateStrategy?.type === "OnDelete") return none
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0
  for (let target = replicas.length - 1; target >= partition; target--) {
    const pod = replicas[target]
    if (pod !== undefined && pod.metadata.labels?.[revisionLabel] !== update.metadata.name && !isTerminating(pod)) {
      actions.push({ type: "delete", pod })
      return { deletedForUpdate: 1 }
    }
    if (isUnavailable(pod)) return none
  }
  return none
}

/**
 * Whether a replica keeps the old template: it is below the partition or, without one, not yet reached by the update.
 */
const isOnCurrent = (set: StatefulSet, ordinal: number): boolean => {
  const { type = "RollingUpdate", rollingUpdate } = set.spec.updateStrategy ?? {}
  if (type !== "RollingUpdate") return false
  const reach = rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0)
  return ordinal < firstOrdinal(set) + reach
}

const statusOf = (view: StatefulView, deletedForUpdate: number): StatefulSetStatus => {
  const { set, pods, current, update, collisionCount, nowMs } = view
  const ready = pods.filter((pod) => phaseOf(pod) === "Running" && isReady(pod))
  const available = ready.filter((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs))
  const onRevision = ({ metadata }: ControllerRevision): number =>
    pods.filter((pod) => !isTerminating(pod) && pod.metadata.labels?.[revisionLabel] === metadata.name).length
  const updated = onRevision(update)
  const isUpdated =
    set.spec.updateStrategy?.type !== "OnDelete" &&
    updated === pods.length &&
    ready.length === pods.length &&
    updated > 0
  return {
    ...withoutZeros({ observedGeneration: set.metadata.generation ?? 0 }),
    replicas: pods.length,
    ...withoutZeros({
      readyReplicas: ready.length,
      currentReplicas: isUpdated ? updated : Math.max(0, onRevision(current) - deletedForUpdate),
      updatedReplicas: updated,
    }),
    currentRevision: isUpdated ? update.metadata.name : current.metadata.name,
    updateRevision: update.metadata.name,
    collisionCount,
    availableReplicas: available.length,
  }
}

// StatefulSets as their controller reads them, and their Pods and claims.

interface StatefulSetStatus {
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
  readonly spec: PodsSpec & {
    readonly replicas?: number
    readonly serviceName?: string
    readonly podManagementPolicy?: string
    readonly revisionHistoryLimit?: number
    readonly ordinals?: { readonly start?: number }
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } }
    readonly volumeClaimTemplates?: ReadonlyArray<ApiObject>
    readonly persistentVolumeClaimRetentionPolicy?: { readonly whenDeleted?: string; readonly whenScaled?: string }
  }
  readonly status?: StatefulSetStatus
}

const revisionLabel = "controller-revision-hash"

const firstOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0

/** -1 for a Pod whose name does not belong to the set. */
const ordinalOf = (set: StatefulSet, pod: Pod): number => {
  const { name } = pod.metadata
  const prefix = `${set.metadata.name}-`
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : ""
  return /^(0|[1-9]\d*)$/.test(digits) ? Number(digits) : -1
}

/** The Pod of an ordinal with the template of a revision, and the claims it needs. */
const statefulPod = (set: StatefulSet, ordinal: number, revision: ControllerRevision): Pod => {
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
const claimsOf = (
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
