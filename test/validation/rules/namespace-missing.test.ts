import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

describe("W0008 namespace_missing", () => {
  test("finds a namespace once, and counts the states in it", () => {
    expect(
      foundBy("W0008", [{ applied: [deployment({}), deployment({}, "b")] }, { applied: [deployment({})] }]),
    ).toEqual(["v1.Namespace shop: Namespace shop ×3"])
  })

  test("accepts a namespace of the trace until it is deleted", () => {
    const shop = object("v1.Namespace", "shop", {}, "")
    expect(foundBy("W0008", [{ applied: [deployment({}), shop] }])).toEqual([])
    expect(foundBy("W0008", [{ applied: [shop] }, { deleted: [shop] }, { applied: [deployment({})] }])).toEqual([
      "v1.Namespace shop: Namespace shop ×1",
    ])
  })

  test("exempts namespaces that every cluster has, and objects that are in none", () => {
    const everywhere = ["default", "kube-system", "kube-public", "kube-node-lease", ""]
    expect(foundBy("W0008", [{ applied: everywhere.map((namespace) => deployment({}, "web", namespace)) }])).toEqual([])
  })
})
