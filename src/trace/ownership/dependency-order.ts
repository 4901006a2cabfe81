/**
 * The order in which the objects of a moment can be made again: what others need comes first (W-24: SimKube writes them in the
 * order of a hash map, so a replay may make a pod before its ServiceAccount).
 */

/** Kinds by what they need, the first need nothing. A kind that stands nowhere is a custom one or a workload of its own. */
const ranks: ReadonlyArray<ReadonlyArray<string>> = [
  ["Namespace"],
  ["CustomResourceDefinition", "APIService"],
  [
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "CSIDriver",
    "IngressClass",
    "DeviceClass",
    "Node",
    "FlowSchema",
    "PriorityLevelConfiguration",
  ],
  ["ResourceQuota", "LimitRange", "ServiceAccount", "ConfigMap", "Secret", "Role", "ClusterRole"],
  ["RoleBinding", "ClusterRoleBinding", "PersistentVolume"],
  ["PersistentVolumeClaim", "Service", "PodTemplate", "NetworkPolicy", "ResourceClaim", "ResourceClaimTemplate"],
  ["Endpoints", "EndpointSlice", "Ingress", "PodDisruptionBudget"],
  ["Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicationController"],
  // Custom resources stand here: their definitions are made, and what they bring about comes of itself.
  [],
  ["ReplicaSet", "ControllerRevision", "Job"],
  ["Pod"],
  ["HorizontalPodAutoscaler", "Lease", "Event"],
  // Last, because they judge whatever is made after them, and may wait for a service that is not there yet.
  [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
  ],
]

const customRank = ranks.findIndex((kinds) => kinds.length === 0)
const rankOfKind = new Map(ranks.flatMap((kinds, rank) => kinds.map((kind) => [kind, rank] as const)))

/** Groups of Kubernetes itself have no dot or end so; a custom kind that is called `Service` is a custom kind. */
const isBuiltIn = (group: string): boolean => !group.includes(".") || group.endsWith(".k8s.io")

/** Kinds (`apps/v1.Deployment`) in that order; those of one rank by their names, so that the order never depends on the recording. */
export const inDependencyOrder = (gvks: Iterable<string>): ReadonlyArray<string> =>
  [...gvks]
    .map((gvk) => ({ gvk, rank: rankOf(gvk) }))
    .sort((left, right) => left.rank - right.rank || (left.gvk < right.gvk ? -1 : 1))
    .map(({ gvk }) => gvk)

const rankOf = (gvk: string): number => {
  const slash = gvk.indexOf("/")
  const group = slash === -1 ? "" : gvk.slice(0, slash)
  return isBuiltIn(group) ? (rankOfKind.get(gvk.slice(gvk.lastIndexOf(".") + 1)) ?? customRank) : customRank
}
