/**
 * Responses of the sandbox that differ from Kubernetes 1.34, and why: on purpose, or as a limitation, in which case the reason
 * states it. An entry that no longer occurs fails the suite.
 */

import type { KnownDifference } from "./compare.ts"

const notServed =
  "The sandbox serves the kinds that workloads and their recorders need; groups that it does not serve it does not name."
const notValidated = "Refused by both, by the sandbox for fewer reasons: docs/guides/sandbox.md, What is not validated."
const itself = "The sandbox says that it is no real API server: its version, its build and its platform are its own."

export const knownDifferences: readonly KnownDifference[] = [
  ...["version", "version with a slash"].flatMap((step) =>
    ["gitVersion", "gitCommit", "goVersion", "compiler", "platform"].map((member) => ({
      script: "discovery",
      step,
      pointer: `/body/${member}`,
      reason: itself,
    })),
  ),
  { script: "discovery", step: "core", pointer: "/body/resources/*", reason: notServed },
  { script: "discovery", step: "groups", pointer: "/body/groups/*", reason: notServed },
  {
    script: "discovery",
    step: "aggregated core",
    pointer: "/body/items/core/versions/0/resources/*",
    reason: notServed,
  },
  {
    script: "discovery",
    step: "aggregated core",
    pointer: "/body/items/core/versions/0/resources/*/subresources/*",
    reason: notServed,
  },
  ...["aggregated groups", "aggregated, as kubectl asks"].map((step) => ({
    script: "discovery",
    step,
    pointer: "/body/items/*",
    reason: notServed,
  })),
  { script: "discovery", step: "OpenAPI index", pointer: "/body/paths/*", reason: notServed },
  ...["resize", "ephemeral containers"].map((step) => ({
    script: "pod-changes",
    step,
    pointer: "/status",
    reason: "Pods run no containers here; the sandbox says so with 501.",
  })),
  {
    script: "media-types",
    step: "watch wants yaml",
    pointer: "/body",
    reason: "The sandbox writes no protobuf and does not say that it did.",
  },
  {
    script: "create",
    step: "read as yaml",
    pointer: "/body",
    reason: "The same document; another writer of YAML quotes other words.",
  },
  {
    script: "custom",
    step: "wrong version",
    pointer: "/warnings/0",
    reason: "A version that is not served has no schema: the sandbox names the version, not every field of the object.",
  },
  ...["username", "uid"].map((member) => ({
    script: "discovery",
    step: "who am I",
    pointer: `/body/status/userInfo/${member}`,
    reason: itself,
  })),
  ...["a request", "nothing of its spec changes"].flatMap((step) =>
    ["username", "uid"].map((member) => ({
      script: "certificate-requests",
      step,
      pointer: `/body/spec/${member}`,
      reason: itself,
    })),
  ),
  { script: "certificate-requests", step: "as a table", pointer: "/body/rows/0/cells/3", reason: itself },
  ...[
    "admission-policies",
    "certificate-requests",
    "flow-control",
    "network-policies",
    "policies",
    "webhooks-scale",
  ].map((script) => ({
    script,
    step: "*",
    pointer: "/warnings/0",
    reason: "The sandbox warns of rules that it stores and does not evaluate.",
  })),
  ...[
    ["storage", "a volume of nothing"],
    ["network-policies", "peers"],
    ["network-policies", "ports"],
    ["endpoint-slices", "addresses"],
    ["endpoint-slices", "ports"],
    ["webhook-configurations", "0 wrong rules"],
    ["webhook-configurations", "1 wrong rules"],
  ].map(([script = "", step = ""]) => ({
    script,
    step,
    pointer: "/body/details/causes/**",
    reason: notValidated,
  })),
  { script: "discovery", step: "paths", pointer: "/status", reason: "Nothing but people look at the list of paths." },
  ...[
    { script: "*", step: "is established", pointer: "/body/status/**" },
    { script: "definitions", step: "versions of the group", pointer: "/body/**" },
  ].map((place) => ({
    ...place,
    reason: "The real server installs a kind some seconds after it has accepted it; the sandbox does at once.",
    sometimes: true,
  })),
  ...["delete an owner", "read"].map((step) => ({
    script: "strategic-patch",
    step,
    pointer: "/status",
    reason:
      "Its owners are made up, so a garbage collector takes the Service as soon as it comes to it, on either side.",
    sometimes: true,
  })),
]

/** The same for the script of kubectl commands: name → reason. */
export const knownKubectlDifferences: ReadonlyMap<string, string> = new Map([
  ["api-versions", notServed],
  ["autoscale deployment web --min=1 --max=4 --cpu=50%", "The sandbox warns that autoscalers scale nothing."],
])
