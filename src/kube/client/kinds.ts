/** The kinds that workload controllers read and write, and where an API server serves them. */

import type { GroupVersionKind } from "../../kube/gvk.ts"
import { apiVersionOf } from "../../kube/gvk.ts"

export interface Kind {
  readonly gvk: GroupVersionKind
  readonly plural: string
  readonly namespaced: boolean
}

const kind = (group: string, name: string, plural: string, namespaced = true, version = "v1"): Kind => ({
  gvk: { group, version, kind: name },
  plural,
  namespaced,
})

export const kinds = {
  pods: kind("", "Pod", "pods"),
  nodes: kind("", "Node", "nodes", false),
  namespaces: kind("", "Namespace", "namespaces", false),
  events: kind("", "Event", "events"),
  leases: kind("coordination.k8s.io", "Lease", "leases"),
  claims: kind("", "PersistentVolumeClaim", "persistentvolumeclaims"),
  volumes: kind("", "PersistentVolume", "persistentvolumes", false),
  deployments: kind("apps", "Deployment", "deployments"),
  replicaSets: kind("apps", "ReplicaSet", "replicasets"),
  statefulSets: kind("apps", "StatefulSet", "statefulsets"),
  daemonSets: kind("apps", "DaemonSet", "daemonsets"),
  revisions: kind("apps", "ControllerRevision", "controllerrevisions"),
  jobs: kind("batch", "Job", "jobs"),
  cronJobs: kind("batch", "CronJob", "cronjobs"),
} as const satisfies Record<string, Kind>

export const apiVersionOfKind = ({ gvk }: Kind): string => apiVersionOf(gvk)

/** The path of a collection; of all namespaces if none is given. */
export const collectionPath = ({ gvk, plural, namespaced }: Kind, namespace?: string): string => {
  const root = gvk.group === "" ? `/api/${gvk.version}` : `/apis/${gvk.group}/${gvk.version}`
  return namespaced && namespace !== undefined && namespace !== ""
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`
    : `${root}/${plural}`
}

/** The path of one object, or of a subresource of it. */
export const objectPath = (kind: Kind, namespace: string | undefined, name: string, subresource?: string): string =>
  `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}${subresource === undefined ? "" : `/${subresource}`}`
