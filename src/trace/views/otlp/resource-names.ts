/** The resource attributes of Kubernetes objects, by OpenTelemetry's semantic conventions. */
import { groupKindOf } from "../../ownership/ownership.ts"
import type { Attributes } from "./attributes.ts"

/** Kinds that the conventions know, and the prefix of their attributes. */
const prefixes: Readonly<Record<string, string>> = {
  Pod: "k8s.pod",
  Node: "k8s.node",
  ReplicationController: "k8s.replicationcontroller",
  ResourceQuota: "k8s.resourcequota",
  "apps/Deployment": "k8s.deployment",
  "apps/ReplicaSet": "k8s.replicaset",
  "apps/StatefulSet": "k8s.statefulset",
  "apps/DaemonSet": "k8s.daemonset",
  "batch/Job": "k8s.job",
  "batch/CronJob": "k8s.cronjob",
  "autoscaling/HorizontalPodAutoscaler": "k8s.hpa",
}

/** `k8s.pod.name` and `k8s.pod.uid` of a pod; nothing for kinds that the conventions do not know. */
export const namesOf = ({ gvk, name, uid }: { gvk: string; name: string; uid: string }): Attributes => {
  const groupKind = groupKindOf(gvk)
  if (!Object.hasOwn(prefixes, groupKind)) return groupKind === "Namespace" ? { "k8s.namespace.name": name } : {}
  const prefix = prefixes[groupKind]
  return { [`${prefix}.name`]: name, ...(uid !== "" && { [`${prefix}.uid`]: uid }) }
}
