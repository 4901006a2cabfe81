/** How the strategies of Kubernetes 1.34.4 differ from kind to kind, where it is a matter of yes or no. */

import type { Resource } from "../../apiserver/kinds/resources.ts"
import { formatGvk } from "../../kube/gvk.ts"

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

/** A replacement of something that does not exist creates it. */
export const isCreatedByUpdate = (resource: Resource): boolean => createdByUpdate.has(formatGvk(resource.gvk))

const orphaning: ReadonlySet<string> = new Set(["v1.ReplicationController", "batch/v1.Job"])

/** A deletion that says nothing of dependents lets them go, as it did before there was a garbage collector. */
export const isOrphaningByDefault = (resource: Resource): boolean => orphaning.has(formatGvk(resource.gvk))

const returned: ReadonlySet<string> = new Set([
  "v1.PersistentVolume",
  "v1.PersistentVolumeClaim",
  "v1.Pod",
  "v1.PodTemplate",
  "v1.ResourceQuota",
  "v1.Service",
  "v1.ServiceAccount",
  "storage.k8s.io/v1.CSIDriver",
  "storage.k8s.io/v1.CSINode",
  "storage.k8s.io/v1.StorageClass",
  "storage.k8s.io/v1.VolumeAttachment",
])

/** A deletion is answered with the object, not with a Status. */
export const isReturnedWhenDeleted = (resource: Resource): boolean => returned.has(formatGvk(resource.gvk))
