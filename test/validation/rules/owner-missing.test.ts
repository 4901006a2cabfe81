import { describe, expect, test } from "vitest"
import { foundBy, object } from "../traces.ts"

const owned = (owner: object | null) => object("v1.Pod", "p", { metadata: { ownerReferences: [owner] } })
const bySet = owned({ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "u" })
const missing = ["v1.Pod shop/p: apps/ReplicaSet web ×1"]

describe("E0010 owner_missing", () => {
  test("finds an owner that the trace does not have, in the namespace of the object", () => {
    expect(foundBy("E0010", [{ applied: [bySet] }])).toEqual(missing)
    expect(foundBy("E0010", [{ applied: [bySet, object("apps/v1.ReplicaSet", "web", {}, "other")] }])).toEqual(missing)
    expect(foundBy("E0010", [{ applied: [bySet, object("apps/v1.Deployment", "web")] }])).toEqual(missing)
    expect(foundBy("E0010", [{ applied: [bySet, object("apps/v1.ReplicaSet", "web")] }])).toEqual([])
  })

  test("accepts an owner without namespace, and another version of its kind", () => {
    const byNode = owned({ apiVersion: "v1", kind: "Node", name: "n" })
    expect(foundBy("E0010", [{ applied: [byNode, object("v1.Node", "n", {}, "")] }])).toEqual([])
    const byBeta = owned({ apiVersion: "apps/v1beta2", kind: "ReplicaSet", name: "web" })
    expect(foundBy("E0010", [{ applied: [byBeta, object("apps/v1.ReplicaSet", "web")] }])).toEqual([])
  })

  test("ignores what is no owner reference", () => {
    expect(
      foundBy("E0010", [
        { applied: [owned(null), owned({}), object("v1.Pod", "q", { metadata: { ownerReferences: null } })] },
      ]),
    ).toEqual([])
  })
})
