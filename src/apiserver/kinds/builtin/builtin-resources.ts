/**
 * The kinds that every sandbox serves from its start, described as Kubernetes 1.34.4 describes them in discovery
 * (short names, categories, subresources) and in bookmarks (zero values).
 *
 * The groups are in the real server's order; a kind that is a view of another one comes after it.
 */

import type { Resource } from "../resources.ts"
import {
  addressResources,
  admissionPolicyResources,
  certificatesResources,
  deviceResources,
  flowControlResources,
  nodeResources,
} from "./cluster-groups.ts"
import { coreResources } from "./core.ts"
import { kindsOf, podTemplate } from "./kinds-of.ts"
import {
  admissionResources,
  apiextensionsResources,
  autoscalingResources,
  batchResources,
  coordinationResources,
  endpointSliceResources,
  eventsResources,
  networkingResources,
  policyResources,
  rbacResources,
  reviewResources,
  schedulingResources,
  storageResources,
} from "./small-groups.ts"

// The kinds of apps, as Kubernetes 1.34.4 lists them.

const { namespaced } = kindsOf("apps", "v1")

const appsResources: ReadonlyArray<Resource> = [
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

export const builtinResources: ReadonlyArray<Resource> = [
  ...coreResources,
  ...appsResources,
  ...eventsResources,
  ...reviewResources,
  ...autoscalingResources,
  ...batchResources,
  ...certificatesResources,
  ...networkingResources,
  ...addressResources,
  ...policyResources,
  ...rbacResources,
  ...storageResources,
  ...admissionResources,
  ...admissionPolicyResources,
  ...apiextensionsResources,
  ...schedulingResources,
  ...coordinationResources,
  ...nodeResources,
  ...endpointSliceResources,
  ...deviceResources,
  ...flowControlResources,
]
