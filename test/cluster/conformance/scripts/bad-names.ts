/** Names that are refused, sizes that are too large, paths that lead nowhere. */

import { ask, get, inCluster, inNamespace, post, put, remove, type Script } from "../script.ts"
import { configMap, pausedDeployment } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const deployments = inNamespace("apps/v1", "deployments")
const names: Script = {
  name: "bad-names",
  area: "bad input",
  steps: [
    post("upper case", maps, configMap("Upper")),
    post("underscore", maps, configMap("a_b")),
    post("leading dash", maps, configMap("-a")),
    post("dots", maps, configMap("a.b-c")),
    post("two dots", maps, configMap("a..b")),
    post("slash", maps, configMap("a/b")),
    post("one dot", maps, configMap(".")),
    post("percent", maps, configMap("a%b")),
    post("empty", maps, configMap("")),
    post("253 letters", maps, configMap("x".repeat(253))),
    post("254 letters", maps, configMap("x".repeat(254))),
    post("a service with a dot", inNamespace("v1", "services"), {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "a.b" },
      spec: { ports: [{ port: 1 }] },
    }),
    post("a service that begins with a digit", inNamespace("v1", "services"), {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "1a" },
      spec: { ports: [{ port: 1 }] },
    }),
    post("a deployment", deployments, pausedDeployment("Not_Good")),
    post("a namespace with a dot", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "a.b" },
    }),
    post("a namespace of 64 letters", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "x".repeat(64) },
    }),
    post("a role may have colons", inNamespace("rbac.authorization.k8s.io/v1", "roles"), {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "system:odd:Name" },
      rules: [],
    }),
    post("a role with a slash", inNamespace("rbac.authorization.k8s.io/v1", "roles"), {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "a/b" },
      rules: [],
    }),
    post("bad label key", maps, { ...configMap("a"), metadata: { name: "a", labels: { "a b": "c" } } }),
    post("label key with an empty prefix", maps, { ...configMap("a"), metadata: { name: "a", labels: { "/x": "y" } } }),
    post("bad label value", maps, { ...configMap("a"), metadata: { name: "a", labels: { a: "b c" } } }),
    post("bad annotation key", maps, { ...configMap("a"), metadata: { name: "a", annotations: { "a b": "c" } } }),
    post("bad finalizer", maps, { ...configMap("a"), metadata: { name: "a", finalizers: ["nodomain", "a b"] } }),
    post("bad data keys", maps, configMap("a", { data: { "a b": "c" } })),
    post("annotations that are too large", maps, {
      ...configMap("a"),
      metadata: { name: "a", annotations: { a: "x".repeat(262_145) } },
    }),
    post("data that is too large", maps, configMap("a", { data: { a: "x".repeat(1_048_577) } })),
    post("a body that is too large", maps, configMap("a", { data: { a: "x".repeat(3_200_000) } })),
    put("an update that is too large", map("a"), configMap("a", { data: { a: "x".repeat(3_200_000) } })),
    get("a name in upper case", map("Upper")),
    get("an escaped name", `${maps}/a%2Fb`),
    get("a broken escape", `${maps}/a%zz`),
    get("a namespace that is none", "/api/v1/namespaces/Not_A_Namespace/configmaps"),
    get("two slashes", "/api/v1//configmaps"),
    get("a trailing slash", `${maps}/`),
    get("a dot segment", `${maps}/../secrets`),
  ],
}
const methods: Script = {
  name: "paths-and-methods",
  area: "bad input",
  steps: [
    ask("PUT", "replace a collection", maps, { body: configMap("a") }),
    ask("PATCH", "patch a collection", maps, { body: {}, headers: { "content-type": "application/merge-patch+json" } }),
    ask("POST", "create on the cluster's path", "/api/v1/configmaps", { body: configMap("a") }),
    ask("DELETE", "delete on the cluster's path", "/api/v1/configmaps"),
    ask("PUT", "a subresource nobody has", map("a/status"), { body: configMap("a") }),
    ask("POST", "create a status", inNamespace("apps/v1", "deployments", "a", "status"), {
      body: pausedDeployment("a"),
    }),
    ask("DELETE", "delete a status", inNamespace("apps/v1", "deployments", "a", "status")),
    ask("DELETE", "delete a scale", inNamespace("apps/v1", "deployments", "a", "scale")),
    ask("OPTIONS", "options", maps),
    ask("FROB", "a method nobody knows", maps),
    ask("POST", "post to discovery", "/api/v1", { body: {} }),
    ask("POST", "post to version", "/version", { body: {} }),
    ask("POST", "a binding nobody has", inNamespace("v1", "pods", "nope", "binding"), {
      body: { apiVersion: "v1", kind: "Binding", metadata: { name: "nope" }, target: { kind: "Node", name: "n" } },
    }),
    ask("POST", "an eviction nobody has", inNamespace("v1", "pods", "nope", "eviction"), {
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "nope" } },
    }),
    get("unknown resource", inNamespace("v1", "nopes")),
    get("unknown version", "/apis/apps/v9/deployments"),
    get("unknown group", "/apis/nope.example.com/v1/things"),
    get("unknown root", "/nope"),
    get("unknown group's discovery", "/apis/nope.example.com"),
    get("unknown version's discovery", "/apis/apps/v9"),
    get("unknown object of an unknown kind", inNamespace("v1", "nopes", "x")),
    get("a namespaced object on the cluster's path", "/api/v1/configmaps/a"),
    get("a cluster object in a namespace", inNamespace("v1", "nodes")),
    get("a cluster object in a namespace by name", inNamespace("v1", "nodes", "n")),
    get("unknown subresource", map("kube-root-ca.crt/nope")),
    get("too many segments", map("a/b/c/d")),
    get("unknown object, cluster-scoped", inCluster("v1", "nodes", "nope")),
    get("unknown namespace", "/api/v1/namespaces/<ns>-nope"),
    get("list of an unknown namespace", "/api/v1/namespaces/<ns>-nope/configmaps"),
    get("object of an unknown namespace", "/api/v1/namespaces/<ns>-nope/configmaps/a"),
    get("scale of nothing", inNamespace("apps/v1", "deployments", "nope", "scale")),
    get("status of nothing", inNamespace("apps/v1", "deployments", "nope", "status")),
    get("log of nothing", inNamespace("v1", "pods", "nope", "log")),
    remove("delete what is not there", map("nope")),
    remove("delete an unknown kind", inNamespace("v1", "nopes", "x")),
  ],
}

export const badNames: readonly Script[] = [names, methods]
