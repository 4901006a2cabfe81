/** Server-side apply: ownership, conflicts, force, removal, sharing. */

import { apply, get, inNamespace, mergePatch, post, put, remove, type Script, strategicPatch } from "../script.ts"
import { configMap, pausedDeployment, service } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const services = inNamespace("v1", "services")

const applyMaps: Script = {
  name: "apply",
  area: "patch",
  steps: [
    apply("create", map("a"), "one", configMap("a", { data: { x: "1", y: "2" } })),
    apply("again", map("a"), "one", configMap("a", { data: { x: "1", y: "2" } })),
    apply("change", map("a"), "one", configMap("a", { data: { x: "2", y: "2" } })),
    apply("conflict", map("a"), "two", configMap("a", { data: { x: "3" } })),
    apply("two conflicts", map("a"), "two", configMap("a", { data: { x: "3", y: "3" } })),
    apply("share", map("a"), "two", configMap("a", { data: { x: "2", z: "9" } })),
    apply("force", map("a"), "two", configMap("a", { data: { x: "4", z: "9" } }), { query: { force: "true" } }),
    apply("removed by its owner", map("a"), "one", configMap("a", { data: {} })),
    apply("kept while shared", map("a"), "two", configMap("a", { data: { z: "9" } })),
    mergePatch("an update takes over", map("a"), { data: { z: "10" } }, { query: { fieldManager: "three" } }),
    apply("conflict with an update", map("a"), "two", configMap("a", { data: { z: "9" } })),
    apply("agreeing with an update", map("a"), "two", configMap("a", { data: { z: "10" } })),
    apply("dry run", map("a"), "two", configMap("a", { data: { z: "10", dry: "run" } }), { query: { dryRun: "All" } }),
    apply("labels", map("a"), "four", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", labels: { l: "1" } },
    }),
    apply("no labels any more", map("a"), "four", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }),
    put("an update of everything", map("a"), configMap("a", { data: { z: "10" } }), {
      query: { fieldManager: "five" },
    }),
    apply("yaml", map("yaml"), "one", {
      raw: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: b\n",
    }),
    get("read", map("a")),
  ],
}

const applyRefusals: Script = {
  name: "apply-refused",
  area: "patch",
  steps: [
    apply("without a manager", map("a"), "", configMap("a")),
    apply("with managed fields", map("a"), "one", {
      ...configMap("a"),
      metadata: { name: "a", managedFields: [{ manager: "x", operation: "Apply", apiVersion: "v1" }] },
    }),
    apply("another name", map("a"), "one", configMap("b")),
    apply("another namespace", map("a"), "one", { ...configMap("a"), metadata: { name: "a", namespace: "default" } }),
    apply("another kind", map("a"), "one", { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }),
    apply("another version", map("a"), "one", { apiVersion: "v2", kind: "ConfigMap", metadata: { name: "a" } }),
    apply("no kind", map("a"), "one", { metadata: { name: "a" } }),
    apply("no apiVersion", map("a"), "one", { kind: "ConfigMap", metadata: { name: "a" } }),
    apply("no name", map("a"), "one", { apiVersion: "v1", kind: "ConfigMap" }),
    apply("malformed", map("a"), "one", { raw: "{" }),
    apply("malformed yaml", map("a"), "one", { raw: "a: b: c" }),
    apply("an array", map("a"), "one", []),
    apply("nothing", map("a"), "one", { raw: "" }),
    apply("wrong type", map("a"), "one", configMap("a", { data: { x: 1 } })),
    apply("an unknown field", map("a"), "one", configMap("a", { nope: 1 })),
    apply("an unknown field, ignored", map("a"), "one", configMap("a", { nope: 1 }), {
      query: { fieldValidation: "Ignore" },
    }),
    apply("an unknown field, strictly", map("a"), "one", configMap("a", { nope: 1 }), {
      query: { fieldValidation: "Strict" },
    }),
    apply("doubled fields", map("a"), "one", {
      raw: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1","x":"2"}}`,
    }),
    apply("with a version that does not exist", map("new"), "one", {
      ...configMap("new"),
      metadata: { name: "new", resourceVersion: "1" },
    }),
    apply("with a UID that does not exist", map("new"), "one", {
      ...configMap("new"),
      metadata: { name: "new", uid: "11111111-2222-3333-4444-555555555555" },
    }),
    apply("a lawful one", map("a"), "one", configMap("a"), { capture: { version: "/metadata/resourceVersion" } }),
    apply("changed", map("a"), "one", configMap("a", { data: { key: "2" } })),
    apply("a stale version", map("a"), "one", {
      ...configMap("a", { data: { key: "3" } }),
      metadata: { name: "a", resourceVersion: "<version>" },
    }),
    apply("a bad name", map("Bad_Name"), "one", configMap("Bad_Name")),
    apply("a bad label", map("a"), "one", { ...configMap("a"), metadata: { name: "a", labels: { "b!": "c" } } }),
    apply("into a namespace that does not exist", "/api/v1/namespaces/<ns>-nope/configmaps/a", "one", configMap("a")),
    apply("null values", map("a"), "one", configMap("a", { data: { key: null } })),
    apply("a wrong force", map("a"), "one", configMap("a"), { query: { force: "perhaps" } }),
    apply("to a collection", maps, "one", configMap("a")),
  ],
}

const applyLists: Script = {
  name: "apply-lists",
  area: "patch",
  steps: [
    apply(
      "a service",
      `${services}/web`,
      "one",
      service("web", { ports: [{ port: 80, protocol: "TCP", name: "http" }] }),
    ),
    apply("another manager's port", `${services}/web`, "two", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { ports: [{ port: 443, protocol: "TCP", name: "https" }] },
    }),
    apply("conflict inside an item", `${services}/web`, "two", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { ports: [{ port: 80, protocol: "TCP", name: "other" }] },
    }),
    apply("an item removed by its owner", `${services}/web`, "two", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", labels: { two: "was-here" } },
    }),
    apply(
      "doubled keys",
      `${services}/web`,
      "one",
      service("web", {
        ports: [
          { port: 80, protocol: "TCP", name: "a" },
          { port: 80, protocol: "TCP", name: "b" },
        ],
      }),
    ),
    apply("the key's default", `${services}/defaulted`, "one", service("defaulted", { ports: [{ port: 81 }] })),
    apply("the key's default again", `${services}/defaulted`, "one", service("defaulted", { ports: [{ port: 82 }] })),
    apply("finalizers are a set", map("f"), "one", {
      ...configMap("f"),
      metadata: { name: "f", finalizers: ["example.com/a"] },
    }),
    apply("two in the set", map("f"), "two", {
      ...configMap("f"),
      metadata: { name: "f", finalizers: ["example.com/b"] },
    }),
    apply("one out of the set", map("f"), "one", configMap("f")),
    apply("none in the set", map("f"), "two", configMap("f")),
    get("read", `${services}/web`),
  ],
}

const deployments = inNamespace("apps/v1", "deployments")
const web = `${deployments}/web`
const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "web" } }

const applyDeployments: Script = {
  name: "apply-deployments",
  area: "patch",
  controlled: true,
  steps: [
    apply("create", web, "one", pausedDeployment("web")),
    apply("an environment variable", web, "two", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { template: { spec: { containers: [{ name: "main", env: [{ name: "A", value: "1" }] }] } } },
    }),
    apply("the image of another", web, "two", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { template: { spec: { containers: [{ name: "main", image: "example.com/main:2" }] } } },
    }),
    strategicPatch("an update of the image", web, {
      spec: { template: { spec: { containers: [{ name: "main", image: "example.com/main:3" }] } } },
    }),
    apply("conflict with an update", web, "one", pausedDeployment("web")),
    apply("forced", web, "one", pausedDeployment("web"), { query: { force: "true" } }),
    put("scaled", `${web}/scale`, { ...scale, spec: { replicas: 3 } }, { query: { fieldManager: "scaler" } }),
    apply("conflict with the scaler", web, "one", pausedDeployment("web")),
    apply("without replicas", web, "one", (captured) => {
      const ns = String(captured.get("ns"))
      const { replicas: _replicas, ...spec } = pausedDeployment("web").spec as { readonly [key: string]: string }
      return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: ns }, spec }
    }),
    apply("status", `${web}/status`, "status-writer", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      status: { conditions: [{ type: "example.com/x", status: "True" }] },
    }),
    apply("volumes and their mounts", web, "three", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        template: {
          spec: {
            containers: [{ name: "main", volumeMounts: [{ mountPath: "/data", name: "data" }] }],
            volumes: [{ name: "data", emptyDir: {} }],
          },
        },
      },
    }),
    post(
      "kubectl's way before",
      deployments,
      {
        ...pausedDeployment("old"),
        metadata: {
          name: "old",
          annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(pausedDeployment("old")) },
        },
      },
      { query: { fieldManager: "kubectl-client-side-apply" } },
    ),
    apply("taken over from kubectl's way", `${deployments}/old`, "kubectl", pausedDeployment("old", { replicas: 2 }), {
      query: { force: "true" },
    }),
    get("read", web),
    remove("delete", web),
  ],
}

export const applying: readonly Script[] = [applyMaps, applyRefusals, applyLists, applyDeployments]
