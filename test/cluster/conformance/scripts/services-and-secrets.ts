/** Services, Endpoints, Secrets. */

import type { JsonObject } from "../../exact-json.ts"
import { get, inNamespace, mergePatch, post, put, remove, type Script } from "../script.ts"
import { service } from "./objects.ts"

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }
const services = inNamespace("v1", "services")

const serviceRules: Script = {
  name: "services",
  area: "rules",
  steps: [
    post("create", services, service("a")),
    post("headless", services, service("headless", { clusterIP: "None" })),
    post("node port", services, service("np", { type: "NodePort" })),
    post("external name", services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "ext" },
      spec: { type: "ExternalName", externalName: "example.com" },
    }),
    post("two ports without names", services, service("b", { ports: [{ port: 1 }, { port: 2 }] })),
    post("no ports", services, service("b", { ports: [] })),
    post("bad port", services, service("b", { ports: [{ port: 0 }] })),
    post("bad type", services, service("b", { type: "Nope" })),
    post("bad address", services, service("b", { clusterIP: "1.2.3.4" })),
    post("address that is none", services, service("b", { clusterIP: "nope" })),
    post("affinity", services, service("aff", { sessionAffinity: "ClientIP" })),
    mergePatch("ports", `${services}/a`, { spec: { ports: [{ port: 81, targetPort: "http" }] } }),
    put("replaced without its address", `${services}/a`, service("a", { ports: [{ port: 82 }] })),
    mergePatch("another address", `${services}/a`, {
      spec: { clusterIP: "10.0.0.250", clusterIPs: ["10.0.0.250"] },
    }),
    mergePatch("to external", `${services}/a`, { spec: { type: "ExternalName", externalName: "x.example.com" } }),
    mergePatch("dry run", `${services}/headless`, { spec: { ports: [{ port: 83 }] } }, { query: { dryRun: "All" } }),
    put("created by an update", `${services}/by-update`, service("by-update")),
    get("table", services, table),
    remove("delete", `${services}/a`),
    post("endpoints", inNamespace("v1", "endpoints"), {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { name: "own" },
      subsets: [{ addresses: [{ ip: "192.168.1.1" }], ports: [{ port: 80 }] }],
    }),
  ],
}

const secrets = inNamespace("v1", "secrets")
const secret = (name: string, more: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  ...more,
})

const secretRules: Script = {
  name: "secrets",
  area: "rules",
  steps: [
    post("text", secrets, secret("a", { stringData: { x: "text" }, data: { x: "b3RoZXI=", y: "eQ==" } })),
    mergePatch("text by patch", `${secrets}/a`, { stringData: { z: "ü" } }),
    post("bad base64", secrets, secret("b", { data: { x: "%" } })),
    post("base64 without its end", secrets, secret("b", { data: { x: "eA" } })),
    post("of a type", secrets, secret("typed", { type: "kubernetes.io/basic-auth", stringData: { username: "u" } })),
    post("of a type without its data", secrets, secret("b", { type: "kubernetes.io/tls" })),
    mergePatch("type must not change", `${secrets}/a`, { type: "example.com/x" }),
    post("immutable", secrets, secret("im", { immutable: true, stringData: { a: "b" } })),
    mergePatch("immutable stays", `${secrets}/im`, { immutable: false }),
    mergePatch("its data too", `${secrets}/im`, { stringData: { a: "c" } }),
    get("by type", secrets, { query: { fieldSelector: "type=kubernetes.io/basic-auth" } }),
    get("table", secrets, table),
  ],
}

export const servicesAndSecrets: readonly Script[] = [serviceRules, secretRules]
