/**
 * The features of a real server that this one lacks: such requests get a 501 with the reason. The list is also for the
 * documentation. Anything not listed is either implemented or absent from the real server too.
 */

import { member, type Resource } from "../../apiserver/index.ts"
import { formatGvk } from "../../kube/offline.ts"
import type { MutableObject } from "../rules/kind-rules.ts"

const noContainers = "pods run no containers here"

/** By `plural/subresource`, whatever the method. */
export const notImplementedSubresources: Readonly<Record<string, string>> = {
  "pods/attach": noContainers,
  "pods/exec": noContainers,
  "pods/log": noContainers,
  "pods/portforward": noContainers,
  "pods/proxy": noContainers,
  "pods/ephemeralcontainers": noContainers,
  "pods/resize": noContainers,
  "nodes/proxy": "nodes have no kubelet here",
  "services/proxy": "services have no endpoints that respond here",
}

/**
 * Kinds whose rules are stored but not evaluated. The response to the creation of such an object has a `Warning` with
 * this reason.
 */
const unevaluated: Readonly<Record<string, string>> = {
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicy": "admission policies are not evaluated",
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicyBinding": "admission policies are not evaluated",
  "autoscaling/v1.HorizontalPodAutoscaler": "autoscalers scale nothing, because Pods use nothing",
  "autoscaling/v2.HorizontalPodAutoscaler": "autoscalers scale nothing, because Pods use nothing",
  "certificates.k8s.io/v1.CertificateSigningRequest": "certificates are not signed",
  "flowcontrol.apiserver.k8s.io/v1.FlowSchema": "requests are not limited",
  "flowcontrol.apiserver.k8s.io/v1.PriorityLevelConfiguration": "requests are not limited",
  "networking.k8s.io/v1.NetworkPolicy": "no traffic is blocked",
}

/** What the creator of an object should know; `undefined` if the sandbox does with it what a cluster does. */
export const unevaluatedRules = ({ gvk }: Resource, object: MutableObject): string | undefined => {
  const isConverted =
    gvk.kind === "CustomResourceDefinition" && member(object, "spec", "conversion", "strategy") === "Webhook"
  const said = isConverted ? "conversion webhooks are not called" : unevaluated[formatGvk(gvk)]
  return said === undefined ? undefined : `this ${gvk.kind} is stored, but in a sandbox ${said}`
}

/** Limits that do not show as a 501. */
export const otherLimits: ReadonlyArray<string> = [
  "Request bodies may be protobuf, but responses are JSON: a client that accepts only protobuf gets 406.",
  "Conversion webhooks: all versions of a custom kind show the same fields.",
  "Admission policies admit everything. Creating an object whose rules are stored but not evaluated returns a `Warning`.",
  "Without authorization access reviews allow everything, and every token that is not a ServiceAccount's authenticates the " +
    "user `sandbox` in the group `system:masters`. With it, tokens in Secrets and the discovery of the issuer's keys are missing.",
  "Integers beyond 2^53 are rounded, as JSON.parse rounds them.",
]
