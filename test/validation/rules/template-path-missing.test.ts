import { describe, expect, test } from "vitest"
import { foundBy, object } from "../traces.ts"

const gvk = "ml.example.com/v1.Training"
const trackedObjects = { [gvk]: { podSpecTemplatePaths: ["/spec/workers/*/template", "/spec/leader"] } }
const training = (spec: object | null) => object(gvk, "x", { spec })
const template = { spec: { containers: [] } }

describe("E0015 template_path_missing", () => {
  test("finds a path at which no object has a template", () => {
    const events = [{ applied: [training({ workers: [{ template }] })] }, { applied: [training(null)] }]
    expect(foundBy("E0015", events, { trackedObjects })).toEqual([`${gvk}: pod template /spec/leader ×2`])
  })

  test("accepts a path at which any object has one, even a later one", () => {
    const events = [
      { applied: [training({ workers: [] })] },
      { applied: [training({ workers: [{ template }], leader: template })] },
    ]
    expect(foundBy("E0015", events, { trackedObjects })).toEqual([])
  })

  test("exempts kinds of Kubernetes, of which SimKube knows a wrong path", () => {
    const set = object("apps/v1.ReplicaSet", "x", { spec: { template } })
    expect(
      foundBy("E0015", [{ applied: [set] }], {
        trackedObjects: { "apps/v1.ReplicaSet": { podSpecTemplatePaths: ["/spec"] } },
      }),
    ).toEqual([])
  })
})
