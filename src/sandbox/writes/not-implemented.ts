/**
 * The features of a real server that this one lacks: such requests get a 501 with the reason. The list is also for the
 * documentation. Anything not listed is either implemented or absent from the real server too.
 */

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

/** Limits that do not show as a 501. */
export const otherLimits: ReadonlyArray<string> = [
  "Request bodies may be protobuf, but responses are JSON: a client that accepts only protobuf gets 406.",
  "Conversion webhooks: all versions of a custom kind show the same fields.",
  "Admission policies and quotas admit everything; matchConditions of webhooks count as met.",
  "Without authorization access reviews allow everything, and every token that is not a ServiceAccount's authenticates the " +
    "user `sandbox` in the group `system:masters`. With it, tokens in Secrets and the discovery of the issuer's keys are missing.",
  "Integers beyond 2^53 are rounded, as JSON.parse rounds them.",
]
