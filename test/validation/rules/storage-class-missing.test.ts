import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const wanted = { storageClassName: "ssd" }
const claims = [
  ["v1.PersistentVolumeClaim", object("v1.PersistentVolumeClaim", "web", { spec: wanted })],
  [
    "apps/v1.StatefulSet",
    object("apps/v1.StatefulSet", "web", { spec: { volumeClaimTemplates: [null, { spec: wanted }] } }),
  ],
  [
    "apps/v1.Deployment",
    deployment({ volumes: [{ name: "e", ephemeral: { volumeClaimTemplate: { spec: wanted } } }] }),
  ],
] as const

describe("E0012 storage_class_missing", () => {
  test.each(claims)("finds a missing class in %s", (gvk, claim) => {
    expect(foundBy("E0012", [{ applied: [claim] }])).toEqual([`${gvk} shop/web: storage.k8s.io/StorageClass ssd ×1`])
    expect(foundBy("E0012", [{ applied: [claim, object("storage.k8s.io/v1.StorageClass", "ssd", {}, "")] }])).toEqual(
      [],
    )
  })

  test("exempts claims for volumes without class", () => {
    const none = ["", null, undefined].map((storageClassName) =>
      object("v1.PersistentVolumeClaim", "c", { spec: { storageClassName } }),
    )
    expect(foundBy("E0012", [{ applied: [...none, object("v1.PersistentVolumeClaim", "d", { spec: null })] }])).toEqual(
      [],
    )
  })
})
