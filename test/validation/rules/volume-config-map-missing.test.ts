import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const missing = ["apps/v1.Deployment shop/web: ConfigMap data ×1"]
const volume = (more: object = {}) => ({ volumes: [{ name: "v", configMap: { name: "data", ...more } }] })
const projected = (more: object = {}) => ({
  volumes: [
    { name: "v", projected: { sources: [{ serviceAccountToken: {} }, { configMap: { name: "data", ...more } }] } },
  ],
})

describe("E0005", () => {
  test("finds volumes and projected sources", () => {
    expect(foundBy("E0005", [{ applied: [deployment(volume())] }])).toEqual(missing)
    expect(foundBy("E0005", [{ applied: [deployment(projected())] }])).toEqual(missing)
  })

  test("respects namespaces", () => {
    for (const spec of [volume(), projected()]) {
      expect(foundBy("E0005", [{ applied: [deployment(spec), object("v1.ConfigMap", "data")] }])).toEqual([])
      expect(foundBy("E0005", [{ applied: [deployment(spec), object("v1.ConfigMap", "data", {}, "other")] }])).toEqual(
        missing,
      )
    }
  })

  test("exempts optional references, and other volumes", () => {
    const others = {
      volumes: [{ name: "v", emptyDir: {} }, null, { configMap: null }, { projected: { sources: null } }],
    }
    const specs = [volume({ optional: true }), projected({ optional: true }), others]
    expect(foundBy("E0005", [{ applied: specs.map((spec) => deployment(spec)) }])).toEqual([])
  })

  test("exempts the ConfigMap that every namespace has", () => {
    const spec = { volumes: [{ name: "v", projected: { sources: [{ configMap: { name: "kube-root-ca.crt" } }] } }] }
    expect(foundBy("E0005", [{ applied: [deployment(spec)] }])).toEqual([])
  })
})
