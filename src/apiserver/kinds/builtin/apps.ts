/** The kinds of apps, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf, podTemplate } from "./kinds-of.ts"

const { namespaced } = kindsOf("apps", "v1")

export const appsResources: ReadonlyArray<Resource> = [
  namespaced("ControllerRevision", "controllerrevisions", { zeroValue: '"data":null,"revision":0' }),
  namespaced("DaemonSet", "daemonsets", {
    shortNames: ["ds"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue: `"spec":{"selector":null,${podTemplate},"updateStrategy":{}},"status":{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}`,
  }),
  namespaced("Deployment", "deployments", {
    shortNames: ["deploy"],
    categories: ["all"],
    subresources: ["scale", "status"],
    zeroValue: `"spec":{"replicas":0,"selector":null,${podTemplate},"strategy":{}},"status":{}`,
  }),
  namespaced("ReplicaSet", "replicasets", {
    shortNames: ["rs"],
    categories: ["all"],
    subresources: ["scale", "status"],
    zeroValue: `"spec":{"replicas":0,"selector":null,${podTemplate}},"status":{"replicas":0}`,
  }),
  namespaced("StatefulSet", "statefulsets", {
    shortNames: ["sts"],
    categories: ["all"],
    subresources: ["scale", "status"],
    zeroValue: `"spec":{"replicas":0,"selector":null,${podTemplate},"serviceName":"","updateStrategy":{}},"status":{"replicas":0,"availableReplicas":0}`,
  }),
]
