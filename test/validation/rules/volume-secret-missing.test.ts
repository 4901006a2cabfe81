import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const missing = ["apps/v1.Deployment shop/web: Secret data ×1"]
const volume = (more: object = {}) => ({ volumes: [{ name: "v", secret: { secretName: "data", ...more } }] })
const projected = (more: object = {}) => ({
  volumes: [
    { name: "v", projected: { sources: [{ serviceAccountToken: {} }, { secret: { name: "data", ...more } }] } },
  ],
})

describe("E0004", () => {
  test("finds volumes and projected sources", () => {
    expect(foundBy("E0004", [{ applied: [deployment(volume())] }])).toEqual(missing)
    expect(foundBy("E0004", [{ applied: [deployment(projected())] }])).toEqual(missing)
  })

  test("respects namespaces", () => {
    for (const spec of [volume(), projected()]) {
      expect(foundBy("E0004", [{ applied: [deployment(spec), object("v1.Secret", "data")] }])).toEqual([])
      expect(foundBy("E0004", [{ applied: [deployment(spec), object("v1.Secret", "data", {}, "other")] }])).toEqual(
        missing,
      )
    }
  })

  test("exempts optional references, and other volumes", () => {
    const others = { volumes: [{ name: "v", emptyDir: {} }, null, { secret: null }, { projected: { sources: null } }] }
    const specs = [volume({ optional: true }), projected({ optional: true }), others]
    expect(foundBy("E0004", [{ applied: specs.map((spec) => deployment(spec)) }])).toEqual([])
  })
})
