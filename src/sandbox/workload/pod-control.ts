/** Creates and deletes Pods of a controller, with the Events of the real ones (RealPodControl). */

import type { Cluster } from "../../host/cluster.ts"
import type { Record } from "../../host/controller.ts"
import { isTerminatingNamespace, NotFoundError } from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject, Pod, PodTemplate } from "../../kube/client/objects.ts"
import { controllerReference } from "../../kube/client/owner-references.ts"

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
  readonly labels?: Readonly<globalThis.Record<string, string>>
  readonly annotations?: Readonly<globalThis.Record<string, string>>
  readonly finalizers?: ReadonlyArray<string>
  readonly spec?: Partial<Pod["spec"]>
}

export const createPod = async (cluster: Cluster, record: Record, owner: ApiObject, pod: Pod): Promise<Pod> => {
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
export const deletePod = async (cluster: Cluster, record: Record, owner: ApiObject, pod: Pod): Promise<void> => {
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
