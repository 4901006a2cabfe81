/** Network policies, ingresses, endpoint slices: what is stored of them, and what is refused. */

import type { JsonObject } from "../../exact-json.ts"
import { apply, get, inCluster, inNamespace, mergePatch, post, remove, type Script } from "../script.ts"
import { named } from "./cluster-kinds.ts"

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }
const networking = "networking.k8s.io/v1"
const discovery = "discovery.k8s.io/v1"
const policies = inNamespace(networking, "networkpolicies")
const ingresses = inNamespace(networking, "ingresses")
const classes = inCluster(networking, "ingressclasses")
const slices = inNamespace(discovery, "endpointslices")

const policy = (name: string, spec: JsonObject) => named(networking, "NetworkPolicy", name, { spec })
const ingress = (name: string, spec: JsonObject) => named(networking, "Ingress", name, { spec })
const slice = (name: string, rest: JsonObject) => named(discovery, "EndpointSlice", name, rest)
const service = { service: { name: "web", port: { number: 80 } } }
const path = (rest: JsonObject) => ({
  rules: [{ http: { paths: [{ path: "/", pathType: "Prefix", backend: service, ...rest }] } }],
})

const networkPolicies: Script = {
  name: "network-policies",
  area: "rules",
  steps: [
    post("nothing", policies, policy("nothing", {})),
    post(
      "both ways",
      policies,
      policy("both", {
        podSelector: { matchLabels: { app: "web" } },
        ingress: [
          {
            from: [{ podSelector: {} }, { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }],
            ports: [{ port: 80 }, { port: "http", protocol: "UDP" }],
          },
        ],
        egress: [
          {
            to: [{ namespaceSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }],
            ports: [{ port: 1000, endPort: 2000 }],
          },
        ],
      }),
    ),
    post(
      "peers",
      policies,
      policy("bad", {
        ingress: [
          {
            from: [
              {},
              { podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } },
              { ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/8", "10.0.0.0/8", "x"] } },
              { ipBlock: { cidr: "10.0.0.0" } },
            ],
          },
        ],
      }),
    ),
    post(
      "ports",
      policies,
      policy("bad", {
        egress: [
          {
            ports: [
              { port: 0 },
              { port: 70_000, protocol: "ICMP" },
              { port: 10, endPort: 5 },
              { port: "http", endPort: 5 },
              { endPort: 5 },
              { port: "no_port" },
            ],
          },
        ],
      }),
    ),
    post("types", policies, policy("bad", { policyTypes: ["Ingress", "Both"] })),
    mergePatch("another spec is a new generation", `${policies}/both`, { spec: { egress: null } }),
    get("table of policies", policies, table),
    apply("applied", `${policies}/applied`, "a", policy("applied", { podSelector: {}, policyTypes: ["Egress"] })),
  ],
}

const ingressScript: Script = {
  name: "ingresses",
  area: "rules",
  steps: [
    post(
      "rules",
      ingresses,
      ingress("web", {
        ...path({}),
        tls: [{ hosts: ["web.example.com"], secretName: "web" }],
        ingressClassName: "fast",
      }),
    ),
    post("default backend", ingresses, ingress("default", { defaultBackend: service })),
    post(
      "resource backend",
      ingresses,
      ingress("resource", { defaultBackend: { resource: { apiGroup: "example.com", kind: "Bucket", name: "b" } } }),
    ),
    post("neither", ingresses, ingress("bad", {})),
    post("no path type", ingresses, ingress("bad", path({ pathType: null }))),
    post("path types", ingresses, ingress("bad", path({ pathType: "Regex" }))),
    post("paths", ingresses, ingress("bad", path({ path: "a//b/./c%2f/.." }))),
    post("backends", ingresses, ingress("bad", path({ backend: { ...service, resource: { kind: "B", name: "b" } } }))),
    post("no backend", ingresses, ingress("bad", path({ backend: {} }))),
    post(
      "backend's port",
      ingresses,
      ingress("bad", path({ backend: { service: { name: "Web", port: { name: "http", number: 80 } } } })),
    ),
    post("no port", ingresses, ingress("bad", path({ backend: { service: { name: "", port: {} } } }))),
    post(
      "hosts",
      ingresses,
      ingress("bad", {
        rules: [{ host: "10.0.0.1" }, { host: "*" }, { host: "*.example.com" }, { host: "A b" }],
        tls: [{ hosts: ["*x"] }],
      }),
    ),
    post("no paths", ingresses, ingress("bad", { rules: [{ http: { paths: [] } }] })),
    mergePatch("status", `${ingresses}/web/status`, {
      status: { loadBalancer: { ingress: [{ ip: "10.0.0.1" }, { hostname: "x.example.com" }] } },
    }),
    get("table of ingresses", ingresses, table),
    post(
      "class",
      classes,
      named(networking, "IngressClass", "<ns>", {
        spec: { controller: "example.com/c", parameters: { kind: "P", name: "p", apiGroup: "example.com" } },
      }),
    ),
    mergePatch("controller of a class", `${classes}/<ns>`, { spec: { controller: "example.com/d" } }),
    post("class of nothing", classes, named(networking, "IngressClass", "<ns>-bad", { spec: {} })),
    remove("class is deleted", `${classes}/<ns>`),
  ],
}

const endpointSlices: Script = {
  name: "endpoint-slices",
  area: "rules",
  steps: [
    post(
      "slice",
      slices,
      slice("web", {
        addressType: "IPv4",
        ports: [{ port: 80 }, { name: "b", port: 81, protocol: "UDP" }],
        endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true }, nodeName: "n" }],
      }),
    ),
    post("empty", slices, slice("empty", { addressType: "IPv6", endpoints: [], ports: [] })),
    post("no type", slices, slice("bad", { endpoints: [] })),
    post("another type", slices, slice("bad", { addressType: "MAC", endpoints: [] })),
    post(
      "addresses",
      slices,
      slice("bad", {
        addressType: "IPv4",
        endpoints: [{ addresses: [] }, { addresses: ["x"] }, { addresses: ["2001:db8::1"] }],
      }),
    ),
    post(
      "ports",
      slices,
      slice("bad", {
        addressType: "IPv4",
        endpoints: [],
        ports: [{ port: 1 }, { port: 2 }, { name: "A", port: 3, protocol: "ICMP" }],
      }),
    ),
    post(
      "names",
      slices,
      slice("bad", { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], nodeName: "N", hostname: "h.x" }] }),
    ),
    mergePatch("its type", `${slices}/empty`, { addressType: "IPv4" }),
    mergePatch("labels are a new generation", `${slices}/web`, { metadata: { labels: { a: "b" } } }),
    get("table of slices", slices, table),
  ],
}

export const networkingKinds: readonly Script[] = [networkPolicies, ingressScript, endpointSlices]
