/** The resources of built-in kinds, from the discovery documents of Kubernetes 1.34. */
import { nearest } from "../../text/index.ts"
import { formatGvk, type GroupVersionKind } from "./gvk.ts"

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
  "autoscaling/v2": { HorizontalPodAutoscaler: "horizontalpodautoscalers" },
  "autoscaling/v1": { HorizontalPodAutoscaler: "horizontalpodautoscalers" },
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

interface BuiltInResource {
  /** `deployments`. */
  readonly plural: string
  readonly namespaced: boolean
}

/** By kind, as `formatGvk` writes it; of a kind with several versions, the preferred one is first. */
export const builtInResources: ReadonlyMap<string, BuiltInResource> = new Map(
  [namespaced, clusterScoped].flatMap((table) =>
    Object.entries(table).flatMap(([apiVersion, kinds]) =>
      Object.entries(kinds).map(([kind, plural]) => [
        `${apiVersion}.${kind}`,
        { plural, namespaced: table === namespaced },
      ]),
    ),
  ),
)

/** The built-in kind that an unknown one was probably meant to be: one of its name, if it has no group (`v1.Deployment`) or that group is near. */
export const familiarKind = (gvk: GroupVersionKind): string | undefined => {
  const named = [...builtInResources.keys()].filter((each) => each.endsWith(`.${gvk.kind}`))
  return gvk.group === "" ? named[0] : nearest(formatGvk(gvk), named)
}
