/** The API groups whose kinds Kubernetes itself defines; kinds of all others are custom resources. */

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
