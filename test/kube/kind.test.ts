import { describe, expect, test } from "vitest"
import { collectionPath, objectPath } from "../../src/kube/kind.ts"

const deployments = {
  gvk: { group: "apps", version: "v1", kind: "Deployment" },
  plural: "deployments",
  namespaced: true,
}

describe("the path of a collection", () => {
  test("is that of all namespaces, or of one", () => {
    expect(collectionPath(deployments)).toBe("/apis/apps/v1/deployments")
    expect(collectionPath(deployments, "")).toBe("/apis/apps/v1/deployments")
    expect(collectionPath(deployments, "kube-system")).toBe("/apis/apps/v1/namespaces/kube-system/deployments")
    expect(collectionPath(deployments, "a/../b c")).toBe("/apis/apps/v1/namespaces/a%2F..%2Fb%20c/deployments")
  })

  test("has no namespace for a cluster-scoped kind", () => {
    expect(collectionPath({ ...deployments, namespaced: false }, "kube-system")).toBe("/apis/apps/v1/deployments")
  })

  test("of the core group starts with /api", () => {
    const pods = { gvk: { group: "", version: "v1", kind: "Pod" }, plural: "pods", namespaced: true }
    expect(collectionPath(pods, "default")).toBe("/api/v1/namespaces/default/pods")
  })
})

test("the path of an object ends with its name, or its subresource", () => {
  expect(objectPath(deployments, "a", "b?c")).toBe("/apis/apps/v1/namespaces/a/deployments/b%3Fc")
  expect(objectPath(deployments, "a", "b", "scale")).toBe("/apis/apps/v1/namespaces/a/deployments/b/scale")
})
