/** Whether an object may be created in its namespace, which must exist and must not be terminating. */

import { badRequest } from "../../../apiserver/answers/failure.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { refuse } from "../refusal.ts"
import type { WriteSurroundings } from "../surroundings.ts"
import { namespaceMissing, namespaceTerminating } from "../write-failures.ts"

const namespaceKind = "v1.Namespace"

/** Sets the namespace of the path; throws Refusal if the body of a namespaced kind names another one. */
export const settleNamespace = (resource: Resource, object: MutableObject, namespace: string): void => {
  const { metadata } = object
  const given = metadata.namespace ?? ""
  // A client's namespace for a cluster-scoped object is ignored.
  if (!resource.namespaced) {
    if (given !== "") delete metadata.namespace
  } else if (given === "") metadata.namespace = namespace
  else if (given !== namespace) {
    refuse(badRequest("the namespace of the provided object does not match the namespace sent on the request"))
  }
}

/** The admission plug-in NamespaceLifecycle, for creations. Throws Refusal: 404 or 403. */
export const admitNamespace = (
  { store }: WriteSurroundings,
  resource: Resource,
  namespace: string,
  name: string,
): void => {
  if (!resource.namespaced) return
  const found = store.collection(namespaceKind).live.get(namespace)
  if (found === undefined) refuse(namespaceMissing(namespace))
  else if (found.change.terminating === true) refuse(namespaceTerminating(resource, namespace, name))
}
