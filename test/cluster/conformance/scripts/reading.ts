/** Lists, pages, tables, metadata; watches in all their forms. */

import { get, inNamespace, jsonPatch, mergePatch, post, put, remove, type Script, watch } from "../script.ts"
import { configMap, pausedDeployment, unscheduledPod } from "./objects.ts"

const maps = inNamespace("v1", "secrets")
const map = (name: string): string => `${maps}/${name}`
/** Secrets, because no controller puts one into a namespace: the script's own are all there are. */
const secret = (name: string, labels: { readonly [key: string]: string } = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, labels },
})
const table = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" }
const metadata = { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" }
const metadataList = { accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" }
const pods = inNamespace("v1", "pods")

const listing: Script = {
  name: "lists",
  area: "table and lists",
  steps: [
    get("empty", maps),
    get("empty table", maps, { headers: table }),
    ...["e", "b", "d", "a", "c"].map((name, index) =>
      post(`create ${name}`, maps, secret(name, { letter: name, parity: index % 2 === 0 ? "even" : "odd" }), {
        capture: { [`version${name}`]: "/metadata/resourceVersion" },
      }),
    ),
    get("all", maps),
    get("first page", maps, {
      query: { limit: "2" },
      capture: { next: "/metadata/continue", version: "/metadata/resourceVersion" },
    }),
    post("one more in between", maps, secret("bb")),
    get("second page", maps, { query: { limit: "2", continue: "<next>" }, capture: { third: "/metadata/continue" } }),
    get("last page", maps, { query: { limit: "2", continue: "<third>" } }),
    get("page with a selector", maps, {
      query: { limit: "1", labelSelector: "parity=even" },
      capture: { even: "/metadata/continue" },
    }),
    get("its second page", maps, { query: { limit: "5", labelSelector: "parity=even", continue: "<even>" } }),
    get("page as large as the list", maps, { query: { limit: "6" } }),
    get("from version 0", maps, { query: { resourceVersion: "0" } }),
    get("from version 0 with a limit", maps, { query: { resourceVersion: "0", limit: "2" } }),
    get("not older than", maps, { query: { resourceVersion: "<versiona>", resourceVersionMatch: "NotOlderThan" } }),
    get("not older than, with a limit", maps, {
      query: { resourceVersion: "<versiona>", resourceVersionMatch: "NotOlderThan", limit: "2" },
    }),
    get("exactly", maps, { query: { resourceVersion: "<versionb>", resourceVersionMatch: "Exact" } }),
    get("exactly, in pages", maps, {
      query: { resourceVersion: "<versiona>", resourceVersionMatch: "Exact", limit: "2" },
      capture: { old: "/metadata/continue" },
    }),
    get("exactly, the next page", maps, { query: { limit: "9", continue: "<old>" } }),
    get("a version without a match", maps, { query: { resourceVersion: "<versionb>", limit: "1" } }),
    ...[
      "letter=a",
      "letter==a",
      "letter!=a",
      "letter in (a,b)",
      "letter notin (a,b)",
      "letter",
      "!letter",
      "letter,parity=odd",
      "letter=",
      "",
      "letter in (a),parity!=odd",
      "nope=x",
      "letter>1",
    ].map((labelSelector) => get(`labels '${labelSelector}'`, maps, { query: { labelSelector } })),
    get("by name", maps, { query: { fieldSelector: "metadata.name=a" } }),
    get("by name twice", maps, { query: { fieldSelector: "metadata.name==a,metadata.namespace=<ns>" } }),
    get("not that name", maps, { query: { fieldSelector: "metadata.name!=a" } }),
    get("another namespace", maps, { query: { fieldSelector: "metadata.namespace=other" } }),
    get("all namespaces, by field", "/api/v1/secrets", { query: { fieldSelector: "metadata.namespace=<ns>" } }),
    get("table", maps, { headers: table }),
    get("table with objects", maps, { headers: table, query: { includeObject: "Object", limit: "1" } }),
    get("table without objects", maps, { headers: table, query: { includeObject: "None" } }),
    get("table with what nobody knows", maps, { headers: table, query: { includeObject: "Nope" } }),
    get("table of one", map("a"), { headers: table }),
    get("table, second choice", maps, {
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1beta1,application/json" },
    }),
    get("metadata", maps, { headers: metadataList }),
    get("metadata of one", map("a"), { headers: metadata }),
    get("metadata of one, asked as a list", map("a"), { headers: metadataList }),
    get("metadata, asked as of one", maps, { headers: metadata }),
    get("one at a version", map("a"), { query: { resourceVersion: "<versiona>" } }),
    get("one at version 0", map("a"), { query: { resourceVersion: "0" } }),
    get("table of nothing", map("nope"), { headers: table }),
    post("a pod", pods, unscheduledPod("p")),
    post("another pod", pods, unscheduledPod("q", { nodeName: "nowhere" })),
    get("pods on a node", pods, { query: { fieldSelector: "spec.nodeName=nowhere" } }),
    get("pods of a phase", pods, { query: { fieldSelector: "status.phase=Pending,spec.restartPolicy=Always" } }),
    get("table of pods", pods, { headers: table }),
    get("table of deployments", inNamespace("apps/v1", "deployments"), { headers: table }),
    remove("delete by force", `${pods}/q`, { query: { gracePeriodSeconds: "0" } }),
  ],
}

const watching: Script = {
  name: "watches",
  area: "watch",
  steps: [
    post("one before", maps, secret("before", { in: "yes" }), { capture: { start: "/metadata/resourceVersion" } }),
    watch("from now", maps, 10),
    watch("from a version", maps, 9, { resourceVersion: "<start>" }),
    watch("from version 0", maps, 10, { resourceVersion: "0" }),
    watch("selected", maps, 7, { labelSelector: "in=yes" }),
    watch("one name", maps, 5, { fieldSelector: "metadata.name=a", resourceVersion: "<start>" }),
    watch("streamed list", maps, 11, {
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
    }),
    watch("streamed list from a version", maps, 11, {
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
      resourceVersion: "<start>",
    }),
    watch("no initial events", maps, 9, {
      sendInitialEvents: "false",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
    }),
    watch("table", maps, 10, {}, table),
    watch(
      "table without objects",
      maps,
      5,
      { includeObject: "None", fieldSelector: "metadata.name=a", resourceVersion: "<start>" },
      table,
    ),
    watch("metadata", maps, 10, {}, metadata),
    watch(
      "streamed table",
      maps,
      7,
      {
        sendInitialEvents: "true",
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: "true",
        labelSelector: "in=yes",
      },
      table,
    ),
    watch("everywhere", "/api/v1/secrets", 9, { fieldSelector: "metadata.namespace=<ns>", resourceVersion: "<start>" }),
    post("a", maps, secret("a", { in: "yes" })),
    post("b, outside", maps, secret("b", { in: "no" })),
    mergePatch("b enters", map("b"), { metadata: { labels: { in: "yes" } } }),
    mergePatch("b changes", map("b"), { metadata: { annotations: { x: "y" } } }),
    mergePatch("b leaves", map("b"), { metadata: { labels: { in: "no" } } }),
    mergePatch("nothing changes", map("b"), { metadata: { labels: { in: "no" } } }),
    put("a is replaced", map("a"), secret("a", { in: "yes", new: "label" })),
    mergePatch("a is held", map("a"), { metadata: { finalizers: ["example.com/hold"] } }),
    remove("a is deleted", map("a")),
    jsonPatch("a is let go", map("a"), [{ op: "remove", path: "/metadata/finalizers" }]),
    get("timed out", maps, {
      query: { watch: "1", timeoutSeconds: "1", resourceVersion: "<start>", fieldSelector: "metadata.name=b" },
    }),
    get("watch=true with a name", map("b"), { query: { watch: "true", timeoutSeconds: "1" } }),
    get("the old way", `/api/v1/watch/namespaces/<ns>/secrets`, {
      query: { timeoutSeconds: "1", resourceVersion: "0" },
    }),
  ],
}

const fields: Script = {
  name: "watched-fields",
  area: "watch",
  steps: [
    watch("unscheduled", pods, 2, { fieldSelector: "spec.nodeName=" }),
    watch("on a node", pods, 3, { fieldSelector: "spec.nodeName=nowhere" }),
    watch("running", pods, 2, { fieldSelector: "status.phase=Running" }),
    post("create", pods, unscheduledPod("p")),
    post("bind", `${pods}/p/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "p" },
      target: { kind: "Node", name: "nowhere" },
    }),
    mergePatch("run", `${pods}/p/status`, { status: { phase: "Running" } }),
    remove("delete", `${pods}/p`, { query: { gracePeriodSeconds: "0" } }),
    watch("configuration", inNamespace("v1", "configmaps"), 3, { fieldSelector: "metadata.name=c" }),
    post("a map", inNamespace("v1", "configmaps"), configMap("c")),
    put("the same map", inNamespace("v1", "configmaps", "c"), configMap("c")),
    mergePatch("another map", inNamespace("v1", "configmaps", "c"), { data: { more: "x" } }),
    remove("no map", inNamespace("v1", "configmaps", "c")),
    post("no events of a dry run", inNamespace("v1", "configmaps"), configMap("c"), { query: { dryRun: "All" } }),
    post("nor of a refusal", inNamespace("apps/v1", "deployments"), pausedDeployment("x", { selector: null })),
  ],
}

export const reading: readonly Script[] = [listing, watching, fields]
