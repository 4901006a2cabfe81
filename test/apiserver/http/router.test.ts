import fc from "fast-check"
import { expect, test } from "vitest"
import { parseRoute } from "../../../src/apiserver/http/router.ts"

test.each([
  ["/version", { type: "version" }],
  ["/api", { type: "coreVersions" }],
  ["/api/", { type: "coreVersions" }],
  ["/api/v1", { type: "resources", group: "", version: "v1" }],
  ["/apis", { type: "groups" }],
  ["/apis/apps", { type: "group", group: "apps" }],
  ["/apis/apps/v1", { type: "resources", group: "apps", version: "v1" }],
  ["/api/v1/pods", { type: "resource", group: "", version: "v1", plural: "pods" }],
  ["/api/v1/namespaces", { type: "resource", group: "", version: "v1", plural: "namespaces" }],
  ["/api/v1/namespaces/a", { type: "resource", group: "", version: "v1", plural: "namespaces", name: "a" }],
  [
    "/api/v1/namespaces/a/status",
    { type: "resource", group: "", version: "v1", plural: "namespaces", name: "a", subresource: "status" },
  ],
  ["/api/v1/namespaces/a/pods", { type: "resource", group: "", version: "v1", plural: "pods", namespace: "a" }],
  [
    "/apis/apps/v1/namespaces/a/deployments/web/scale",
    {
      type: "resource",
      group: "apps",
      version: "v1",
      plural: "deployments",
      namespace: "a",
      name: "web",
      subresource: "scale",
    },
  ],
  ["/api/v1/nodes/n%2F1", { type: "resource", group: "", version: "v1", plural: "nodes", name: "n", subresource: "1" }],
  ["/api/v1/nodes/a%20%2b+%26b", { type: "resource", group: "", version: "v1", plural: "nodes", name: "a ++&b" }],
  ["/api/v1/nodes/%", { type: "malformed" }],
  ["/api/v1/nodes/a%zz", { type: "malformed" }],
  [
    "/api/v1/namespaces/a/pods/b/c/d",
    { type: "resource", group: "", version: "v1", plural: "pods", namespace: "a", name: "b", subresource: "c/d" },
  ],
  [
    "/api/v1/watch/namespaces/a/pods/b",
    { type: "resource", group: "", version: "v1", plural: "pods", namespace: "a", name: "b", isWatch: true },
  ],
  [
    "/apis/apps/v1/watch/deployments",
    { type: "resource", group: "apps", version: "v1", plural: "deployments", isWatch: true },
  ],
  ["/api/v1/watch", { type: "resource", group: "", version: "v1", plural: "watch" }],
  ["/", { type: "unknown" }],
  ["/version/x", { type: "unknown" }],
])("%s", (path, route) => {
  expect(parseRoute(path)).toEqual(route)
})

test("no path makes it fail", () => {
  fc.assert(fc.property(fc.string(), (path) => typeof parseRoute(`/${path}`).type === "string"))
})
