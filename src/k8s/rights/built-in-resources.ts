/**
 * The resources of built-in kinds, from the discovery documents of Kubernetes 1.34: enough to compute permissions without a
 * cluster. Kinds that are not listed need one.
 */
import type { ApiResource, Discovery } from "../../kube/index.ts"
import { formatGvk, type GroupVersionKind } from "../../kube/offline.ts"

/** By group version, then `Kind: plural`; cluster-scoped kinds are in a table of their own. */
const namespaced: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  v1: {
    ConfigMap: "configmaps",
    Endpoints: "endpoints",
    Event: "events",
    LimitRange: "limitranges",
    PersistentVolumeClaim: "persistentvolumeclaims",
    Pod: "pods",
    PodTemplate: "podtemplates",
    ReplicationController: "replicationcontrollers",
    ResourceQuota: "resourcequotas",
    Secret: "secrets",
    Service: "services",
    ServiceAccount: "serviceaccounts",
  },
  "apps/v1": {
    ControllerRevision: "controllerrevisions",
    DaemonSet: "daemonsets",
    Deployment: "deployments",
    ReplicaSet: "replicasets",
    StatefulSet: "statefulsets",
  },
  "autoscaling/v1": { HorizontalPodAutoscaler: "horizontalpodautoscalers" },
  "autoscaling/v2": { HorizontalPodAutoscaler: "horizontalpodautoscalers" },
  "batch/v1": { CronJob: "cronjobs", Job: "jobs" },
  "coordination.k8s.io/v1": { Lease: "leases" },
  "discovery.k8s.io/v1": { EndpointSlice: "endpointslices" },
  "events.k8s.io/v1": { Event: "events" },
  "networking.k8s.io/v1": { Ingress: "ingresses", NetworkPolicy: "networkpolicies" },
  "policy/v1": { PodDisruptionBudget: "poddisruptionbudgets" },
  "rbac.authorization.k8s.io/v1": { Role: "roles", RoleBinding: "rolebindings" },
  "resource.k8s.io/v1": { ResourceClaim: "resourceclaims", ResourceClaimTemplate: "resourceclaimtemplates" },
  "storage.k8s.io/v1": { CSIStorageCapacity: "csistoragecapacities" },
}

const clusterScoped: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  v1: { Namespace: "namespaces", Node: "nodes", PersistentVolume: "persistentvolumes" },
  "admissionregistration.k8s.io/v1": {
    MutatingWebhookConfiguration: "mutatingwebhookconfigurations",
    ValidatingAdmissionPolicy: "validatingadmissionpolicies",
    ValidatingAdmissionPolicyBinding: "validatingadmissionpolicybindings",
    ValidatingWebhookConfiguration: "validatingwebhookconfigurations",
  },
  "apiextensions.k8s.io/v1": { CustomResourceDefinition: "customresourcedefinitions" },
  "apiregistration.k8s.io/v1": { APIService: "apiservices" },
  "certificates.k8s.io/v1": { CertificateSigningRequest: "certificatesigningrequests" },
  "flowcontrol.apiserver.k8s.io/v1": {
    FlowSchema: "flowschemas",
    PriorityLevelConfiguration: "prioritylevelconfigurations",
  },
  "networking.k8s.io/v1": { IngressClass: "ingressclasses", IPAddress: "ipaddresses", ServiceCIDR: "servicecidrs" },
  "node.k8s.io/v1": { RuntimeClass: "runtimeclasses" },
  "rbac.authorization.k8s.io/v1": { ClusterRole: "clusterroles", ClusterRoleBinding: "clusterrolebindings" },
  "resource.k8s.io/v1": { DeviceClass: "deviceclasses", ResourceSlice: "resourceslices" },
  "scheduling.k8s.io/v1": { PriorityClass: "priorityclasses" },
  "storage.k8s.io/v1": {
    CSIDriver: "csidrivers",
    CSINode: "csinodes",
    StorageClass: "storageclasses",
    VolumeAttachment: "volumeattachments",
    VolumeAttributesClass: "volumeattributesclasses",
  },
}

const resources: ReadonlyMap<string, Pick<ApiResource, "plural" | "namespaced">> = new Map(
  [namespaced, clusterScoped].flatMap((table) =>
    Object.entries(table).flatMap(([apiVersion, kinds]) =>
      Object.entries(kinds).map(([kind, plural]) => [
        `${apiVersion}.${kind}`,
        { plural, namespaced: table === namespaced },
      ]),
    ),
  ),
)

/** All kinds of the table, for the comparison with a real cluster. */
export const builtInKinds: ReadonlyArray<string> = [...resources.keys()]

const verbs: ReadonlyArray<string> = ["get", "list", "watch"]

/** Returns the result of discovery, from the table. */
export const discoverBuiltIn = (gvk: GroupVersionKind): Discovery => {
  const name = formatGvk(gvk)
  const found = resources.get(name)
  if (found === undefined)
    return { tag: "absent", missing: "kind", detail: `${name} is not built into Kubernetes 1.34` }
  return { tag: "found", resource: { gvk, ...found, verbs } }
}
