/**
 * References to objects that have other names in the target. One to something that is not replayed keeps its name, so
 * that it means the target's own. The input is never changed.
 */

import {
  changedAt,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  withMember,
  withoutMember,
} from "../../trace/index.ts"
import { listIn } from "./pod-templates.ts"

// Places that select namespaces by name, in network policies and in the affinity of pods: they mean the namespaces of the replay.
//
// Every server sets the label `kubernetes.io/metadata.name` of a namespace to its name, so a selector by that label names namespaces too.
// Other labels are those of the trace, and keep their values. The input is never changed.

const nameLabel = "kubernetes.io/metadata.name"

type NewName = (namespace: string) => string

const peers: ReadonlyArray<ReadonlyArray<string>> = [
  ["spec", "ingress", "*", "from", "*"],
  ["spec", "egress", "*", "to", "*"],
]

const affinityTerms: ReadonlyArray<ReadonlyArray<string>> = ["podAffinity", "podAntiAffinity"].flatMap((affinity) => [
  ["affinity", affinity, "requiredDuringSchedulingIgnoredDuringExecution", "*"],
  ["affinity", affinity, "preferredDuringSchedulingIgnoredDuringExecution", "*", "podAffinityTerm"],
])

/** A NetworkPolicy whose peers are in the replay's namespaces. */
export const withNewNamespacesInPolicy = (policy: JsonObject, newName: NewName): JsonObject =>
  changedAll(policy, peers, (peer) => withSelector(peer, newName))

/** The spec of a pod whose affinity is about pods in the replay's namespaces. */
export const withNewNamespacesInPod = (spec: JsonObject, newName: NewName): JsonObject =>
  Object.hasOwn(spec, "affinity")
    ? changedAll(spec, affinityTerms, (term) => withSelector(withNames(term, "namespaces", newName), newName))
    : spec

const changedAll = (
  object: JsonObject,
  paths: ReadonlyArray<ReadonlyArray<string>>,
  change: (value: JsonObject) => JsonObject,
): JsonObject => {
  let changed: JsonValue = object
  for (const path of paths) changed = changedAt(changed, path, change)
  return isJsonObject(changed) ? changed : object
}

const withSelector = (holder: JsonObject, newName: NewName): JsonObject => {
  const labels = changedAll(holder, [["namespaceSelector", "matchLabels"]], (wanted) => {
    const name = Object.hasOwn(wanted, nameLabel) ? wanted[nameLabel] : undefined
    return typeof name === "string" ? withMember(wanted, nameLabel, newName(name)) : wanted
  })
  // In and NotIn have values; Exists and DoesNotExist have none.
  return changedAll(labels, [["namespaceSelector", "matchExpressions", "*"]], (expression) =>
    expression.key === nameLabel ? withNames(expression, "values", newName) : expression,
  )
}

const withNames = (holder: JsonObject, property: string, newName: NewName): JsonObject => {
  const names = Object.hasOwn(holder, property) ? holder[property] : undefined
  if (!Array.isArray(names)) return holder
  const renamed = listIn(names).map((name) => (typeof name === "string" ? newName(name) : name))
  return withMember(holder, property, renamed)
}

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

const persistentVolume = "v1.PersistentVolume"
const clusterRole = "rbac.authorization.k8s.io/v1.ClusterRole"
const ingressClass = "networking.k8s.io/v1.IngressClass"

const deviceClass = "resource.k8s.io/v1.DeviceClass"
/** In a request itself until v1beta1, below `exactly` since v1beta2. */
const deviceReferences = (path: ReadonlyArray<string>): ReadonlyArray<Reference> =>
  [[], ["exactly"], ["firstAvailable", "*"]].map((below) => ({
    path: [...path, "devices", "requests", "*", ...below],
    property: "deviceClassName",
    kind: deviceClass,
  }))

const references: ReadonlyMap<string, ReadonlyArray<Reference>> = new Map([
  ["v1.PersistentVolumeClaim", claimReferences(["spec"])],
  ["apps/v1.StatefulSet", claimReferences(["spec", "volumeClaimTemplates", "*", "spec"])],
  ["networking.k8s.io/v1.Ingress", [{ path: ["spec"], property: "ingressClassName", kind: ingressClass }]],
  [persistentVolume, claimReferences(["spec"])],
  [
    "storage.k8s.io/v1.VolumeAttachment",
    [{ path: ["spec", "source"], property: "persistentVolumeName", kind: persistentVolume }],
  ],
  ["resource.k8s.io/v1.ResourceClaim", deviceReferences(["spec"])],
  ["resource.k8s.io/v1.ResourceClaimTemplate", deviceReferences(["spec", "spec"])],
])

/** Whether references to objects of this cluster-scoped kind are rewritten one by one, so that it matters which of them were replayed. */
export const isReferredTo = (gvk: string): boolean => referredKinds.has(gvk)

const referredKinds: ReadonlySet<string> = new Set([
  persistentVolume,
  ...[...podReferences, ...[...references.values()].flat()].map(({ kind }) => kind),
])

/**
 * Places with a reference to an object in a namespace: `claimRef` and the like. Its UID is another one in the target and is left out: the
 * server and controllers look for the name then.
 */
const objectReferences: ReadonlyMap<string, ReadonlyArray<ReadonlyArray<string>>> = new Map([
  [persistentVolume, [["spec", "claimRef"]]],
  ["v1.PersistentVolumeClaim", [["spec", "dataSourceRef"]]],
  ["v1.Endpoints", ["addresses", "notReadyAddresses"].map((list) => ["subsets", "*", list, "*", "targetRef"])],
  ["discovery.k8s.io/v1.EndpointSlice", [["endpoints", "*", "targetRef"]]],
  ["v1.Event", [["involvedObject"], ["related"]]],
  ["events.k8s.io/v1.Event", [["regarding"], ["related"]]],
  [ingressClass, [["spec", "parameters"]]],
  ["snapshot.storage.k8s.io/v1.VolumeSnapshotContent", [["spec", "volumeSnapshotRef"]]],
])

/** The object with new names, except in its pod templates: those are changed by {@link withNewNamesInPod}. */
export const withNewNames = (gvk: string, object: JsonObject, names: NewNames): JsonObject =>
  gvk === "rbac.authorization.k8s.io/v1.RoleBinding" || gvk === "rbac.authorization.k8s.io/v1.ClusterRoleBinding"
    ? renamedBinding(object, names)
    : gvk === "networking.k8s.io/v1.NetworkPolicy"
      ? withNewNamespacesInPolicy(object, names.ofNamespace)
      : placed(gvk, renamed(object, references.get(gvk) ?? [], names), names)

const placed = (gvk: string, object: JsonObject, { ofNamespace }: NewNames): JsonObject => {
  let left: JsonValue = object
  for (const path of objectReferences.get(gvk) ?? [])
    left = changedAt(left, path, (reference) =>
      withoutMember(withoutMember(renamedProperty(reference, "namespace", ofNamespace), "uid"), "resourceVersion"),
    )
  return isJsonObject(left) ? left : object
}

/**
 * A claim with the name of its volume in the target, if the volume is replayed too; otherwise it takes any volume.
 * `volume`: in the trace.
 */
export const withVolume = (claim: JsonObject, volume: string, newName: string): JsonObject =>
  newName === volume || !isJsonObject(claim.spec)
    ? claim
    : withMember(claim, "spec", withMember(claim.spec, "volumeName", newName))

/** The spec of a pod, or of a pod template, with new names. */
export const withNewNamesInPod = (spec: JsonObject, names: NewNames): JsonObject =>
  withNewNamespacesInPod(renamed(spec, podReferences, names), names.ofNamespace)

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
