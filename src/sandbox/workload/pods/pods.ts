/**
 * Facts about a Pod that controllers need (k8s.io/kubernetes pkg/api/v1/pod and pkg/controller/controller_utils.go).
 */

import type { Cluster, Record as EventRecord } from "../../../host/index.ts"
import {
  type ApiObject,
  adoptionPatch,
  type Condition,
  claimOf,
  controllerReference,
  isTerminatingNamespace,
  type Kind,
  kinds,
  NotFoundError,
  type ObjectBase,
  type Pod,
  type PodTemplate,
  releasePatch,
  type SelectorObject,
} from "../../../kube/index.ts"
import { selectorMatches } from "../../../kube/offline.ts"

export const conditionOf = (conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type)

export const phaseOf = (pod: Pod): string => pod.status?.phase ?? "Pending"

export const isFinished = (pod: Pod): boolean => phaseOf(pod) === "Succeeded" || phaseOf(pod) === "Failed"

export const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined

/** Neither finished nor being deleted. */
export const isActive = (pod: Pod): boolean => !isFinished(pod) && !isTerminating(pod)

export const isReady = (pod: Pod): boolean => conditionOf(pod.status?.conditions, "Ready")?.status === "True"

/** ms since the epoch when it became ready; 0 if it is not. */
const readySinceMs = (pod: Pod): number => {
  const condition = conditionOf(pod.status?.conditions, "Ready")
  return condition?.status === "True" ? Date.parse(condition.lastTransitionTime ?? "") || 0 : 0
}

/** Whether it has been ready for at least `minReadySeconds`. */
export const isAvailable = (pod: Pod, minReadySeconds: number, nowMs: number): boolean =>
  isReady(pod) &&
  (minReadySeconds === 0 || (readySinceMs(pod) > 0 && readySinceMs(pod) + minReadySeconds * 1000 <= nowMs))

/** ms until the first of the ready Pods becomes available; `undefined` if none will. */
export const untilAvailable = (
  pods: ReadonlyArray<Pod>,
  minReadySeconds: number,
  nowMs: number,
): number | undefined => {
  const waits = pods
    .filter((pod) => isReady(pod) && !isAvailable(pod, minReadySeconds, nowMs))
    .map((pod) => readySinceMs(pod) + minReadySeconds * 1000 - nowMs)
  return waits.length === 0 ? undefined : Math.max(1, Math.min(...waits))
}

/** ms since the epoch; 0 if the server has not set it. */
export const createdMs = ({
  metadata,
}: {
  readonly metadata: { readonly creationTimestamp?: string | undefined }
}): number => Date.parse(metadata.creationTimestamp ?? "") || 0

/** Restarts of the container with the most restarts. */
const maximumRestarts = (pod: Pod): number =>
  Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount))

// Creates and deletes Pods of a controller, with the Events of the real ones (RealPodControl).

/** A Pod from the template, controlled by `owner`. `changes` override the template. */
export const podOfTemplate = (template: PodTemplate, owner: ApiObject, changes: PodChanges = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    // An empty name: the server generates it.
    name: changes.name ?? "",
    generateName: changes.generateName ?? `${owner.metadata.name.slice(0, 247)}-`,
    namespace: owner.metadata.namespace,
    labels: unlessEmpty({ ...template.metadata?.labels, ...changes.labels }),
    annotations: unlessEmpty({ ...template.metadata?.annotations, ...changes.annotations }),
    finalizers: unlessEmpty([...(template.metadata?.finalizers ?? []), ...(changes.finalizers ?? [])]),
    ownerReferences: [controllerReference(owner)],
  },
  spec: { ...template.spec, ...changes.spec },
})

const unlessEmpty = <T extends object>(value: T): T | undefined => (Object.keys(value).length === 0 ? undefined : value)

interface PodChanges {
  readonly name?: string
  readonly generateName?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: ReadonlyArray<string>
  readonly spec?: Partial<Pod["spec"]>
}

export const createPod = async (cluster: Cluster, record: EventRecord, owner: ApiObject, pod: Pod): Promise<Pod> => {
  try {
    const created = await cluster.create(kinds.pods, pod)
    record(owner, "Normal", "SuccessfulCreate", `Created pod: ${created.metadata.name}`)
    return created
  } catch (error) {
    if (!isTerminatingNamespace(error)) record(owner, "Warning", "FailedCreate", `Error creating: ${String(error)}`)
    throw error
  }
}

/** A Pod that is gone already counts as deleted. */
export const deletePod = async (cluster: Cluster, record: EventRecord, owner: ApiObject, pod: Pod): Promise<void> => {
  try {
    await cluster.delete(kinds.pods, pod)
    record(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`)
  } catch (error) {
    if (error instanceof NotFoundError) return
    record(owner, "Warning", "FailedDelete", `Error deleting: ${String(error)}`)
    throw error
  }
}

/**
 * Runs `create` `count` times in batches of 1, 2, 4, …, so that a quota or an admission check that refuses the first
 * Pod does not get hundreds of attempts (slowStartBatch). Resolves with the first error, `undefined` if all
 * succeeded.
 */
export const inSlowStartBatches = async (
  count: number,
  create: (index: number) => Promise<unknown>,
): Promise<unknown> => {
  let done = 0
  for (let batch = 1; done < count; batch *= 2) {
    const size = Math.min(batch, count - done)
    const results = await Promise.allSettled(Array.from({ length: size }, (_, index) => create(done + index)))
    const failure = results.find((result) => result.status === "rejected")
    if (failure !== undefined) return failure.reason
    done += size
  }
  return undefined
}

// Executes adoption and release (ControllerRefManager).

/**
 * The objects in the owner's namespace that belong to it after adopting and releasing. `mayAdopt` narrows what can be
 * adopted (a ReplicaSet adopts no finished Pods). Before the first adoption the owner is read from the server: one that
 * is being deleted adopts nothing, and the cache may be behind.
 */
export const claimObjects = async <T extends ObjectBase = ApiObject>(
  cluster: Cluster,
  kind: Kind,
  owner: ObjectBase,
  ownerKind: Kind,
  selector: SelectorObject | undefined,
  mayAdopt: (object: T) => boolean = () => true,
): Promise<ReadonlyArray<T>> => {
  const claimed: T[] = []
  let ownerLives: boolean | undefined
  for (const object of cluster.cache<T>(kind).inNamespace(owner.metadata.namespace)) {
    const claim = claimOf(object, owner, selectorMatches(selector, object.metadata.labels))
    if (claim === "own") claimed.push(object)
    else if (claim === "release")
      await ignoringGone(() => cluster.patch(kind, object, "strategic-merge", releasePatch(object, owner)))
    else if (claim === "adopt" && mayAdopt(object)) {
      ownerLives ??= await stillLives(cluster, owner, ownerKind)
      if (!ownerLives) continue
      const adopted = await ignoringGone(() =>
        cluster.patch<T>(kind, object, "strategic-merge", adoptionPatch(object, owner)),
      )
      if (adopted !== undefined) claimed.push(adopted)
    }
  }
  return claimed
}

const stillLives = async (cluster: Cluster, owner: ObjectBase, ownerKind: Kind): Promise<boolean> => {
  const fresh = await ignoringGone(() => cluster.api.get(ownerKind, owner.metadata))
  return fresh?.metadata.uid === owner.metadata.uid && fresh?.metadata.deletionTimestamp === undefined
}

const ignoringGone = async <T>(action: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await action()
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}

// The order in which a ReplicaSet deletes Pods (ActivePodsWithRanks): not assigned before assigned, pending before
// running, not ready before ready, lower `pod-deletion-cost`, more ready Pods of the set on its node, ready for a
// shorter time, more restarts, younger. Ages are compared by powers of two, so that among Pods of similar age any may
// be deleted.

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/** The `count` Pods to delete, in order. `related`: active Pods of the sets of the same owner. */
export const podsToDelete = (
  pods: ReadonlyArray<Pod>,
  related: ReadonlyArray<Pod>,
  count: number,
  nowMs: number,
): ReadonlyArray<Pod> => {
  if (count >= pods.length) return pods
  const ready = new Map<string, number>()
  for (const pod of related) {
    const node = pod.spec.nodeName
    if (node !== undefined && node !== "" && isReady(pod)) ready.set(node, (ready.get(node) ?? 0) + 1)
  }
  return [...pods].sort(byDeletionOrder(ready, nowMs)).slice(0, count)
}

const byDeletionOrder =
  (readyOnNode: ReadonlyMap<string, number>, nowMs: number) =>
  (left: Pod, right: Pod): number => {
    const colocated = (pod: Pod): number => readyOnNode.get(pod.spec.nodeName ?? "") ?? 0
    return (
      Number((left.spec.nodeName ?? "") !== "") - Number((right.spec.nodeName ?? "") !== "") ||
      (phaseRank[phaseOf(left)] ?? 0) - (phaseRank[phaseOf(right)] ?? 0) ||
      Number(isReady(left)) - Number(isReady(right)) ||
      deletionCost(left) - deletionCost(right) ||
      colocated(right) - colocated(left) ||
      (isReady(left) ? byAge(readySinceMs(left), readySinceMs(right), nowMs) : 0) ||
      maximumRestarts(right) - maximumRestarts(left) ||
      byAge(createdMs(left), createdMs(right), nowMs) ||
      // The real controller compares UIDs here as well, so that the choice is stable.
      ((left.metadata.uid ?? "") < (right.metadata.uid ?? "") ? -1 : 1)
    )
  }

/** Negative when `left` is younger by a power of two. */
const byAge = (left: number, right: number, nowMs: number): number => logarithm(nowMs - left) - logarithm(nowMs - right)

const logarithm = (ageMs: number): number => (ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * 1e6)))

const deletionCost = ({ metadata }: Pod): number => {
  const text = metadata.annotations?.["controller.kubernetes.io/pod-deletion-cost"] ?? ""
  return /^(0|-?[1-9]\d*)$/.test(text) ? Number(text) : 0
}
