/** The kinds about the cluster's own work, as Kubernetes 1.34.4 lists them: certificates, flow control, runtimes, devices, addresses. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const certificates = kindsOf("certificates.k8s.io", "v1")

export const certificatesResources: ReadonlyArray<Resource> = [
  certificates.clusterScoped("CertificateSigningRequest", "certificatesigningrequests", {
    shortNames: ["csr"],
    subresources: ["approval", "status"],
    zeroValue: '"spec":{"request":null,"signerName":""},"status":{}',
  }),
]

const flowControl = kindsOf("flowcontrol.apiserver.k8s.io", "v1")

export const flowControlResources: ReadonlyArray<Resource> = [
  flowControl.clusterScoped("FlowSchema", "flowschemas", {
    subresources: ["status"],
    zeroValue: '"spec":{"priorityLevelConfiguration":{"name":""},"matchingPrecedence":0},"status":{}',
  }),
  flowControl.clusterScoped("PriorityLevelConfiguration", "prioritylevelconfigurations", {
    subresources: ["status"],
    zeroValue: '"spec":{"type":""},"status":{}',
  }),
]

const node = kindsOf("node.k8s.io", "v1")

export const nodeResources: ReadonlyArray<Resource> = [
  node.clusterScoped("RuntimeClass", "runtimeclasses", { zeroValue: '"handler":""' }),
]

const devices = kindsOf("resource.k8s.io", "v1")

export const deviceResources: ReadonlyArray<Resource> = [
  devices.clusterScoped("DeviceClass", "deviceclasses", { zeroValue: '"spec":{}' }),
  devices.namespaced("ResourceClaim", "resourceclaims", {
    subresources: ["status"],
    zeroValue: '"spec":{"devices":{"requests":null}},"status":{}',
  }),
  devices.namespaced("ResourceClaimTemplate", "resourceclaimtemplates", {
    zeroValue: '"spec":{"metadata":{},"spec":{"devices":{"requests":null}}}',
  }),
  devices.clusterScoped("ResourceSlice", "resourceslices", {
    zeroValue: '"spec":{"driver":"","pool":{"name":"","generation":0,"resourceSliceCount":0},"devices":null}',
  }),
]

const networking = kindsOf("networking.k8s.io", "v1")

export const addressResources: ReadonlyArray<Resource> = [
  networking.clusterScoped("IPAddress", "ipaddresses", { shortNames: ["ip"], zeroValue: '"spec":{}' }),
  networking.clusterScoped("ServiceCIDR", "servicecidrs", {
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{}',
  }),
]

const admission = kindsOf("admissionregistration.k8s.io", "v1")

export const admissionPolicyResources: ReadonlyArray<Resource> = [
  admission.clusterScoped("ValidatingAdmissionPolicy", "validatingadmissionpolicies", {
    categories: ["api-extensions"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{}',
  }),
  admission.clusterScoped("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", {
    categories: ["api-extensions"],
    zeroValue: '"spec":{}',
  }),
]
