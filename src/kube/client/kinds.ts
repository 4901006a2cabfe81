/** Kinds that every Kubernetes cluster has and this project's own controllers work with; all others are found by discovery. */

import { apiVersionOf, type Kind } from "../kinds/gvk.ts"

const kind = (group: string, name: string, plural: string, namespaced = true, version = "v1"): Kind => ({
  gvk: { group, version, kind: name },
  plural,
  namespaced,
})

export const kinds = {
  pods: kind("", "Pod", "pods"),
  nodes: kind("", "Node", "nodes", false),
  namespaces: kind("", "Namespace", "namespaces", false),
  configMaps: kind("", "ConfigMap", "configmaps"),
  serviceAccounts: kind("", "ServiceAccount", "serviceaccounts"),
  events: kind("", "Event", "events"),
  services: kind("", "Service", "services"),
  endpoints: kind("", "Endpoints", "endpoints"),
  endpointSlices: kind("discovery.k8s.io", "EndpointSlice", "endpointslices"),
  disruptionBudgets: kind("policy", "PodDisruptionBudget", "poddisruptionbudgets"),
  leases: kind("coordination.k8s.io", "Lease", "leases"),
  claims: kind("", "PersistentVolumeClaim", "persistentvolumeclaims"),
  volumes: kind("", "PersistentVolume", "persistentvolumes", false),
  storageClasses: kind("storage.k8s.io", "StorageClass", "storageclasses", false),
  deployments: kind("apps", "Deployment", "deployments"),
  replicaSets: kind("apps", "ReplicaSet", "replicasets"),
  statefulSets: kind("apps", "StatefulSet", "statefulsets"),
  daemonSets: kind("apps", "DaemonSet", "daemonsets"),
  revisions: kind("apps", "ControllerRevision", "controllerrevisions"),
  jobs: kind("batch", "Job", "jobs"),
  cronJobs: kind("batch", "CronJob", "cronjobs"),
} as const satisfies Record<string, Kind>

export const apiVersionOfKind = ({ gvk }: Kind): string => apiVersionOf(gvk)
