import { describe, expect, test } from "vitest"
import { foundBy } from "../traces.ts"

describe("E0016 identity_missing", () => {
  test("finds objects without kind, without name and without metadata", () => {
    const applied = [
      { metadata: { name: "a", namespace: "shop" } },
      { apiVersion: "v1", kind: "Pod", metadata: {} },
      { apiVersion: "v1", kind: "Service" },
    ]
    expect(foundBy("E0016", [{ applied }])).toEqual(["shop/a: ×1", "v1.Pod: ×1", "v1.Service: ×1"])
  })
})
