import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const web = deployment({ runtimeClassName: "fast" })

describe("E0013 runtime_class_missing", () => {
  test("finds a class that the trace does not have", () => {
    expect(foundBy("E0013", [{ applied: [web] }])).toEqual([
      "apps/v1.Deployment shop/web: node.k8s.io/RuntimeClass fast ×1",
    ])
    expect(foundBy("E0013", [{ applied: [web, object("node.k8s.io/v1.RuntimeClass", "fast", {}, "")] }])).toEqual([])
    expect(foundBy("E0013", [{ applied: [web, object("node.k8s.io/v1.RuntimeClass", "slow", {}, "")] }])).toHaveLength(
      1,
    )
  })

  test("ignores templates without class", () => {
    expect(
      foundBy("E0013", [
        { applied: [deployment({}), deployment({ runtimeClassName: "" }), deployment({ runtimeClassName: null })] },
      ]),
    ).toEqual([])
  })
})
