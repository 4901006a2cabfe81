/**
 * The kind of a resource: entries without bodies name only the plural. It is learned from the objects of a log; until then, kinds of Kubernetes
 * itself are known. For any other resource its plural stands where the kind would be (`example.com/v1.widgets`), because the kind cannot be
 * guessed: `crontabs` is `CronTab`.
 */
import { formatGvk, type GroupVersionKind } from "../../kube/gvk.ts"
import { guessPlural } from "../../trace/formats/kwok/resource-names.ts"
import type { AuditedResource } from "../audited-write.ts"

/** Kinds that an audit log may have before any object of theirs, by group. Others of Kubernetes' own are rarely written. */
const builtInKinds: Readonly<Record<string, string>> = {
  "": "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
  "admissionregistration.k8s.io":
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
  "apiextensions.k8s.io": "CustomResourceDefinition",
  "apiregistration.k8s.io": "APIService",
  apps: "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
  autoscaling: "HorizontalPodAutoscaler",
  batch: "CronJob Job",
  "certificates.k8s.io": "CertificateSigningRequest",
  "coordination.k8s.io": "Lease",
  "discovery.k8s.io": "EndpointSlice",
  "events.k8s.io": "Event",
  "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
  "networking.k8s.io": "Ingress IngressClass IPAddress NetworkPolicy ServiceCIDR",
  "node.k8s.io": "RuntimeClass",
  policy: "PodDisruptionBudget",
  "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
  "resource.k8s.io": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
  "scheduling.k8s.io": "PriorityClass",
  "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment",
}

/** Memory: one entry for each resource of a log. */
export class ResourceKinds {
  /** By `group/resource`. */
  readonly #kinds = new Map<string, GroupVersionKind>()

  /** The first kind of a resource stays: that of its objects in the trace. */
  learn({ group, resource }: AuditedResource, gvk: GroupVersionKind): void {
    const key = `${group}/${resource}`
    if (!this.#kinds.has(key)) this.#kinds.set(key, gvk)
  }

  of({ group, version, resource }: AuditedResource): GroupVersionKind {
    const known = this.#kinds.get(`${group}/${resource}`)
    if (known !== undefined) return known
    const names = Object.hasOwn(builtInKinds, group) ? (builtInKinds[group]?.split(" ") ?? []) : []
    return { group, version, kind: names.find((name) => guessPlural(name) === resource) ?? resource }
  }

  /** As a trace writes it. */
  textOf(resource: AuditedResource): string {
    return formatGvk(this.of(resource))
  }
}
