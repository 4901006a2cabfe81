/** The rules of each kind. */

import { immutable, invalid } from "../../apiserver/answers/field-error.ts"
import { labelComplaints } from "../../kube/names.ts"
import { child, isSame, number } from "./fields.ts"
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from "./groups/access-rules.ts"
import {
  certificateSigningRequestKind,
  flowSchemaKind,
  ipAddressKind,
  priorityLevelKind,
  runtimeClassKind,
  serviceCidrKind,
} from "./groups/cluster-rules.ts"
import { configMapKind, namespaceKind, nodeKind, secretKind } from "./groups/core-rules.ts"
import { definitionKind } from "./groups/definition-rules.ts"
import {
  deviceClassKind,
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceSliceKind,
} from "./groups/device-rules.ts"
import { eventKind, newEventKind } from "./groups/event-rules.ts"
import { admissionPolicyBindingKind, admissionPolicyKind } from "./groups/policy-rules.ts"
import {
  csiDriverKind,
  csiNodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  storageClassKind,
  volumeAttachmentKind,
} from "./groups/storage-rules.ts"
import { mutatingWebhookKind, validatingWebhookKind } from "./groups/webhook-rules.ts"
import type { Kind } from "./kind.ts"
import type { Fields, MutableObject } from "./kind-rules.ts"
import { endpointSliceKind } from "./networking/endpoint-slice-rules.ts"
import { ingressClassKind, ingressKind } from "./networking/ingress-rules.ts"
import { networkPolicyKind } from "./networking/network-policy-rules.ts"
import { podTemplate } from "./pods/pod-defaults.ts"
import { podKind } from "./pods/pod-rules.ts"
import { checkPodTemplate } from "./pods/pod-validation.ts"
import { endpointsKind } from "./services/endpoints-rules.ts"
import { serviceKind } from "./services/service-rules.ts"
import {
  autoscalerKind,
  leaseKind,
  oldAutoscalerKind,
  podDisruptionBudgetKind,
  priorityClassKind,
} from "./workloads/control-rules.ts"
import { cronJobKind, fillTemplateLabels, jobKind } from "./workloads/job-rules.ts"
import { limitRangeKind, resourceQuotaKind } from "./workloads/limit-rules.ts"
import {
  controllerRevision,
  daemonSet,
  deployment,
  replicaSet,
  replicationController,
  statefulSet,
} from "./workloads/workload-defaults.ts"
import * as status from "./workloads/workload-status.ts"
import * as workload from "./workloads/workload-validation.ts"

/** The feature DeploymentReplicaSetTerminatingReplicas is off by default in 1.34. */
const dropTerminating = (object: MutableObject): void => {
  delete child(object, "status")?.terminatingReplicas
}

const deploymentKind: Kind = {
  defaults: deployment,
  newStatus: () => ({}),
  statusOmits: [
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
  ],
  // Annotations are copied to the ReplicaSets, so their change is a new generation as well.
  generation: ["spec", "metadata.annotations"],
  statusKeeps: ["labels"],
  check: workload.checkDeployment,
  checkChange: workload.checkSelectorKept,
  prepareStatus: dropTerminating,
  checkStatus: status.checkDeploymentStatus,
}

/** Of ReplicaSets and ReplicationControllers; `replicas` itself is always present. */
const replicaCounters = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"]

const replicaSetKind: Kind = {
  defaults: replicaSet,
  newStatus: () => ({ replicas: 0 }),
  generation: ["spec"],
  statusOmits: replicaCounters,
  check: workload.checkReplicaSet,
  checkChange: workload.checkSelectorKept,
  prepareStatus: dropTerminating,
  checkStatus: status.checkReplicaSetStatus,
}

const statefulSetKind: Kind = {
  name: labelComplaints,
  defaults: statefulSet,
  newStatus: () => ({ replicas: 0, availableReplicas: 0 }),
  generation: ["spec"],
  statusOmits: ["observedGeneration", "readyReplicas", "currentReplicas", "updatedReplicas"],
  check: workload.checkStatefulSet,
  checkChange: workload.checkStatefulSetChange,
  checkStatus: status.checkStatefulSetStatus,
}

const templateGeneration = "deprecated.daemonset.template.generation"

/** The generation of the template, which old controllers read from an annotation. Old annotations stay unchanged. */
const countTemplates = ({ metadata }: MutableObject, count: number): void => {
  metadata.annotations = { ...child(metadata, "annotations"), [templateGeneration]: String(count) }
}

const templatesOf = ({ metadata }: MutableObject): number =>
  Number(child(metadata, "annotations")?.[templateGeneration] ?? 0)

/**
 * The server keeps the generation in a field and shows it as an annotation, as 0 if a client omitted it. So a client that
 * creates a DaemonSet, or omits the annotation in a replacement, owns it, and one that changes the template does not.
 */
const showTemplates = (object: Fields): void => {
  const { metadata } = object as MutableObject
  if (child(metadata, "annotations")?.[templateGeneration] === undefined) countTemplates(object as MutableObject, 0)
}

const settleTemplates = (object: MutableObject, old: MutableObject): void => {
  const same = isSame(child(object, "spec")?.template, child(old, "spec")?.template)
  countTemplates(object, templatesOf(old) + (same ? 0 : 1))
}

const daemonSetKind: Kind = {
  defaults: { ...daemonSet, derive: showTemplates },
  newStatus: () => ({ currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 }),
  generation: ["spec"],
  prepareCreate: (object) => countTemplates(object, 1),
  settleUpdate: settleTemplates,
  settleStatus: settleTemplates,
  statusOmits: ["observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"],
  check: workload.checkDaemonSet,
  checkChange: workload.checkSelectorKept,
  checkStatus: status.checkDaemonSetStatus,
}

const replicationControllerKind: Kind = {
  defaults: replicationController,
  newStatus: () => ({ replicas: 0 }),
  generation: ["spec"],
  statusOmits: replicaCounters,
  readBack: fillTemplateLabels,
  check: workload.checkReplicationController,
}

const podTemplateKind: Kind = {
  defaults: { make: { template: podTemplate } },
  generation: ["template"],
  check: (object, errors) => checkPodTemplate(child(object, "template"), "template", errors),
}

const controllerRevisionKind: Kind = {
  defaults: controllerRevision,
  check: (object, errors) => {
    const revision = number(object, "revision") ?? 0
    if (revision < 0) errors.push(invalid("revision", revision, "must be greater than or equal to 0"))
    if (object.data === undefined || object.data === null)
      errors.push({ type: "Required", field: "data", detail: "data is mandatory" })
  },
  checkChange: (object, old, errors) => {
    if (!isSame(object.data, old.data)) errors.push(immutable("data", object.data))
  },
}

/** By `group/Kind`, with the version if versions differ; the core group is the empty string. */
export const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["/Pod", podKind],
  ["/Service", serviceKind],
  ["/ConfigMap", configMapKind],
  ["/Secret", secretKind],
  ["/ServiceAccount", {}],
  ["/Namespace", namespaceKind],
  ["/Node", nodeKind],
  ["/PersistentVolume", persistentVolumeKind],
  ["/PersistentVolumeClaim", persistentVolumeClaimKind],
  ["/Event", eventKind],
  ["events.k8s.io/Event", newEventKind],
  ["/ResourceQuota", resourceQuotaKind],
  ["/LimitRange", limitRangeKind],
  ["/Endpoints", endpointsKind],
  ["/PodTemplate", podTemplateKind],
  ["/ReplicationController", replicationControllerKind],
  ["apps/Deployment", deploymentKind],
  ["apps/ReplicaSet", replicaSetKind],
  ["apps/StatefulSet", statefulSetKind],
  ["apps/DaemonSet", daemonSetKind],
  ["apps/ControllerRevision", controllerRevisionKind],
  ["batch/Job", jobKind],
  ["batch/CronJob", cronJobKind],
  ["networking.k8s.io/NetworkPolicy", networkPolicyKind],
  ["networking.k8s.io/Ingress", ingressKind],
  ["networking.k8s.io/IngressClass", ingressClassKind],
  ["discovery.k8s.io/EndpointSlice", endpointSliceKind],
  ["policy/PodDisruptionBudget", podDisruptionBudgetKind],
  ["rbac.authorization.k8s.io/Role", roleKind],
  ["rbac.authorization.k8s.io/ClusterRole", clusterRoleKind],
  ["rbac.authorization.k8s.io/RoleBinding", roleBindingKind],
  ["rbac.authorization.k8s.io/ClusterRoleBinding", clusterRoleBindingKind],
  ["coordination.k8s.io/Lease", leaseKind],
  ["scheduling.k8s.io/PriorityClass", priorityClassKind],
  ["storage.k8s.io/StorageClass", storageClassKind],
  ["storage.k8s.io/CSIDriver", csiDriverKind],
  ["storage.k8s.io/CSINode", csiNodeKind],
  ["storage.k8s.io/VolumeAttachment", volumeAttachmentKind],
  ["autoscaling/v2/HorizontalPodAutoscaler", autoscalerKind],
  ["autoscaling/v1/HorizontalPodAutoscaler", oldAutoscalerKind],
  ["admissionregistration.k8s.io/MutatingWebhookConfiguration", mutatingWebhookKind],
  ["admissionregistration.k8s.io/ValidatingWebhookConfiguration", validatingWebhookKind],
  ["admissionregistration.k8s.io/ValidatingAdmissionPolicy", admissionPolicyKind],
  ["admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding", admissionPolicyBindingKind],
  ["certificates.k8s.io/CertificateSigningRequest", certificateSigningRequestKind],
  ["flowcontrol.apiserver.k8s.io/FlowSchema", flowSchemaKind],
  ["flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration", priorityLevelKind],
  ["networking.k8s.io/IPAddress", ipAddressKind],
  ["networking.k8s.io/ServiceCIDR", serviceCidrKind],
  ["node.k8s.io/RuntimeClass", runtimeClassKind],
  ["resource.k8s.io/DeviceClass", deviceClassKind],
  ["resource.k8s.io/ResourceClaim", resourceClaimKind],
  ["resource.k8s.io/ResourceClaimTemplate", resourceClaimTemplateKind],
  ["resource.k8s.io/ResourceSlice", resourceSliceKind],
  ["apiextensions.k8s.io/CustomResourceDefinition", definitionKind],
])
