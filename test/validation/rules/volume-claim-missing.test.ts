import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const spec = { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] }
const missing = ["apps/v1.Deployment shop/web: PersistentVolumeClaim data ×1"]

describe("E0006 volume_claim_missing", () => {
  test("finds a missing claim, in the namespace of the object", () => {
    expect(foundBy("E0006", [{ applied: [deployment(spec)] }])).toEqual(missing)
    expect(foundBy("E0006", [{ applied: [deployment(spec), object("v1.PersistentVolumeClaim", "data")] }])).toEqual([])
    const elsewhere = object("v1.PersistentVolumeClaim", "data", {}, "other")
    expect(foundBy("E0006", [{ applied: [deployment(spec), elsewhere] }])).toEqual(missing)
  })

  test("exempts claims that are made of templates", () => {
    const set = object("apps/v1.StatefulSet", "db", {
      spec: {
        volumeClaimTemplates: [{ metadata: { name: "data" } }],
        template: {
          spec: {
            volumes: [{ name: "e", ephemeral: { volumeClaimTemplate: {} } }],
            containers: [{ volumeMounts: [{ name: "data" }] }],
          },
        },
      },
    })
    expect(foundBy("E0006", [{ applied: [set] }])).toEqual([])
  })
})
