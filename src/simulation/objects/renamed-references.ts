/**
 * References to objects that have other names in the target: to cluster-scoped objects of the replay, and to namespaces.
 *
 * The input is never changed. A reference to something that is not replayed keeps its name, so that it means the target's own.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { withMember } from "../../trace/json/members.ts"
import { changedAt } from "./pod-templates.ts"

/** Names in the target. */
export interface NewNames {
  /** Of a cluster-scoped object; its own name if the replay does not write it. */
  readonly ofObject: (gvk: string, name: string) => string
  readonly ofNamespace: (namespace: string) => string
}

/** A property that names a cluster-scoped object. */
interface Reference {
  /** Of the object with the property; `*` is every element of an array. */
  readonly path: ReadonlyArray<string>
  readonly property: string
  /** GVK of what it names. */
  readonly kind: string
}

const claimReferences = (path: ReadonlyArray<string>): ReadonlyArray<Reference> => [
  { path, property: "storageClassName", kind: "storage.k8s.io/v1.StorageClass" },
  { path, property: "volumeAttributesClassName", kind: "storage.k8s.io/v1.VolumeAttributesClass" },
]

const podReferences: ReadonlyArray<Reference> = [
  { path: [], property: "priorityClassName", kind: "scheduling.k8s.io/v1.PriorityClass" },
  { path: [], property: "runtimeClassName", kind: "node.k8s.io/v1.RuntimeClass" },
  ...claimReferences(["volumes", "*", "ephemeral", "volumeClaimTemplate", "spec"]),
]

const clusterRole = "rbac.authorization.k8s.io/v1.ClusterRole"
const ingressClass = "networking.k8s.io/v1.IngressClass"

const references: ReadonlyMap<string, ReadonlyArray<Reference>> = new Map([
  ["v1.PersistentVolumeClaim", claimReferences(["spec"])],
  ["apps/v1.StatefulSet", claimReferences(["spec", "volumeClaimTemplates", "*", "spec"])],
  ["networking.k8s.io/v1.Ingress", [{ path: ["spec"], property: "ingressClassName", kind: ingressClass }]],
])

/** The object with new names, except in its pod templates: those are changed by {@link withNewNamesInPod}. */
export const withNewNames = (gvk: string, object: JsonObject, names: NewNames): JsonObject =>
  gvk === "rbac.authorization.k8s.io/v1.RoleBinding" || gvk === "rbac.authorization.k8s.io/v1.ClusterRoleBinding"
    ? renamedBinding(object, names)
    : renamed(object, references.get(gvk) ?? [], names)

/** The spec of a pod, or of a pod template, with new names. */
export const withNewNamesInPod = (spec: JsonObject, names: NewNames): JsonObject => renamed(spec, podReferences, names)

const renamed = (object: JsonObject, kinds: ReadonlyArray<Reference>, names: NewNames): JsonObject => {
  let left: JsonValue = object
  for (const { path, property, kind } of kinds)
    left = changedAt(left, path, (holder) => renamedProperty(holder, property, (name) => names.ofObject(kind, name)))
  return isJsonObject(left) ? left : object
}

/** An empty name is none: `storageClassName: ""` asks for a volume without class. */
const renamedProperty = (holder: JsonObject, property: string, newName: (name: string) => string): JsonObject => {
  const name = Object.hasOwn(holder, property) ? holder[property] : undefined
  return typeof name === "string" && name !== "" ? withMember(holder, property, newName(name)) : holder
}

/** Subjects are in namespaces of the replay. */
const renamedBinding = (binding: JsonObject, { ofObject, ofNamespace }: NewNames): JsonObject => {
  const role = changedAt(binding, ["roleRef"], (reference) =>
    reference.kind === "ClusterRole"
      ? renamedProperty(reference, "name", (name) => ofObject(clusterRole, name))
      : reference,
  )
  const subjects = changedAt(role, ["subjects", "*"], (subject) => renamedProperty(subject, "namespace", ofNamespace))
  return isJsonObject(subjects) ? subjects : binding
}
