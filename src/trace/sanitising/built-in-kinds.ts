/** What is known of kinds by their names alone: which Kubernetes itself defines, and which prescribe the names of their objects. */

/** Kinds of all other groups are custom resources. */
const builtInGroups: ReadonlySet<string> = new Set([
  "",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "apps",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "coordination.k8s.io",
  "discovery.k8s.io",
  "events.k8s.io",
  "extensions",
  "flowcontrol.apiserver.k8s.io",
  "networking.k8s.io",
  "node.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "resource.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
])

/** Whether Kubernetes itself defines the kind: `apps/v1.Deployment`, but not `example.com/v1.Deployment`. */
export const isBuiltInKind = (gvk: string): boolean => {
  const slash = gvk.indexOf("/")
  return builtInGroups.has(slash < 0 ? "" : gvk.slice(0, slash))
}

/** `apps/Deployment`, or `Pod` for the core group. */
export const kindWithoutVersion = (gvk: string): string => {
  const slash = gvk.lastIndexOf("/")
  return gvk.slice(0, slash + 1) + gvk.slice(gvk.lastIndexOf(".") + 1)
}

/**
 * Cluster-scoped kinds whose objects cannot have another name, without their version: the server checks what the name says, or programs outside of
 * the cluster (kubelets, drivers of volumes) find the object by it.
 */
const prescribedNames: ReadonlySet<string> = new Set([
  // plural.group, of what the object defines
  "apiextensions.k8s.io/CustomResourceDefinition",
  "apiextensions.crossplane.io/CompositeResourceDefinition",
  // version.group
  "apiregistration.k8s.io/APIService",
  // group.resource
  "internal.apiserver.k8s.io/StorageVersion",
  // signer:name, with the signer of the bundle
  "certificates.k8s.io/ClusterTrustBundle",
  // the address itself
  "networking.k8s.io/IPAddress",
  // the name that the driver has for itself, by which volumes, storage classes and nodes refer to it
  "storage.k8s.io/CSIDriver",
  // the machine
  "Node",
  "storage.k8s.io/CSINode",
])

/** Whether a copy under another name would be refused or be another thing: `apiextensions.k8s.io/v1.CustomResourceDefinition`. */
export const hasPrescribedName = (gvk: string): boolean => prescribedNames.has(kindWithoutVersion(gvk))
