import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

describe("W0000 status_field_populated", () => {
  test("finds a status, once for each object", () => {
    const pod = object("v1.Pod", "a", { status: { phase: "Running" } })
    expect(
      foundBy("W0000", [{ applied: [pod] }, { applied: [pod, object("v1.Service", "b", { status: {} })] }]),
    ).toEqual(["v1.Pod shop/a: ×2", "v1.Service shop/b: ×1"])
  })

  test("does not find a null status, none, or that of a deleted object", () => {
    const gone = object("v1.Pod", "gone", { status: {} })
    expect(
      foundBy("W0000", [{ applied: [object("v1.Pod", "a", { status: null }), deployment({})], deleted: [gone] }]),
    ).toEqual([])
  })
})
