import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const web = deployment({ priorityClassName: "fast" })

describe("E0011 priority_class_missing", () => {
  test("finds a class that the trace does not have", () => {
    expect(foundBy("E0011", [{ applied: [web] }])).toEqual([
      "apps/v1.Deployment shop/web: scheduling.k8s.io/PriorityClass fast ×1",
    ])
    expect(
      foundBy("E0011", [{ applied: [web, object("scheduling.k8s.io/v1.PriorityClass", "fast", {}, "")] }]),
    ).toEqual([])
    expect(
      foundBy("E0011", [{ applied: [web, object("scheduling.k8s.io/v1.PriorityClass", "slow", {}, "")] }]),
    ).toHaveLength(1)
  })

  test("ignores templates without class", () => {
    expect(
      foundBy("E0011", [
        { applied: [deployment({}), deployment({ priorityClassName: "" }), deployment({ priorityClassName: null })] },
      ]),
    ).toEqual([])
  })

  test("exempts the classes of Kubernetes itself", () => {
    expect(foundBy("E0011", [{ applied: [deployment({ priorityClassName: "system-node-critical" })] }])).toEqual([])
  })
})
