import { expect, test } from "vitest"
import { contained } from "../../../src/simulation/objects/target-object.ts"

test("a class is no default, a role adds no rules to the cluster's own, and users and groups get no rights", () => {
  const storage = {
    metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true", team: "a" } },
    provisioner: "x",
  }
  expect(contained("storage.k8s.io/v1.StorageClass", storage)).toEqual({
    metadata: { annotations: { team: "a" } },
    provisioner: "x",
  })
  expect(contained("scheduling.k8s.io/v1.PriorityClass", { value: 1, globalDefault: true })).toEqual({ value: 1 })
  const role = { metadata: { labels: { "rbac.authorization.k8s.io/aggregate-to-admin": "true" } }, rules: [] }
  expect(contained("rbac.authorization.k8s.io/v1.ClusterRole", role)).toEqual({ metadata: { labels: {} }, rules: [] })
  const service = { kind: "ServiceAccount", namespace: "virtual-shop", name: "web" }
  const subjects = [service, { kind: "Group", name: "system:authenticated" }, { kind: "User", name: "ann" }]
  expect(contained("rbac.authorization.k8s.io/v1.ClusterRoleBinding", { subjects })).toEqual({ subjects: [service] })
  expect(storage.metadata.annotations).toHaveProperty("team")
})

test("all other objects stay as they are", () => {
  const object = { metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } } }
  expect(contained("v1.ConfigMap", object)).toBe(object)
})
