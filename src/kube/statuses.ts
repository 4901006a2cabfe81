/** Which kinds of objects have a status, whether a recording with given settings has it, and since when. */
import type { GroupVersionKind } from "./kinds/gvk.ts"

/** Kubernetes' own kinds that have no status, in any version; by group, `"*"`: all of the group. */
const withoutStatus: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    "": ["ConfigMap", "Endpoints", "Event", "LimitRange", "PodTemplate", "Secret", "ServiceAccount"],
    "admissionregistration.k8s.io": [
      ...["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"],
      ...["ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"],
    ],
    apps: ["ControllerRevision"],
    "certificates.k8s.io": ["ClusterTrustBundle"],
    "coordination.k8s.io": ["*"],
    "discovery.k8s.io": ["*"],
    "events.k8s.io": ["*"],
    "metrics.k8s.io": ["*"],
    "networking.k8s.io": ["IPAddress", "IngressClass", "NetworkPolicy"],
    "node.k8s.io": ["*"],
    "rbac.authorization.k8s.io": ["*"],
    "resource.k8s.io": ["DeviceClass", "ResourceClaimTemplate", "ResourceSlice"],
    "scheduling.k8s.io": ["PriorityClass"],
    "storage.k8s.io": ["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttributesClass"],
  }).map(([group, kinds]) => [group, new Set(kinds)]),
)

/** Whether objects of a kind can have a status. Every custom kind can. */
export const hasStatus = ({ group, kind }: GroupVersionKind): boolean => {
  const without = withoutStatus.get(group)
  return without === undefined || !(without.has("*") || without.has(kind))
}

/** Whether changes of the status of a kind's objects are recorded with these settings; of one without a status they need not be. */
export const recordsStatus = (
  gvk: GroupVersionKind,
  { detect, ignore }: { readonly detect: string; readonly ignore: ReadonlyArray<string> },
): boolean => !hasStatus(gvk) || (detect === "all" && !ignore.includes("/status"))

/**
 * When changes of a kind's status are recorded, µs since the Unix epoch, inclusive. An object's status is that of a moment if both the moment and the last
 * recorded change before it are in this time: what changed before a recorder began to record status is unknown until the object changes again.
 */
export interface StatusRecorded {
  readonly from: number
  readonly to: number
}

export const statusAlways: StatusRecorded = { from: 0, to: Number.MAX_SAFE_INTEGER }
export const statusNever: StatusRecorded = { from: Number.MAX_SAFE_INTEGER, to: 0 }

/** Whether the status of an object at a moment is known. `changed`: when its last change before the moment was recorded. */
export const isStatusKnown = ({ from, to }: StatusRecorded, changed: number, moment: number): boolean =>
  changed >= from && moment <= to
