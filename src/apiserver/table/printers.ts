/**
 * The printers of all built-in kinds. Columns come from `columns.json`, recorded from a real API server; kinds that are
 * not in it have the two columns of the server's default, name and creation time.
 */

import { formatGvk } from "../../kube/gvk.ts"
import { text } from "../kinds/json-member.ts"
import type { Resource } from "../kinds/resources.ts"
import { leaseCells, priorityClassCells, roleBindingCells, webhookConfigurationCells } from "./cells/access-cells.ts"
import {
  configMapCells,
  endpointsCells,
  eventCells,
  namespaceCells,
  nodeCells,
  resourceQuotaCells,
  secretCells,
  serviceAccountCells,
  serviceCells,
} from "./cells/cluster-cells.ts"
import {
  admissionPolicyBindingCells,
  admissionPolicyCells,
  certificateCells,
  flowSchemaCells,
  ipAddressCells,
  nameAndAgeCells,
  priorityLevelCells,
  resourceClaimCells,
  resourceSliceCells,
  runtimeClassCells,
  serviceCidrCells,
} from "./cells/cluster-group-cells.ts"
import { endpointSliceCells, ingressCells, ingressClassCells, networkPolicyCells } from "./cells/networking-cells.ts"
import { podCells, podConditions } from "./cells/pod-cells.ts"
import type { Cells, ColumnDefinition, Printer } from "./cells/printer.ts"
import {
  csiDriverCells,
  csiNodeCells,
  persistentVolumeCells,
  persistentVolumeClaimCells,
  storageClassCells,
  volumeAttachmentCells,
  volumeAttributesClassCells,
} from "./cells/storage-cells.ts"
import {
  controllerRevisionCells,
  cronJobCells,
  daemonSetCells,
  deploymentCells,
  horizontalPodAutoscalerCells,
  jobCells,
  podDisruptionBudgetCells,
  podTemplateCells,
  replicaSetCells,
  replicationControllerCells,
  scaleCells,
  statefulSetCells,
} from "./cells/workload-cells.ts"
import recorded from "./columns.json" with { type: "json" }
import { customPrinter } from "./custom-printer.ts"

const cellsOf: Readonly<Record<string, Cells>> = {
  "v1.ConfigMap": configMapCells,
  "v1.Endpoints": endpointsCells,
  "v1.Event": eventCells,
  "v1.Namespace": namespaceCells,
  "v1.Node": nodeCells,
  "v1.PersistentVolume": persistentVolumeCells,
  "v1.PersistentVolumeClaim": persistentVolumeClaimCells,
  "v1.Pod": podCells,
  "v1.PodTemplate": podTemplateCells,
  "v1.ReplicationController": replicationControllerCells,
  "v1.ResourceQuota": resourceQuotaCells,
  "v1.Secret": secretCells,
  "v1.Service": serviceCells,
  "v1.ServiceAccount": serviceAccountCells,
  "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration": webhookConfigurationCells,
  "admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration": webhookConfigurationCells,
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicy": admissionPolicyCells,
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicyBinding": admissionPolicyBindingCells,
  "apps/v1.ControllerRevision": controllerRevisionCells,
  "apps/v1.DaemonSet": daemonSetCells,
  "apps/v1.Deployment": deploymentCells,
  "apps/v1.ReplicaSet": replicaSetCells,
  "apps/v1.StatefulSet": statefulSetCells,
  "autoscaling/v1.Scale": scaleCells,
  "autoscaling/v2.HorizontalPodAutoscaler": horizontalPodAutoscalerCells,
  "batch/v1.CronJob": cronJobCells,
  "batch/v1.Job": jobCells,
  "certificates.k8s.io/v1.CertificateSigningRequest": certificateCells,
  "coordination.k8s.io/v1.Lease": leaseCells,
  "discovery.k8s.io/v1.EndpointSlice": endpointSliceCells,
  "flowcontrol.apiserver.k8s.io/v1.FlowSchema": flowSchemaCells,
  "flowcontrol.apiserver.k8s.io/v1.PriorityLevelConfiguration": priorityLevelCells,
  "networking.k8s.io/v1.Ingress": ingressCells,
  "networking.k8s.io/v1.IngressClass": ingressClassCells,
  "networking.k8s.io/v1.NetworkPolicy": networkPolicyCells,
  "networking.k8s.io/v1.IPAddress": ipAddressCells,
  "networking.k8s.io/v1.ServiceCIDR": serviceCidrCells,
  "node.k8s.io/v1.RuntimeClass": runtimeClassCells,
  "policy/v1.PodDisruptionBudget": podDisruptionBudgetCells,
  "rbac.authorization.k8s.io/v1.ClusterRoleBinding": roleBindingCells,
  "rbac.authorization.k8s.io/v1.RoleBinding": roleBindingCells,
  "resource.k8s.io/v1.DeviceClass": nameAndAgeCells,
  "resource.k8s.io/v1.ResourceClaim": resourceClaimCells,
  "resource.k8s.io/v1.ResourceClaimTemplate": nameAndAgeCells,
  "resource.k8s.io/v1.ResourceSlice": resourceSliceCells,
  "scheduling.k8s.io/v1.PriorityClass": priorityClassCells,
  "storage.k8s.io/v1.CSIDriver": csiDriverCells,
  "storage.k8s.io/v1.CSINode": csiNodeCells,
  "storage.k8s.io/v1.StorageClass": storageClassCells,
  "storage.k8s.io/v1.VolumeAttachment": volumeAttachmentCells,
  "storage.k8s.io/v1.VolumeAttributesClass": volumeAttributesClassCells,
}

const descriptions: Readonly<Record<string, string>> = recorded.descriptions

const described = ({ description, ...column }: ColumnDefinition): ColumnDefinition => ({
  name: column.name,
  type: column.type,
  format: column.format,
  description: descriptions[description] ?? description,
  priority: column.priority,
})

const recordedColumns: Readonly<Record<string, ReadonlyArray<ColumnDefinition>>> = recorded.kinds

/** `LimitRange`, `Role` and others: creation time as a timestamp; Go's zero time without one. */
const defaultPrinter: Printer = {
  columns: [
    { name: "Name", type: "string", format: "name", description: "$name", priority: 0 },
    { name: "Created At", type: "date", format: "", description: "$creationTimestamp", priority: 0 },
  ].map(described),
  cells: (object) => [
    text(object, "metadata", "name"),
    text(object, "metadata", "creationTimestamp") || "0001-01-01T00:00:00Z",
  ],
  showsStatus: () => false,
}

/** The columns that show an object's status; of the kinds that are not here, none does. */
const statusColumns: Readonly<Record<string, ReadonlyArray<string>>> = {
  "v1.Namespace": ["Status"],
  "v1.Node": ["Status", "Version", "Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
  "v1.PersistentVolume": ["Status", "Reason"],
  "v1.PersistentVolumeClaim": ["Status", "Capacity", "Access Modes"],
  "v1.Pod": ["Ready", "Status", "Restarts", "IP", "Nominated Node", "Readiness Gates"],
  "v1.ReplicationController": ["Current", "Ready"],
  "v1.ResourceQuota": ["Request", "Limit"],
  "v1.Service": ["External-IP"],
  "apps/v1.DaemonSet": ["Desired", "Current", "Ready", "Up-to-date", "Available"],
  "apps/v1.Deployment": ["Ready", "Up-to-date", "Available"],
  "apps/v1.ReplicaSet": ["Current", "Ready"],
  "apps/v1.StatefulSet": ["Ready"],
  "autoscaling/v1.Scale": ["Available"],
  "autoscaling/v2.HorizontalPodAutoscaler": ["Targets", "Replicas"],
  "batch/v1.CronJob": ["Active", "Last Schedule"],
  "batch/v1.Job": ["Status", "Completions", "Duration"],
  "certificates.k8s.io/v1.CertificateSigningRequest": ["Condition"],
  "flowcontrol.apiserver.k8s.io/v1.FlowSchema": ["MissingPL"],
  "networking.k8s.io/v1.Ingress": ["Address"],
  "policy/v1.PodDisruptionBudget": ["Allowed Disruptions"],
  "resource.k8s.io/v1.ResourceClaim": ["State"],
  "storage.k8s.io/v1.VolumeAttachment": ["Attached"],
}

const builtin = new Map<string, Printer>(
  Object.entries(cellsOf).map(([gvk, cells]) => {
    const columns = (recordedColumns[gvk] ?? []).map(described)
    const ofStatus = new Set(statusColumns[gvk])
    const showsStatus = (index: number): boolean => ofStatus.has(columns[index]?.name ?? "")
    const printer: Printer = { columns, cells, showsStatus }
    return [gvk, gvk === "v1.Pod" ? { ...printer, conditions: podConditions } : printer]
  }),
)

const custom = new WeakMap<Resource, Printer>()

/** The printer of a kind. It gets objects as they are stored, even if the kind is a view of another one. */
export const printerOf = (resource: Resource): Printer => {
  if (resource.custom !== true) return builtin.get(formatGvk(resource.storedAs?.gvk ?? resource.gvk)) ?? defaultPrinter
  const known = custom.get(resource) ?? customPrinter(resource.printerColumns ?? [], descriptions)
  custom.set(resource, known)
  return known
}
