/**
 * The kinds every sandbox serves from its start, described as Kubernetes 1.34.4 does in discovery (short names,
 * categories, subresources) and in bookmarks (zero values).
 */

import { allVerbs, type Resource } from "./resources.ts"

const podTemplate = '"template":{"metadata":{},"spec":{"containers":null}}'
const nodeInformation = [
  "machineID",
  "systemUUID",
  "bootID",
  "kernelVersion",
  "osImage",
  "containerRuntimeVersion",
  "kubeletVersion",
  "kubeProxyVersion",
  "operatingSystem",
  "architecture",
]
  .map((key) => `"${key}":""`)
  .join(",")

const core = (kind: string, plural: string, rest: Omit<Resource, "gvk" | "plural" | "namespaced"> = {}): Resource => ({
  gvk: { group: "", version: "v1", kind },
  plural,
  namespaced: true,
  ...rest,
})
const inGroup = (
  group: string,
  kind: string,
  plural: string,
  rest: Omit<Resource, "gvk" | "plural" | "namespaced">,
): Resource => ({ gvk: { group, version: "v1", kind }, plural, namespaced: true, ...rest })

export const builtinResources: ReadonlyArray<Resource> = [
  core("Pod", "pods", {
    shortNames: ["po"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue: '"spec":{"containers":null},"status":{}',
  }),
  core("ConfigMap", "configmaps", { shortNames: ["cm"] }),
  core("Secret", "secrets"),
  core("Service", "services", {
    shortNames: ["svc"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{"loadBalancer":{}}',
  }),
  {
    ...core("Namespace", "namespaces", {
      shortNames: ["ns"],
      subresources: ["status"],
      verbs: allVerbs.filter((verb) => verb !== "deletecollection"),
      zeroValue: '"spec":{},"status":{}',
    }),
    namespaced: false,
  },
  {
    ...core("Node", "nodes", {
      shortNames: ["no"],
      subresources: ["status"],
      zeroValue: `"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{${nodeInformation}}}`,
    }),
    namespaced: false,
  },
  core("ServiceAccount", "serviceaccounts", { shortNames: ["sa"] }),
  core("Event", "events", {
    shortNames: ["ev"],
    zeroValue:
      '"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,' +
      '"reportingComponent":"","reportingInstance":""',
  }),
  inGroup("apps", "Deployment", "deployments", {
    shortNames: ["deploy"],
    categories: ["all"],
    subresources: ["scale", "status"],
    zeroValue: `"spec":{"replicas":0,"selector":null,${podTemplate},"strategy":{}},"status":{}`,
  }),
  inGroup("apps", "ReplicaSet", "replicasets", {
    shortNames: ["rs"],
    categories: ["all"],
    subresources: ["scale", "status"],
    zeroValue: `"spec":{"replicas":0,"selector":null,${podTemplate}},"status":{"replicas":0}`,
  }),
  inGroup("apps", "StatefulSet", "statefulsets", {
    shortNames: ["sts"],
    categories: ["all"],
    subresources: ["scale", "status"],
    zeroValue:
      `"spec":{"replicas":0,"selector":null,${podTemplate},"serviceName":"","updateStrategy":{}},` +
      '"status":{"replicas":0,"availableReplicas":0}',
  }),
  inGroup("apps", "DaemonSet", "daemonsets", {
    shortNames: ["ds"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue:
      `"spec":{"selector":null,${podTemplate},"updateStrategy":{}},` +
      '"status":{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}',
  }),
  inGroup("batch", "Job", "jobs", {
    categories: ["all"],
    subresources: ["status"],
    zeroValue: `"spec":{${podTemplate}},"status":{}`,
  }),
  inGroup("batch", "CronJob", "cronjobs", {
    shortNames: ["cj"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue: `"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{${podTemplate}}}},"status":{}`,
  }),
  inGroup("coordination.k8s.io", "Lease", "leases", { zeroValue: '"spec":{}' }),
]
