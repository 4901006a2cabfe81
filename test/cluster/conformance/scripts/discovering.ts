/** Discovery, version, health, OpenAPI. */

import { get, post, type Script } from "../script.ts"

const groups = [
  "apps",
  "batch",
  "policy",
  "rbac.authorization.k8s.io",
  "coordination.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
  "autoscaling",
  "events.k8s.io",
  "apiextensions.k8s.io",
  "authorization.k8s.io",
  "authentication.k8s.io",
]

const documents: Script = {
  name: "discovery",
  area: "discovery",
  steps: [
    get("version", "/version"),
    get("version with a slash", "/version/"),
    get("core versions", "/api"),
    get("core", "/api/v1"),
    get("groups", "/apis"),
    ...groups.map((group) => get(`group ${group}`, `/apis/${group}`)),
    ...groups.map((group) => get(`resources of ${group}`, `/apis/${group}/v1`)),
    get("resources of autoscaling/v2", "/apis/autoscaling/v2"),
    get("aggregated core", "/api", {
      headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
    }),
    get("aggregated groups", "/apis", {
      headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
    }),
    get("aggregated, as kubectl asks", "/apis", {
      headers: {
        accept:
          "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
      },
    }),
    get("health", "/healthz"),
    get("ready", "/readyz"),
    get("live", "/livez"),
    get("OpenAPI index", "/openapi/v3"),
    get("paths", "/"),
    post("review of oneself", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { verb: "get", resource: "pods", namespace: "<ns>" } },
    }),
    post("who am I", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
    }),
    post("a token", "/api/v1/namespaces/<ns>/serviceaccounts/default/token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences: ["x"], expirationSeconds: 5 },
    }),
  ],
}

export const discovering: readonly Script[] = [documents]
