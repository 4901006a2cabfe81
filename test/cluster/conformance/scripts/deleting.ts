/** Deletions: preconditions, propagation, finalizers, grace, collections. */

import type { JsonObject } from "../../exact-json.ts"
import {
  get,
  inNamespace,
  isGone,
  isThere,
  mergePatch,
  post,
  put,
  remove,
  type Script,
  type Step,
  watch,
} from "../script.ts"
import { configMap, unmanagedJob, unscheduledPod } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const pods = inNamespace("v1", "pods")
const pod = (name: string): string => `${pods}/${name}`
const options = (more: { readonly [key: string]: string | number | boolean | object }) => ({
  body: { apiVersion: "v1", kind: "DeleteOptions", ...more } as { readonly [key: string]: string },
})

const preconditions: Script = {
  name: "preconditions",
  area: "lifecycle",
  steps: [
    post("create", maps, configMap("a"), { capture: { uid: "/metadata/uid", version: "/metadata/resourceVersion" } }),
    remove("another UID", map("a"), options({ preconditions: { uid: "11111111-2222-3333-4444-555555555555" } })),
    remove("another version", map("a"), options({ preconditions: { resourceVersion: "1" } })),
    remove("both wrong", map("a"), options({ preconditions: { uid: "x", resourceVersion: "1" } })),
    remove("both right", map("a"), options({ preconditions: { uid: "<uid>", resourceVersion: "<version>" } })),
    post("create again", maps, configMap("a")),
    remove("malformed options", map("a"), { body: { raw: "{" } }),
    remove("options of another kind", map("a"), { body: { apiVersion: "v1", kind: "ConfigMap" } }),
    remove("options without a kind", map("a"), { body: {}, query: { dryRun: "All" } }),
    remove("unknown option", map("a"), {
      body: { apiVersion: "v1", kind: "DeleteOptions", nope: 1 },
      query: { dryRun: "All" },
    }),
    remove("unknown policy", map("a"), options({ propagationPolicy: "Nope" })),
    remove("policy and orphans", map("a"), options({ propagationPolicy: "Orphan", orphanDependents: true })),
    remove("unknown policy in the query", map("a"), { query: { propagationPolicy: "Nope" } }),
    remove("negative grace", map("a"), { query: { gracePeriodSeconds: "-1", dryRun: "All" } }),
    remove("grace that is no number", map("a"), { query: { gracePeriodSeconds: "x" } }),
    remove("options of the kind's own group", inNamespace("v1", "configmaps", "a"), {
      body: { apiVersion: "policy/v1", kind: "DeleteOptions" },
    }),
    remove("delete", map("a"), { query: { gracePeriodSeconds: "0" } }),
  ],
}

const owned = (name: string, owner: string, more: { readonly [key: string]: boolean } = {}) => ({
  ...configMap(name),
  metadata: {
    name,
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: owner, uid: `<${owner}>`, ...more }],
  },
})

/**
 * Waits until the garbage collector has seen what was created before in that collection: it takes the changes of a kind in their order, so
 * an object whose owner never was, and which it deletes for that, comes last. Until then it orphans nothing: it would find no dependents, let
 * the owner go, and delete them later as objects without an owner.
 */
const seenByCollector = (collection: string, object: JsonObject): readonly Step[] => {
  const name = "last-seen"
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "never", uid: "11111111-2222-3333-4444-555555555555" }
  return [
    post("the last one", collection, { ...object, metadata: { name, ownerReferences: [owner] } }),
    get("the last one is seen", `${collection}/${name}`, { until: isGone }),
  ]
}

const policySteps = (policy: string): readonly Step[] => {
  const name = policy.toLowerCase()
  return [
    post(`${name}: owner`, maps, configMap(name), { capture: { [name]: "/metadata/uid" } }),
    post(`${name}: dependent`, maps, owned(`${name}-1`, name, { blockOwnerDeletion: true, controller: true })),
    post(`${name}: dependent that blocks nothing`, maps, owned(`${name}-2`, name)),
  ]
}

const propagation: Script = {
  name: "propagation",
  area: "lifecycle",
  steps: [
    ...policySteps("Background"),
    remove("background", map("background"), options({ propagationPolicy: "Background" })),
    get("background: owner is gone", map("background"), { until: isGone }),
    get("background: dependent is gone", map("background-1"), { until: isGone }),
    get("background: the other too", map("background-2"), { until: isGone }),
    ...policySteps("Orphan"),
    ...seenByCollector(maps, configMap("last-seen")),
    remove("orphan", map("orphan"), options({ propagationPolicy: "Orphan" })),
    get("orphan: owner is gone", map("orphan"), { until: isGone }),
    get("orphan: dependent is free", map("orphan-1"), {
      until: (_status, body) => !JSON.stringify(body).includes("ownerReferences"),
    }),
    ...policySteps("Foreground"),
    mergePatch("foreground: dependent is held", map("foreground-1"), {
      metadata: { finalizers: ["example.com/hold"] },
    }),
    remove("foreground", map("foreground"), { query: { propagationPolicy: "Foreground" } }),
    get("foreground: dependent is being deleted", map("foreground-1"), {
      until: (_status, body) => JSON.stringify(body).includes("deletionTimestamp"),
    }),
    get("foreground: the other is gone", map("foreground-2"), { until: isGone }),
    get("foreground: owner waits", map("foreground")),
    remove("foreground again", map("foreground"), { query: { propagationPolicy: "Foreground" } }),
    mergePatch("foreground: dependent is free", map("foreground-1"), { metadata: { finalizers: null } }),
    get("foreground: dependent is gone", map("foreground-1"), { until: isGone }),
    get("foreground: owner is gone", map("foreground"), { until: isGone }),
    post("an owner with two", maps, configMap("left"), { capture: { left: "/metadata/uid" } }),
    post("the other owner", maps, configMap("right"), { capture: { right: "/metadata/uid" } }),
    post("owned by both", maps, {
      ...configMap("both"),
      metadata: {
        name: "both",
        ownerReferences: [
          { apiVersion: "v1", kind: "ConfigMap", name: "left", uid: "<left>" },
          { apiVersion: "v1", kind: "ConfigMap", name: "right", uid: "<right>" },
        ],
      },
    }),
    remove("one owner goes", map("left")),
    get("one reference stays", map("both"), {
      until: (status, body) => status !== 200 || !JSON.stringify(body).includes(`"left"`),
    }),
    remove("the other goes", map("right")),
    get("then it goes", map("both"), { until: isGone }),
    post("owner that never was", maps, {
      ...configMap("lost"),
      metadata: {
        name: "lost",
        ownerReferences: [
          { apiVersion: "v1", kind: "ConfigMap", name: "never", uid: "11111111-2222-3333-4444-555555555555" },
        ],
      },
    }),
    get("it goes", map("lost"), { until: isGone }),
  ],
}

const finalizers: Script = {
  name: "finalizers",
  area: "lifecycle",
  steps: [
    watch("changes", maps, 5, { fieldSelector: "metadata.name=held", resourceVersion: "" }),
    post("create", maps, {
      ...configMap("held"),
      metadata: { name: "held", finalizers: ["example.com/one", "example.com/two"] },
    }),
    remove("delete", map("held")),
    get("it is still there", map("held"), { capture: { whole: "" } }),
    remove("delete again", map("held")),
    mergePatch("a label while it goes", map("held"), { metadata: { labels: { a: "b" } } }),
    mergePatch("a new finalizer while it goes", map("held"), {
      metadata: { finalizers: ["example.com/one", "example.com/two", "example.com/three"] },
    }),
    mergePatch("a change of the time of deletion", map("held"), { metadata: { deletionTimestamp: null } }),
    mergePatch("one is done", map("held"), { metadata: { finalizers: ["example.com/two"] } }),
    put("the other is done", map("held"), configMap("held")),
    get("it is gone", map("held")),
    post("a name again", maps, configMap("held2")),
    remove("foreground without dependents", map("held2"), options({ propagationPolicy: "Foreground" })),
    get("it goes", map("held2"), { until: isGone }),
    post("create with the server's finalizer", maps, {
      ...configMap("orphaning"),
      metadata: { name: "orphaning", finalizers: ["orphan", "foregroundDeletion"] },
    }),
    post("create a third", maps, { ...configMap("third"), metadata: { name: "third", finalizers: ["example.com/x"] } }),
    remove("dry run", map("third"), { query: { dryRun: "All" } }),
    get("it is untouched", map("third")),
  ],
}

const grace: Script = {
  name: "grace",
  area: "lifecycle",
  steps: [
    watch("changes", pods, 9, { fieldSelector: "spec.schedulerName=nobody" }),
    post("a pod without a node", pods, unscheduledPod("free")),
    remove("goes at once", pod("free")),
    get("is gone", pod("free")),
    post("a pod on a node nobody runs", pods, unscheduledPod("bound", { nodeName: "nowhere" })),
    remove("is given time", pod("bound"), { query: { gracePeriodSeconds: "600" } }),
    get("is still there", pod("bound")),
    remove("is given less", pod("bound"), { query: { gracePeriodSeconds: "300" } }),
    remove("is given more again", pod("bound"), { query: { gracePeriodSeconds: "500" } }),
    remove("is given its own", pod("bound")),
    remove("is given none", pod("bound"), { query: { gracePeriodSeconds: "0" } }),
    get("is gone at once", pod("bound")),
    post("its own grace", pods, unscheduledPod("own", { nodeName: "nowhere", terminationGracePeriodSeconds: 120 })),
    remove("its own grace is used", pod("own"), options({ propagationPolicy: "Background" })),
    remove("by force", pod("own"), options({ gracePeriodSeconds: 0 })),
  ],
}

const collections: Script = {
  name: "delete-collection",
  area: "lifecycle",
  steps: [
    ...["a", "b", "c", "d"].map((name) =>
      post(`create ${name}`, inNamespace("v1", "secrets"), {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name, labels: { half: name < "c" ? "first" : "second" } },
      }),
    ),
    remove("a bad selector", inNamespace("v1", "secrets"), { query: { labelSelector: "a b" } }),
    remove("nobody", inNamespace("v1", "secrets"), { query: { labelSelector: "half=third" } }),
    remove("half of them", inNamespace("v1", "secrets"), { query: { labelSelector: "half=first" } }),
    get("the other half", inNamespace("v1", "secrets")),
    remove("by field", inNamespace("v1", "secrets"), { query: { fieldSelector: "metadata.name=c" } }),
    mergePatch("hold one", inNamespace("v1", "secrets", "d"), { metadata: { finalizers: ["example.com/hold"] } }),
    remove("all", inNamespace("v1", "secrets"), { query: { propagationPolicy: "Background" } }),
    get("one is held", inNamespace("v1", "secrets")),
    mergePatch("free it", inNamespace("v1", "secrets", "d"), { metadata: { finalizers: null } }),
    get("none", inNamespace("v1", "secrets")),
    remove("of a namespace that does not exist", "/api/v1/namespaces/<ns>-nope/secrets"),
    remove("of a kind that forbids it", inNamespace("v1", "services"), { query: { labelSelector: "x=y" } }),
    remove("options and malformed", inNamespace("v1", "secrets"), { body: { raw: "{" } }),
    remove("limited", inNamespace("v1", "secrets"), { query: { limit: "1" } }),
  ],
}

const jobs = inNamespace("batch/v1", "jobs")

const jobDefaults: Script = {
  name: "job-deletion",
  area: "lifecycle",
  steps: [
    post("a job", jobs, unmanagedJob("j"), { capture: { uid: "/metadata/uid" } }),
    post("its pod", pods, {
      ...unscheduledPod("j-pod"),
      metadata: {
        name: "j-pod",
        ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "j", uid: "<uid>", controller: true }],
      },
    }),
    ...seenByCollector(pods, unscheduledPod("last-seen")),
    remove("delete without a policy", `${jobs}/j`),
    get("it is gone", `${jobs}/j`, { until: isGone }),
    get("its pod is free", pod("j-pod"), {
      until: (status, body) => !isThere(status) || !JSON.stringify(body).includes("ownerReferences"),
    }),
    post("another job", jobs, unmanagedJob("k")),
    remove("delete in the background", `${jobs}/k`, { query: { propagationPolicy: "Background" } }),
    get("it is gone too", `${jobs}/k`, { until: isGone }),
  ],
}

export const deleting: readonly Script[] = [preconditions, propagation, finalizers, grace, collections, jobDefaults]
