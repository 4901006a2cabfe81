import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const web = deployment({ imagePullSecrets: [{ name: "registry" }, {}, null] })
const missing = ["apps/v1.Deployment shop/web: Secret registry ×1"]

describe("W0007 image_pull_secret_missing", () => {
  test("finds a missing Secret, in the namespace of the object", () => {
    expect(foundBy("W0007", [{ applied: [web] }])).toEqual(missing)
    expect(foundBy("W0007", [{ applied: [web, object("v1.Secret", "registry", {}, "other")] }])).toEqual(missing)
    expect(foundBy("W0007", [{ applied: [web, object("v1.Secret", "registry")] }])).toEqual([])
  })
})
