/** The two PriorityClasses that every API server creates at its start if they are missing. */

import { timestamp } from "../timestamp.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"

const priorityClass = "scheduling.k8s.io/v1.PriorityClass"

const classes: ReadonlyArray<readonly [name: string, value: number, description: string]> = [
  [
    "system-node-critical",
    2_000_001_000,
    "Used for system critical pods that must not be moved from their current node.",
  ],
  [
    "system-cluster-critical",
    2_000_000_000,
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  ],
]

/** Creates the missing ones, as the API server does. Does nothing if the kind is not served. */
export const putSystemPriorities = ({ store, registry, clock, random }: WriteSurroundings): void => {
  if (!registry.has(priorityClass)) return
  const collection = store.collection(priorityClass)
  const time = timestamp(clock)
  for (const [name, value, description] of classes) {
    if (collection.live.has(name)) continue
    const owned = {
      manager: "apiserver",
      operation: "Update",
      apiVersion: "scheduling.k8s.io/v1",
      time,
      fieldsType: "FieldsV1",
      fieldsV1: { "f:description": {}, "f:preemptionPolicy": {}, "f:value": {} },
    }
    store.write(collection, {
      metadata: { name, uid: random.uid(), generation: 1, creationTimestamp: time, managedFields: [owned] },
      value,
      description,
      preemptionPolicy: "PreemptLowerPriority",
    })
  }
}
