/**
 * The order in which the objects of one moment can be recreated: dependencies first (W-24: SimKube writes them in the order of a hash map,
 * so a replay may create a pod before its ServiceAccount).
 */

/** Kinds by their dependencies; the first have none. A kind that is not listed is a custom one or an independent workload. */
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
  // Position of custom resources: their definitions exist by now, and whatever depends on them is created by controllers.
  [],
  ["ReplicaSet", "ControllerRevision", "Job"],
  ["Pod"],
  ["HorizontalPodAutoscaler", "Lease", "Event"],
  // Last, because they check everything created after them, and may wait for a service that does not exist yet.
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

/** Kubernetes' own groups have no dot or end like this; a custom kind named `Service` stays a custom kind. */
const isBuiltIn = (group: string): boolean => !group.includes(".") || group.endsWith(".k8s.io")

/** Kinds (`apps/v1.Deployment`) in that order; those of one rank by name, so that the order never depends on the recording. */
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
