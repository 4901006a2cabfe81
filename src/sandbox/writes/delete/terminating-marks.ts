/** Further marks of a deletion, for the two kinds whose deletion includes other objects. */

import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { formatGvk } from "../../../kube/gvk.ts"
import { child, items, text, texts } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"

export const isNamespace = (resource: Resource): boolean => formatGvk(resource.gvk) === "v1.Namespace"

export const isDefinition = (resource: Resource): boolean =>
  formatGvk(resource.gvk) === "apiextensions.k8s.io/v1.CustomResourceDefinition"

/** Keeps a CustomResourceDefinition until the objects of its kind are gone. */
export const definitionFinalizer = "customresourcecleanup.apiextensions.k8s.io"

/** Finalizers that the server itself adds at the start of the deletion. */
export const ownFinalizers = (resource: Resource, object: MutableObject): ReadonlyArray<string> => {
  const present = texts(object.metadata, "finalizers")
  const needed = isDefinition(resource) && object.metadata.deletionTimestamp === undefined
  return needed && !present.includes(definitionFinalizer) ? [...present, definitionFinalizer] : present
}

/** Namespaces wait for `spec.finalizers` too. */
export const isFinalizedBySpec = (resource: Resource, object: MutableObject): boolean =>
  isNamespace(resource) && texts(child(object, "spec"), "finalizers").length > 0

/** Records in `status` that the deletion has begun. `time` is RFC 3339. */
export const markStatus = (resource: Resource, object: MutableObject, time: string): void => {
  if (isNamespace(resource)) object.status = { ...child(object, "status"), phase: "Terminating" }
  if (!isDefinition(resource)) return
  const status = child(object, "status")
  const others = items(status, "conditions").filter((condition) => text(condition, "type") !== "Terminating")
  const condition = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: time,
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  }
  object.status = { ...status, conditions: [...others, condition] }
}
