/** The yes-or-no differences between the kinds' strategies in Kubernetes 1.34.4. */

import type { Resource } from "../../apiserver/index.ts"
import { formatGvk } from "../../kube/offline.ts"

const rbac = "rbac.authorization.k8s.io/v1"

const createdByUpdate: ReadonlySet<string> = new Set([
  "v1.Endpoints",
  "v1.Event",
  "v1.LimitRange",
  "v1.Service",
  "coordination.k8s.io/v1.Lease",
  "events.k8s.io/v1.Event",
  "node.k8s.io/v1.RuntimeClass",
  `${rbac}.ClusterRole`,
  `${rbac}.ClusterRoleBinding`,
  `${rbac}.Role`,
  `${rbac}.RoleBinding`,
])

/** Whether a replacement of an absent object creates it. */
export const isCreatedByUpdate = (resource: Resource): boolean => createdByUpdate.has(formatGvk(resource.gvk))

const orphaning: ReadonlySet<string> = new Set(["v1.ReplicationController", "batch/v1.Job"])

/** Whether a deletion without a propagation policy orphans dependents, as before there was a garbage collector. */
export const isOrphaningByDefault = (resource: Resource): boolean => orphaning.has(formatGvk(resource.gvk))

const returned: ReadonlySet<string> = new Set([
  "v1.PersistentVolume",
  "v1.PersistentVolumeClaim",
  "v1.Pod",
  "v1.PodTemplate",
  "v1.ResourceQuota",
  "v1.Service",
  "v1.ServiceAccount",
  "resource.k8s.io/v1.DeviceClass",
  "resource.k8s.io/v1.ResourceClaim",
  "resource.k8s.io/v1.ResourceClaimTemplate",
  "resource.k8s.io/v1.ResourceSlice",
  "storage.k8s.io/v1.CSIDriver",
  "storage.k8s.io/v1.CSINode",
  "storage.k8s.io/v1.StorageClass",
  "storage.k8s.io/v1.VolumeAttachment",
])

/** Whether the response to a deletion is the object instead of a Status. */
export const isReturnedWhenDeleted = (resource: Resource): boolean => returned.has(formatGvk(resource.gvk))
