/**
 * Objects of a trace that a replay does not write: what belongs to the machines of a cluster, what controls the API server itself, and what
 * the controllers of the target create on their own. `--include` overrides the first two, by kind.
 */

import { isBuiltInKind, isJsonObject, type JsonObject, kindWithoutVersion } from "../../trace/index.ts"
import { listIn } from "./pod-templates.ts"
import type { TargetPlace } from "./target-object.ts"

// Decides which objects get their recorded status at the start of a replay: those of kinds whose status nothing in the
// target writes. The target's controllers would overwrite the status of all others, or be misled by it.

/** Kinds without version, such as `Node`; `custom` means every kind that Kubernetes does not define. */
export type SeededKinds = ReadonlySet<string>

/** Means every kind that is not built into Kubernetes. */
export const allCustom = "custom"

/** Whether the status of objects of this kind is to be set. */
export const isStatusSeeded = (gvk: string, kinds: SeededKinds): boolean =>
  kinds.has(kindWithoutVersion(gvk)) || (kinds.has(allCustom) && !isBuiltInKind(gvk))

/** A body that sets the status of the object at that place; `undefined` if it is not to be set, or the object has none. */
export const statusBody = (object: JsonObject, place: TargetPlace, kinds: SeededKinds): JsonObject | undefined => {
  const { gvk, namespace, name } = place
  if (!isStatusSeeded(gvk, kinds) || !isJsonObject(object.status)) return undefined
  const metadata = namespace === "" ? { name } : { name, namespace }
  const [apiVersion, kind] = [gvk.slice(0, gvk.lastIndexOf(".")), gvk.slice(gvk.lastIndexOf(".") + 1)]
  return { apiVersion, kind, metadata, status: object.status }
}

/** Kinds that are never replayed unless requested, without their version, and why. */
export const notReplayedKinds: ReadonlyMap<string, string> = new Map([
  ...["Node", "PersistentVolume"].map((kind) => [kind, "belongs to the machines of the recorded cluster"] as const),
  ...[
    "storage.k8s.io/CSINode",
    "storage.k8s.io/CSIStorageCapacity",
    "storage.k8s.io/VolumeAttachment",
    "coordination.k8s.io/Lease",
    "coordination.k8s.io/LeaseCandidate",
    "resource.k8s.io/ResourceSlice",
    "resource.k8s.io/DeviceTaintRule",
  ].map((kind) => [kind, "belongs to the machines of the recorded cluster"] as const),
  ...[
    "apiregistration.k8s.io/APIService",
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
    "flowcontrol.apiserver.k8s.io/FlowSchema",
    "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
    "networking.k8s.io/ServiceCIDR",
    "storagemigration.k8s.io/StorageVersionMigration",
  ].map((kind) => [kind, "controls the whole API server of the target"] as const),
  ...[
    "Event",
    "events.k8s.io/Event",
    "Endpoints",
    "discovery.k8s.io/EndpointSlice",
    "networking.k8s.io/IPAddress",
    "apps/ControllerRevision",
    "internal.apiserver.k8s.io/StorageVersion",
  ].map((kind) => [kind, "the target's controllers write their own"] as const),
])

/** Facts about the trace that decide what the target's controllers create. */
export interface RecordedKinds {
  /** Whether the trace has objects of this kind, as far as is known. */
  readonly has: (gvk: string) => boolean
  /** Kinds without version that are replayed although {@link notReplayedKinds} names them. */
  readonly included: ReadonlySet<string>
}

/** Why no object of a kind is replayed; `undefined`: some are. `included`: kinds without version. */
export const reasonByKind = (gvk: string, included: ReadonlySet<string>): string | undefined => {
  const kind = kindWithoutVersion(gvk)
  return included.has(kind) ? undefined : notReplayedKinds.get(kind)
}

/** Why an object is not replayed, as a short statement about it; `undefined`: it is replayed. */
export const reasonNotToReplay = (
  gvk: string,
  object: JsonObject | undefined,
  name: string,
  recorded: RecordedKinds,
): string | undefined => {
  const byKind = reasonByKind(gvk, recorded.included)
  if (byKind !== undefined) return byKind
  if (gvk === "v1.ServiceAccount" && name === "default") return createdWithNamespace
  if (gvk === "v1.ConfigMap" && name === "kube-root-ca.crt") return createdWithNamespace
  if (gvk === "v1.Secret" && object?.type === "kubernetes.io/service-account-token")
    return "contains a token of the recorded cluster"
  // The server rejects one that is on no node.
  if (gvk === "v1.Pod" && isMirrorPod(object)) return "created by the kubelet of a node"
  if (isSystemNamed(gvk, name)) return "every cluster has its own"
  const creator = creatorOf(object, recorded)
  if (creator !== undefined) {
    const kind = creator.slice(creator.lastIndexOf(".") + 1)
    return isBuiltInKind(creator)
      ? `created by its ${kind}`
      : `left to the controller of its ${kind}, if the target has one`
  }
  // Its node affinity names that node: elsewhere it would stay pending for ever.
  const isOfDaemon = gvk === "v1.Pod" && controllersOf(object).some(({ kind }) => kind === "DaemonSet")
  return isOfDaemon && !recorded.included.has("Node") ? "is tied to a node of the recorded cluster" : undefined
}

const createdWithNamespace = "created with every namespace"

/** Whether a cluster-scoped object is one of Kubernetes itself. */
export const isSystemNamed = (gvk: string, name: string): boolean => {
  const kind = kindWithoutVersion(gvk)
  if (kind === "rbac.authorization.k8s.io/ClusterRole" || kind === "rbac.authorization.k8s.io/ClusterRoleBinding")
    return name.startsWith("system:") || ["admin", "cluster-admin", "edit", "view"].includes(name)
  return kind === "scheduling.k8s.io/PriorityClass" && name.startsWith("system-")
}

/** The object that a kubelet writes for a pod of its own manifests. */
const isMirrorPod = (object: JsonObject | undefined): boolean => {
  const metadata = object?.metadata
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined
  return isJsonObject(annotations) && Object.hasOwn(annotations, "kubernetes.io/config.mirror")
}

/**
 * The GVK of the owner whose controller creates this object in the target too: only the controlling reference counts.
 * A trace may have Pods and Deployments without the ReplicaSets between them.
 */
const creatorOf = (object: JsonObject | undefined, { has }: RecordedKinds): string | undefined => {
  for (const { apiVersion, kind } of controllersOf(object)) {
    const gvk = `${String(apiVersion)}.${String(kind)}`
    const above = creators.get(gvk)
    if (has(gvk) || (above !== undefined && has(above))) return gvk
  }
  return undefined
}

/** Owner references that control the object: at most one in a valid object. */
const controllersOf = (object: JsonObject | undefined): ReadonlyArray<JsonObject> => {
  const metadata = object?.metadata
  const references = isJsonObject(metadata) ? metadata.ownerReferences : undefined
  return listIn(references)
    .filter(isJsonObject)
    .filter(({ controller }) => controller === true)
}

const creators: ReadonlyMap<string, string> = new Map([
  ["apps/v1.ReplicaSet", "apps/v1.Deployment"],
  ["batch/v1.Job", "batch/v1.CronJob"],
])
