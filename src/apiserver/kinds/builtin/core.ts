/**
 * The kinds of the core group, as Kubernetes 1.34.4 lists them, without `componentstatuses` and the subresources of
 * Pods, Nodes and Services that need a kubelet, which are not served.
 */

import { allVerbs, type Resource } from "../resources.ts"
import { kindsOf, podTemplate } from "./kinds-of.ts"

const { namespaced, clusterScoped } = kindsOf("", "v1")

export const coreResources: ReadonlyArray<Resource> = [
  namespaced("Binding", "bindings", { verbs: ["create"] }),
  namespaced("ConfigMap", "configmaps", { shortNames: ["cm"] }),
  namespaced("Endpoints", "endpoints", {
    shortNames: ["ep"],
    deprecationWarning: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  }),
  namespaced("Event", "events", {
    shortNames: ["ev"],
    zeroValue:
      '"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""',
  }),
  namespaced("LimitRange", "limitranges", { shortNames: ["limits"], zeroValue: '"spec":{"limits":null}' }),
  clusterScoped("Namespace", "namespaces", {
    shortNames: ["ns"],
    subresources: ["finalize", "status"],
    verbs: allVerbs.filter((verb) => verb !== "deletecollection"),
    zeroValue: '"spec":{},"status":{}',
  }),
  clusterScoped("Node", "nodes", {
    shortNames: ["no"],
    subresources: ["status"],
    zeroValue:
      '"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}',
  }),
  namespaced("PersistentVolumeClaim", "persistentvolumeclaims", {
    shortNames: ["pvc"],
    subresources: ["status"],
    zeroValue: '"spec":{"resources":{}},"status":{}',
  }),
  clusterScoped("PersistentVolume", "persistentvolumes", {
    shortNames: ["pv"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{}',
  }),
  namespaced("Pod", "pods", {
    shortNames: ["po"],
    categories: ["all"],
    subresources: ["binding", "eviction", "status"],
    zeroValue: '"spec":{"containers":null},"status":{}',
  }),
  namespaced("PodTemplate", "podtemplates", { zeroValue: podTemplate }),
  namespaced("ReplicationController", "replicationcontrollers", {
    shortNames: ["rc"],
    categories: ["all"],
    subresources: ["scale", "status"],
    zeroValue: '"spec":{},"status":{"replicas":0}',
  }),
  namespaced("ResourceQuota", "resourcequotas", {
    shortNames: ["quota"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{}',
  }),
  namespaced("Secret", "secrets"),
  namespaced("ServiceAccount", "serviceaccounts", { shortNames: ["sa"], subresources: ["token"] }),
  namespaced("Service", "services", {
    shortNames: ["svc"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{"loadBalancer":{}}',
  }),
]
