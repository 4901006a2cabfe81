/** The kinds of the small groups, as Kubernetes 1.34.4 lists them. Autoscalers are stored as v2 and also served as v1. */

import type { Resource } from "../resources.ts"
import { kindsOf, podTemplate } from "./kinds-of.ts"
import { storedAsNewAutoscaler } from "./views/autoscaler-view.ts"
import { storedAsCoreEvent } from "./views/event-view.ts"

const batch = kindsOf("batch", "v1")

export const batchResources: ReadonlyArray<Resource> = [
  batch.namespaced("CronJob", "cronjobs", {
    shortNames: ["cj"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue: `"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{${podTemplate}}}},"status":{}`,
  }),
  batch.namespaced("Job", "jobs", {
    categories: ["all"],
    subresources: ["status"],
    zeroValue: `"spec":{${podTemplate}},"status":{}`,
  }),
]

const coordination = kindsOf("coordination.k8s.io", "v1")

export const coordinationResources: ReadonlyArray<Resource> = [
  coordination.namespaced("Lease", "leases", { zeroValue: '"spec":{}' }),
]

const networking = kindsOf("networking.k8s.io", "v1")

export const networkingResources: ReadonlyArray<Resource> = [
  networking.clusterScoped("IngressClass", "ingressclasses", { zeroValue: '"spec":{}' }),
  networking.namespaced("Ingress", "ingresses", {
    shortNames: ["ing"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{"loadBalancer":{}}',
  }),
  networking.namespaced("NetworkPolicy", "networkpolicies", {
    shortNames: ["netpol"],
    zeroValue: '"spec":{"podSelector":{}}',
  }),
]

const endpointSlices = kindsOf("discovery.k8s.io", "v1")

export const endpointSliceResources: ReadonlyArray<Resource> = [
  endpointSlices.namespaced("EndpointSlice", "endpointslices", {
    zeroValue: '"addressType":"","endpoints":null,"ports":null',
  }),
]

const policy = kindsOf("policy", "v1")

export const policyResources: ReadonlyArray<Resource> = [
  policy.namespaced("PodDisruptionBudget", "poddisruptionbudgets", {
    shortNames: ["pdb"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}',
  }),
]

const rbac = kindsOf("rbac.authorization.k8s.io", "v1")

export const rbacResources: ReadonlyArray<Resource> = [
  rbac.clusterScoped("ClusterRoleBinding", "clusterrolebindings", {
    zeroValue: '"roleRef":{"apiGroup":"","kind":"","name":""}',
  }),
  rbac.clusterScoped("ClusterRole", "clusterroles", { zeroValue: '"rules":null' }),
  rbac.namespaced("RoleBinding", "rolebindings", { zeroValue: '"roleRef":{"apiGroup":"","kind":"","name":""}' }),
  rbac.namespaced("Role", "roles", { zeroValue: '"rules":null' }),
]

const scheduling = kindsOf("scheduling.k8s.io", "v1")

export const schedulingResources: ReadonlyArray<Resource> = [
  scheduling.clusterScoped("PriorityClass", "priorityclasses", { shortNames: ["pc"], zeroValue: '"value":0' }),
]

const storage = kindsOf("storage.k8s.io", "v1")

export const storageResources: ReadonlyArray<Resource> = [
  storage.clusterScoped("CSIDriver", "csidrivers", { zeroValue: '"spec":{}' }),
  storage.clusterScoped("CSINode", "csinodes", { zeroValue: '"spec":{"drivers":null}' }),
  storage.namespaced("CSIStorageCapacity", "csistoragecapacities", { zeroValue: '"storageClassName":""' }),
  storage.clusterScoped("StorageClass", "storageclasses", { shortNames: ["sc"], zeroValue: '"provisioner":""' }),
  storage.clusterScoped("VolumeAttachment", "volumeattachments", {
    subresources: ["status"],
    zeroValue: '"spec":{"attacher":"","source":{},"nodeName":""},"status":{"attached":false}',
  }),
  storage.clusterScoped("VolumeAttributesClass", "volumeattributesclasses", {
    shortNames: ["vac"],
    storageVersion: "v1beta1",
    zeroValue: '"driverName":""',
  }),
]

const apiextensions = kindsOf("apiextensions.k8s.io", "v1")

export const apiextensionsResources: ReadonlyArray<Resource> = [
  apiextensions.clusterScoped("CustomResourceDefinition", "customresourcedefinitions", {
    shortNames: ["crd", "crds"],
    storageVersion: "v1beta1",
    categories: ["api-extensions"],
    subresources: ["status"],
    zeroValue:
      '"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}',
  }),
]

const admission = kindsOf("admissionregistration.k8s.io", "v1")

export const admissionResources: ReadonlyArray<Resource> = [
  admission.clusterScoped("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", {
    categories: ["api-extensions"],
  }),
  admission.clusterScoped("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", {
    categories: ["api-extensions"],
  }),
]

const events = kindsOf("events.k8s.io", "v1")

export const eventsResources: ReadonlyArray<Resource> = [
  events.namespaced("Event", "events", {
    shortNames: ["ev"],
    storedAs: storedAsCoreEvent,
    zeroValue:
      '"eventTime":null,"regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null',
  }),
]

const authentication = kindsOf("authentication.k8s.io", "v1")
const authorization = kindsOf("authorization.k8s.io", "v1")
/** Reviews are answered on creation and never stored. */
const verbs = ["create"]

export const reviewResources: ReadonlyArray<Resource> = [
  authentication.clusterScoped("SelfSubjectReview", "selfsubjectreviews", { verbs }),
  authentication.clusterScoped("TokenReview", "tokenreviews", { verbs }),
  authorization.namespaced("LocalSubjectAccessReview", "localsubjectaccessreviews", { verbs }),
  authorization.clusterScoped("SelfSubjectAccessReview", "selfsubjectaccessreviews", { verbs }),
  authorization.clusterScoped("SelfSubjectRulesReview", "selfsubjectrulesreviews", { verbs }),
  authorization.clusterScoped("SubjectAccessReview", "subjectaccessreviews", { verbs }),
]

const autoscalerNames = { shortNames: ["hpa"], categories: ["all"], subresources: ["status"] } as const
const autoscalerZero = '"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0}'

export const autoscalingResources: ReadonlyArray<Resource> = [
  kindsOf("autoscaling", "v2").namespaced("HorizontalPodAutoscaler", "horizontalpodautoscalers", {
    ...autoscalerNames,
    zeroValue: `${autoscalerZero},"status":{"desiredReplicas":0,"currentMetrics":null}`,
  }),
  kindsOf("autoscaling", "v1").namespaced("HorizontalPodAutoscaler", "horizontalpodautoscalers", {
    ...autoscalerNames,
    storedAs: storedAsNewAutoscaler,
    zeroValue: `${autoscalerZero},"status":{"currentReplicas":0,"desiredReplicas":0}`,
  }),
]
